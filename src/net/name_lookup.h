/* Looks up the addresses of a host on the thread pool. hiredis and libpq get an address instead of the name,
 * because their own lookups would block the loop. */
#ifndef VT_NET_NAME_LOOKUP_H
#define VT_NET_NAME_LOOKUP_H

#include <uv.h>

struct name_lookup;

/* Called on the loop when a lookup has ended. If it has found an address, `why` is NULL, and
 * name_lookup_next_address() returns the address. Otherwise `why` is the reason of the failure. */
typedef void name_lookup_done_fn(void *ctx, const char *why);

/* Creates a lookup. `host` is a name or a numeric address, and must stay valid until name_lookup_close().
 * Returns NULL if out of memory. */
struct name_lookup *name_lookup_new(uv_loop_t *loop, const char *host, name_lookup_done_fn *done, void *ctx);

/* Ends the use of the lookup: `done` will not be called any more. Frees the memory, now or when a running
 * lookup has ended. `l` may be NULL. */
void name_lookup_close(struct name_lookup *l);

/* Returns an address to connect to, valid until the next call. If the host is a numeric address, returns it
 * every time. Otherwise returns the address that the most recent lookup has found, but only once, so that
 * each connection attempt uses a new lookup. Returns NULL if there is no address; in this case call
 * name_lookup_start(). If the host has several addresses, successive lookups find them in turn. */
const char *name_lookup_next_address(struct name_lookup *l);

/* Starts a lookup. Does nothing while a lookup is running. */
void name_lookup_start(struct name_lookup *l);

#endif
