/* Assigns each passed socket to a listener by the name of the socket. */
#include "app/passed_sockets.h"

#include "base/plural.h"
#include "base/str.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIRST_FD = 3 }; /* SD_LISTEN_FDS_START */

/* Adds the sockets in the order of their descriptors. `names` contains the names of the sockets, separated by
 * colons; p == NULL if $LISTEN_FDNAMES is not set. */
static enum err sort(struct passed_sockets *out, size_t count, struct str names, struct error *error)
{
    struct str rest = names, name;
    for (size_t i = 0; i < count; i++) {
        const int fd = FIRST_FD + (int)i;
        if (names.p && !rest.p)
            return error_set(error, ERR_INVALID,
                             "LISTEN_FDNAMES has fewer names than the %zu socket%s of LISTEN_FDS", count,
                             plural((int64_t)count, "", "s"));
        rest = rest.p ? str_cut(rest, ':', &name) : (name = STR(""), rest);
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
            return error_set(error, ERR_INVALID, "LISTEN_FDS=%zu, but file descriptor %d is not open", count,
                             fd);
        if (str_eq(name, STR("admin")))
            out->admin[out->admin_count++] = fd;
        else
            out->server[out->server_count++] = fd;
    }
    return OK;
}

static enum err take(struct passed_sockets *out, struct error *error)
{
    const char *pid_text = getenv("LISTEN_PID"), *count_text = getenv("LISTEN_FDS"),
               *names = getenv("LISTEN_FDNAMES");
    unsigned long long pid, count;
    if (!pid_text || !count_text)
        return OK;
    if (!str_to_u64(str_from_cstr(pid_text), INT_MAX, &pid))
        return error_set(error, ERR_INVALID, "LISTEN_PID=%s is not a process id", pid_text);
    if ((pid_t)pid != getpid())
        return OK;
    if (!str_to_u64(str_from_cstr(count_text), PASSED_SOCKETS_MAX, &count))
        return error_set(error, ERR_INVALID, "LISTEN_FDS=%s must be a number of sockets from 0 to %d",
                         count_text, PASSED_SOCKETS_MAX);
    return sort(out, (size_t)count, str_from_cstr(names), error);
}

enum err passed_sockets_take(struct passed_sockets *out, struct error *error)
{
    *out = (struct passed_sockets){0};
    const enum err err = take(out, error);
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    return err;
}
