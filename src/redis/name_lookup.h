/* The address of a host, found off the loop: hiredis itself would wait for the name server. */
#ifndef VT_REDIS_NAME_LOOKUP_H
#define VT_REDIS_NAME_LOOKUP_H

#include <uv.h>

struct name_lookup;

/* Called on the loop when a look-up is over: `why` NULL: name_lookup_next_address() has an address; else why
 * not. */
typedef void name_lookup_done_fn(void *ctx, const char *why);

/* `host`: a name or a numeric address; must live until name_lookup_close(). NULL: no memory. */
struct name_lookup *name_lookup_new(uv_loop_t *loop, const char *host, name_lookup_done_fn *fn, void *ctx);
/* Nothing is called any more; it frees itself when a look-up that is under way has ended. */
void name_lookup_close(struct name_lookup *l);

/* An address that was found and not taken yet; that of a numeric host always. Lives until the next call.
 * NULL: none, start one. Of a host with several, each look-up gives the next. */
const char *name_lookup_next_address(struct name_lookup *l);

/* Nothing happens while one is under way: what it finds is as good. */
void name_lookup_start(struct name_lookup *l);

#endif
