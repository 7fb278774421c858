/* Counts the bytes that libpq receives, because libpq does not report how many it has read. */
#ifndef VT_PG_PG_BYTE_COUNTER_H
#define VT_PG_PG_BYTE_COUNTER_H

#include <stddef.h>
#include <stdint.h>

struct pg_byte_counter {
    uint64_t bytes; /* since the socket was connected */
    size_t unread;  /* in the receive buffer of the socket after the previous read */
};

/* Updates `bytes` before libpq reads. For TCP, the kernel has a counter. For a Unix socket, `bytes` lacks the
 * bytes that arrive while libpq is reading. */
void pg_byte_counter_update(struct pg_byte_counter *r, int socket);

/* Call after libpq has read. */
void pg_byte_counter_end_read(struct pg_byte_counter *r, int socket);

#endif
