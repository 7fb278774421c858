/* Listeners on TCP addresses (IPv4, IPv6) and Unix sockets. */
#include "base/check.h"
#include "base/fault.h"
#include "config/address.h"
#include "http/conn.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 4096, UNIX_MODE = 0660 };

static void on_connection(uv_stream_t *stream, int status)
{
    struct listener *l = stream->data;
    if (status < 0)
        server_warn(l->server, "cannot accept a connection", uv_strerror(status));
    else
        server_on_connection(l);
}

static void on_closed(uv_handle_t *handle)
{
    struct listener *l = handle->data;
    struct http_server *s = l->server;
    free(l);
    server_handle_closed(s);
}

void listener_close(struct listener *l)
{
    uv_close(&l->handle, on_closed);
}

bool listener_has_backlog(const struct listener *l)
{
    uv_os_fd_t fd;
    if (uv_fileno(&l->handle, &fd) != 0)
        return false;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLIN;
}

/* Sets the listener's name to the address that it is bound to. Returns a status of libuv. */
static int name_tcp(struct listener *l)
{
    struct sockaddr_storage bound;
    int len = sizeof bound;
    char host[64] = "";
    int status = FAULT_OR(UV_ENOBUFS, uv_tcp_getsockname(&l->tcp, (struct sockaddr *)&bound, &len));
    if (status == 0)
        status = uv_ip_name((const struct sockaddr *)&bound, host, sizeof host);
    if (status != 0)
        return status;
    bool v6 = bound.ss_family == AF_INET6;
    unsigned port =
        ntohs(v6 ? ((struct sockaddr_in6 *)&bound)->sin6_port : ((struct sockaddr_in *)&bound)->sin_port);
    (void)snprintf(l->name, sizeof l->name, v6 ? "[%s]:%u" : "%s:%u", host, port);
    return 0;
}

static int open_tcp(struct listener *l, const struct sockaddr_storage *address)
{
    unsigned flags = address->ss_family == AF_INET6 ? UV_TCP_IPV6ONLY : 0;
    if (l->server->options.reuse_port)
        flags |= UV_TCP_REUSEPORT;
    int status = FAULT_OR(UV_ENOMEM, uv_tcp_bind(&l->tcp, (const struct sockaddr *)address, flags));
    if (status == 0)
        status = FAULT_OR(UV_ENOMEM, uv_listen(&l->stream, BACKLOG, on_connection));
    return status == 0 ? name_tcp(l) : status;
}

/* Returns true for a socket file that refuses connections: the process that created it has ended without
 * unlinking it. */
static bool is_stale(const char *path)
{
    struct stat st;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode) || len >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, path, len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool refused = connect(fd, (struct sockaddr *)&address, sizeof address) != 0 && errno == ECONNREFUSED;
    (void)close(fd);
    return refused;
}

/* libuv translates ENOENT to EACCES; undo that if the directory does not exist. */
static int explain_bind(int status, const char *path)
{
    char directory[sizeof((struct sockaddr_un *)NULL)->sun_path];
    const char *slash = strrchr(path, '/');
    if (status != UV_EACCES || !slash || slash == path)
        return status;
    memcpy(directory, path, (size_t)(slash - path));
    directory[slash - path] = '\0';
    return access(directory, F_OK) != 0 ? uv_translate_sys_error(errno) : status;
}

static int open_unix(struct listener *l, const char *path)
{
    if (strlen(path) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
        return UV_ENAMETOOLONG;
    if (is_stale(path))
        (void)unlink(path);
    int status = FAULT_OR(UV_ENOMEM, uv_pipe_bind2(&l->pipe, path, strlen(path), UV_PIPE_NO_TRUNCATE));
    if (status != 0)
        return explain_bind(status, path);
    l->is_unix = true;
    (void)snprintf(l->name, sizeof l->name, "unix:%s", path);
    if (chmod(path, UNIX_MODE) != 0)
        return uv_translate_sys_error(errno);
    return FAULT_OR(UV_ENOMEM, uv_listen(&l->stream, BACKLOG, on_connection));
}

static enum err listen_error(const struct http_server *s, const char *address, int status,
                             struct error *error)
{
    const enum err code = status == UV_EADDRINUSE ? ERR_BUSY : status == UV_ENOMEM ? ERR_NOMEM : ERR_IO;
    return error_set(error, code, "%s: %s: %s", s->options.key, address, uv_strerror(status));
}

enum err listener_open(struct http_server *s, const char *address, struct error *error)
{
    const char *path = address_unix_path(address);
    struct sockaddr_storage tcp = {0};
    if (path ? !*path : !address_parse_tcp(address, &tcp))
        return error_set(error, ERR_INVALID,
                         "%s: %s is not an address such as 127.0.0.1:8080, [::1]:8080 or unix:/path",
                         s->options.key, address);
    struct listener *l = try_calloc(1, sizeof *l);
    int status = !l     ? UV_ENOMEM
                 : path ? FAULT_OR(UV_ENOMEM, uv_pipe_init(s->loop, &l->pipe, 0))
                        : FAULT_OR(UV_ENOMEM, uv_tcp_init(s->loop, &l->tcp));
    if (status != 0) {
        free(l);
        return listen_error(s, address, status, error);
    }
    l->server = s;
    l->handle.data = l;
    struct listener **last = &s->listeners;
    while (*last)
        last = &(*last)->next;
    *last = l;
    s->open_handles++;
    status = path ? open_unix(l, path) : open_tcp(l, &tcp);
    return status == 0 ? OK : listen_error(s, address, status, error);
}
