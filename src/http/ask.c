/* A socket, a deadline, and llhttp for the answer. */
#include "http/ask.h"

#include "base/clock.h"
#include "config/address.h"

#include <errno.h>
#include <llhttp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/un.h>
#include <unistd.h>

enum { READ_BYTES = 4096, REQUEST_BYTES = 2048 };

struct asking {
    int fd;
    int64_t until_us;
    struct buf *body;
    bool complete;
};

/* ---- the socket ---- */

static enum err said(enum err err, const char *address, const char *what, const char **why)
{
    static char message[512];
    (void)snprintf(message, sizeof message, "%s: %s", address, what);
    *why = message;
    return err;
}

static bool parse_unix(const char *path, struct sockaddr_un *out)
{
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof out->sun_path)
        return false;
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path, path, len);
    return true;
}

/* False: it has port 0, which says nothing about where the server is. */
static bool point_to_loopback(struct sockaddr_storage *at)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)at;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)at;
    if (at->ss_family == AF_INET) {
        if (v4->sin_addr.s_addr == htonl(INADDR_ANY))
            v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return v4->sin_port != 0;
    }
    if (IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr))
        v6->sin6_addr = in6addr_loopback;
    return v6->sin6_port != 0;
}

static bool find(const char *address, struct sockaddr_storage *out, socklen_t *len)
{
    const char *path = address_unix_path(address);
    *len = path ? sizeof(struct sockaddr_un) : sizeof *out;
    *out = (struct sockaddr_storage){0};
    if (path)
        return parse_unix(path, (struct sockaddr_un *)out);
    if (!address_parse_tcp(address, out) || !point_to_loopback(out))
        return false;
    *len = out->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    return true;
}

/* errno's number; 0: ready in time. */
static int wait_for(const struct asking *a, short events)
{
    struct pollfd p = {.fd = a->fd, .events = events};
    for (;;) {
        int64_t left_us = a->until_us - clock_work_us();
        int n = left_us > 0 ? poll(&p, 1, (int)(left_us / 1000) + 1) : 0;
        if (n > 0)
            return 0;
        if (n == 0)
            return ETIMEDOUT;
        if (errno != EINTR)
            return errno;
    }
}

static int connect_to(struct asking *a, const struct sockaddr_storage *at, socklen_t len)
{
    int error;
    socklen_t error_len = sizeof error;
    a->fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (a->fd < 0)
        return errno;
    if (connect(a->fd, (const struct sockaddr *)at, len) == 0)
        return 0;
    /* A Unix socket says EAGAIN when its backlog is full: nobody accepts. */
    if (errno != EINPROGRESS)
        return errno;
    error = wait_for(a, POLLOUT);
    if (!error && getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &error, &error_len) != 0)
        return errno;
    return error;
}

static int send_request(struct asking *a, const char *path)
{
    char text[REQUEST_BYTES];
    int n =
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    if (n < 0 || (size_t)n >= sizeof text)
        return EMSGSIZE;
    int error = wait_for(a, POLLOUT);
    if (error)
        return error;
    ssize_t sent = send(a->fd, text, (size_t)n, MSG_NOSIGNAL);
    return sent == n ? 0 : sent < 0 ? errno : EIO; /* so few bytes fit into a new socket's buffer */
}

/* ---- the answer ---- */

static int on_body(llhttp_t *ll, const char *at, size_t len)
{
    const struct asking *a = ll->data;
    buf_append(a->body, str_make(at, len));
    return a->body->failed ? -1 : 0;
}

static int on_complete(llhttp_t *ll)
{
    struct asking *a = ll->data;
    a->complete = true;
    return HPE_PAUSED;
}

static int read_answer(struct asking *a, int *status)
{
    const llhttp_settings_t settings = {.on_body = on_body, .on_message_complete = on_complete};
    llhttp_t ll;
    char bytes[READ_BYTES];
    llhttp_init(&ll, HTTP_RESPONSE, &settings);
    ll.data = a;
    while (!a->complete) {
        int error = wait_for(a, POLLIN);
        if (error)
            return error;
        ssize_t n = recv(a->fd, bytes, sizeof bytes, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0)
            return errno;
        llhttp_errno_t e = n ? llhttp_execute(&ll, bytes, (size_t)n) : llhttp_finish(&ll);
        if (!a->complete && (e != HPE_OK || n == 0))
            return EPROTO;
    }
    *status = ll.status_code;
    return 0;
}

enum err ask(const char *address, const char *path, int timeout_ms, int *status, struct buf *body,
             const char **why)
{
    struct asking a = {.fd = -1, .until_us = clock_work_us() + timeout_ms * INT64_C(1000), .body = body};
    struct sockaddr_storage at;
    socklen_t len;
    if (!find(address, &at, &len))
        return said(ERR_INVALID, address, "does not say where the server is", why);
    int error = connect_to(&a, &at, len);
    if (!error)
        error = send_request(&a, path);
    if (!error)
        error = read_answer(&a, status);
    if (a.fd >= 0)
        (void)close(a.fd);
    if (error == ETIMEDOUT)
        return said(ERR_TIMEOUT, address, "no answer in time", why);
    return error ? said(ERR_IO, address, strerror(error), why) : OK;
}
