/* Looks up the addresses of a host on the thread pool: hiredis itself would block the loop. */
#ifndef VT_REDIS_NAME_LOOKUP_H
#define VT_REDIS_NAME_LOOKUP_H

#include <uv.h>

struct name_lookup;

/* Called on the loop when a lookup has ended. `why` NULL: name_lookup_next_address() has an address; else why
 * the lookup failed. */
typedef void name_lookup_done_fn(void *ctx, const char *why);

/* `host`: a name or a numeric address; it must live until name_lookup_close(). Returns NULL if out of memory.
 */
struct name_lookup *name_lookup_new(uv_loop_t *loop, const char *host, name_lookup_done_fn *done, void *ctx);
/* No callback follows. Frees itself once a running lookup has ended. NULL is allowed. */
void name_lookup_close(struct name_lookup *l);

/* Returns the address that the last lookup found, once; the address of a numeric host every time. Valid until
 * the next call. If a host has several addresses, each lookup returns the next one. NULL: start a lookup. */
const char *name_lookup_next_address(struct name_lookup *l);

/* Does nothing while a lookup is running. */
void name_lookup_start(struct name_lookup *l);

#endif
