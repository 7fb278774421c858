/* Runs one lookup at a time. A lookup that already runs on a thread cannot be canceled, so
 * name_lookup_close() leaves it running and on_resolved() frees the memory. */
#include "net/name_lookup.h"

#include "base/check.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_MAX = 64 };

struct name_lookup {
    uv_loop_t *loop;
    uv_getaddrinfo_t request;
    const char *host;
    name_lookup_done_fn *done;
    void *ctx;
    bool running, closed, has_found;
    unsigned found_count; /* number of successful lookups */
    char found[ADDRESS_MAX];
};

struct name_lookup *name_lookup_new(uv_loop_t *loop, const char *host, name_lookup_done_fn *done, void *ctx)
{
    struct name_lookup *l = try_calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->loop = loop;
    l->host = host;
    l->done = done;
    l->ctx = ctx;
    l->request.data = l;
    return l;
}

void name_lookup_close(struct name_lookup *l)
{
    if (!l)
        return;
    l->closed = true;
    if (l->running)
        (void)uv_cancel((uv_req_t *)&l->request);
    else
        free(l);
}

static bool is_numeric(const char *host)
{
    unsigned char bytes[16];
    return uv_inet_pton(AF_INET, host, bytes) == 0 || uv_inet_pton(AF_INET6, host, bytes) == 0;
}

const char *name_lookup_next_address(struct name_lookup *l)
{
    if (is_numeric(l->host))
        return l->host;
    bool has = l->has_found;
    l->has_found = false;
    return has ? l->found : NULL;
}

static unsigned count_family(const struct addrinfo *list, int family)
{
    unsigned count = 0;
    for (; list; list = list->ai_next)
        count += list->ai_family == family;
    return count;
}

static const struct addrinfo *find_nth(const struct addrinfo *list, int family, unsigned n)
{
    for (; list; list = list->ai_next)
        if (list->ai_family == family && n-- == 0)
            return list;
    return NULL;
}

/* Picks one address of the list. Successive lookups pick the addresses in turn, IPv4 addresses first, because
 * a server on "localhost" listens on 127.0.0.1 more often than on ::1. */
static const struct addrinfo *pick(const struct name_lookup *l, const struct addrinfo *list)
{
    unsigned v4 = count_family(list, AF_INET), v6 = count_family(list, AF_INET6);
    unsigned n = v4 + v6 ? l->found_count % (v4 + v6) : 0;
    return n < v4 ? find_nth(list, AF_INET, n) : find_nth(list, AF_INET6, n - v4);
}

static bool store_address(struct name_lookup *l, const struct addrinfo *a)
{
    if (!a)
        return false;
    int err = a->ai_family == AF_INET6 ? uv_ip6_name((const void *)a->ai_addr, l->found, sizeof l->found)
                                       : uv_ip4_name((const void *)a->ai_addr, l->found, sizeof l->found);
    return err == 0;
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
    struct name_lookup *l = request->data;
    l->running = false;
    l->has_found = status == 0 && store_address(l, pick(l, list));
    l->found_count += l->has_found;
    uv_freeaddrinfo(list);
    if (l->closed)
        free(l);
    else
        l->done(l->ctx, l->has_found ? NULL : status ? uv_strerror(status) : "the host has no address");
}

void name_lookup_start(struct name_lookup *l)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    if (l->running)
        return;
    /* uv_getaddrinfo() fails if out of memory, or if the name is too long. In this case `done` is not called,
     * and the connection attempt ends with its timeout. */
    l->running =
        FAULT_OR(UV_ENOMEM, uv_getaddrinfo(l->loop, &l->request, on_resolved, l->host, NULL, &hints)) == 0;
}
