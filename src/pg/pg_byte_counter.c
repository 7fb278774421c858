/* Uses <linux/tcp.h>, because the `struct tcp_info` of glibc's <netinet/tcp.h> lacks tcpi_bytes_received. The
 * two headers cannot be included together. */
#include "pg/pg_byte_counter.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Returns the number of bytes in the receive buffer. */
static size_t count_unread(int socket)
{
    int available = 0;
    return ioctl(socket, FIONREAD, &available) == 0 ? (size_t)available : 0;
}

void pg_byte_counter_update(struct pg_byte_counter *r, int socket)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 && info.tcpi_bytes_received) {
        r->bytes = info.tcpi_bytes_received;
        return;
    }
    const size_t available = count_unread(socket);
    if (available > r->unread)
        r->bytes += available - r->unread;
}

void pg_byte_counter_end_read(struct pg_byte_counter *r, int socket)
{
    r->unread = count_unread(socket);
}
