/* Counts the bytes that libpq receives, because libpq does not tell how many it has read. */
#ifndef VT_PG_PG_RECEIVED_H
#define VT_PG_PG_RECEIVED_H

#include <stddef.h>
#include <stdint.h>

struct pg_received {
    uint64_t bytes; /* since the socket was connected */
    size_t unread;  /* in the receive buffer of the socket after the previous read */
};

/* Updates `bytes` before libpq reads. For TCP, the kernel has a counter. For a Unix socket, `bytes` lacks the
 * bytes that arrive while libpq is reading. */
void pg_received_update(struct pg_received *r, int socket);

/* Call after libpq has read. */
void pg_received_end_read(struct pg_received *r, int socket);

#endif
