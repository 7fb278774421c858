/* Listeners on TCP addresses (IPv4, IPv6) and Unix sockets, opened here or passed by the service manager. */
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

/* Returns true if `path` is the file that this process has created for the listener. Another process may have
 * replaced the file. While the socket is open, no other file gets its inode number. */
static bool is_own_file(const struct listener *l, const char *path)
{
    struct stat st;
    return l->inode && lstat(path, &st) == 0 && st.st_dev == l->device && st.st_ino == l->inode;
}

/* The path of a passed Unix socket is not unlinked, because the service manager listens on it. */
void listener_close(struct listener *l)
{
    const char *path = address_unix_path(l->name);
    if (path && is_own_file(l, path))
        (void)unlink(path);
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

/* Binds the Unix socket `fd` to `path`. bind(2) creates the file. */
static int bind_unix(int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path));
    return FAULT_OR(-1, bind(fd, (struct sockaddr *)&address, sizeof address));
}

/* Binds the socket, then sets the group and the mode of its file. fchmod(2) on the socket makes bind(2)
 * create the file without permissions, so that no client can connect before group and mode are set. umask(2)
 * is not used, because it would affect other threads. */
static int bind_unix_as(int fd, const char *path, const struct http_options *o)
{
    if (fchmod(fd, 0) != 0)
        return uv_translate_sys_error(errno);
    if (bind_unix(fd, path) != 0)
        return uv_translate_sys_error(errno);
    if ((o->has_socket_group && lchown(path, (uid_t)-1, o->socket_group) != 0) ||
        chmod(path, o->socket_mode ? o->socket_mode : UNIX_MODE) != 0) {
        const int status = uv_translate_sys_error(errno);
        (void)unlink(path);
        return status;
    }
    return 0;
}

static int open_unix(struct listener *l, const char *path)
{
    struct stat st;
    if (strlen(path) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
        return UV_ENAMETOOLONG;
    if (is_stale(path))
        (void)unlink(path);
    const int fd = FAULT_OR(-1, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return uv_translate_sys_error(errno);
    int status = bind_unix_as(fd, path, &l->server->options);
    if (status == 0)
        status = uv_pipe_open(&l->pipe, fd);
    if (status != 0) {
        (void)close(fd);
        return status;
    }
    if (lstat(path, &st) == 0) {
        l->device = st.st_dev;
        l->inode = st.st_ino;
    }
    l->is_unix = true;
    (void)snprintf(l->name, sizeof l->name, "unix:%s", path);
    return FAULT_OR(UV_ENOMEM, uv_listen(&l->stream, BACKLOG, on_connection));
}

/* ---- passed sockets ---- */

static int open_passed_tcp(struct listener *l, int fd)
{
    int status = uv_tcp_open(&l->tcp, fd);
    if (status == 0)
        status = FAULT_OR(UV_ENOMEM, uv_listen(&l->stream, BACKLOG, on_connection));
    return status == 0 ? name_tcp(l) : status;
}

static int open_passed_unix(struct listener *l, int fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return uv_translate_sys_error(errno);
    const bool is_abstract = len > sizeof address.sun_family && !address.sun_path[0];
    const int path_len = (int)(len - sizeof address.sun_family) - is_abstract;
    l->is_unix = true;
    (void)snprintf(l->name, sizeof l->name, is_abstract ? "unix:@%.*s" : "unix:%.*s", path_len,
                   address.sun_path + is_abstract);
    const int status = uv_pipe_open(&l->pipe, fd);
    return status == 0 ? FAULT_OR(UV_ENOMEM, uv_listen(&l->stream, BACKLOG, on_connection)) : status;
}

/* Returns AF_INET, AF_INET6 or AF_UNIX for a stream socket that listens, or 0. */
static int family_of_listener(int fd)
{
    int listens = 0, type = 0, family = 0;
    socklen_t len = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) != 0 || !listens ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_STREAM ||
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) != 0)
        return 0;
    return family == AF_INET || family == AF_INET6 || family == AF_UNIX ? family : 0;
}

static enum err listen_code(int status)
{
    return status == UV_EADDRINUSE ? ERR_BUSY : status == UV_ENOMEM ? ERR_NOMEM : ERR_IO;
}

/* Allocates a listener, initializes its handle, and adds it to s->listeners. Returns NULL if out of memory.
 */
static struct listener *listener_new(struct http_server *s, bool is_unix)
{
    struct listener *l = try_calloc(1, sizeof *l);
    if (!l)
        return NULL;
    if (FAULT_OR(UV_ENOMEM, is_unix ? uv_pipe_init(s->loop, &l->pipe, 0) : uv_tcp_init(s->loop, &l->tcp)) !=
        0) {
        free(l);
        return NULL;
    }
    l->server = s;
    l->handle.data = l;
    struct listener **last = &s->listeners;
    while (*last)
        last = &(*last)->next;
    *last = l;
    s->open_handles++;
    return l;
}

enum err listener_open(struct http_server *s, const char *address, struct error *error)
{
    const char *path = address_unix_path(address);
    struct sockaddr_storage tcp = {0};
    if (path ? !*path : !address_parse_tcp(address, &tcp))
        return error_set(error, ERR_INVALID,
                         "%s: %s is not an address such as 127.0.0.1:8080, [::1]:8080 or unix:/path",
                         s->options.key, address);
    struct listener *l = listener_new(s, path != NULL);
    const int status = !l ? UV_ENOMEM : path ? open_unix(l, path) : open_tcp(l, &tcp);
    return status == 0 ? OK
                       : error_set(error, listen_code(status), "%s: %s: %s", s->options.key, address,
                                   uv_strerror(status));
}

enum err listener_adopt(struct http_server *s, int fd, struct error *error)
{
    const int family = family_of_listener(fd);
    if (!family)
        return error_set(
            error, ERR_INVALID,
            "file descriptor %d, passed by the service manager, is not a listening stream socket: "
            "the socket unit needs ListenStream= and Accept=no",
            fd);
    struct listener *l = listener_new(s, family == AF_UNIX);
    if (l)
        l->is_passed = true;
    const int status = !l ? UV_ENOMEM : family == AF_UNIX ? open_passed_unix(l, fd) : open_passed_tcp(l, fd);
    return status == 0
               ? OK
               : error_set(error, listen_code(status),
                           "file descriptor %d, passed by the service manager: %s", fd, uv_strerror(status));
}
