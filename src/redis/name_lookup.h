/* The address of a host, found off the loop: hiredis itself would wait for the name server. */
#ifndef VT_REDIS_NAME_LOOKUP_H
#define VT_REDIS_NAME_LOOKUP_H

#include <uv.h>

struct lookup;

/* Called on the loop when a look-up is over: `why` NULL: lookup_take() has an address; else why not. */
typedef void lookup_fn(void *ctx, const char *why);

/* `host`: a name or a numeric address; must live until lookup_close(). NULL: no memory. */
struct lookup *lookup_new(uv_loop_t *loop, const char *host, lookup_fn *fn, void *ctx);
/* Nothing is called any more; it frees itself when a look-up that is under way has ended. */
void lookup_close(struct lookup *l);

/* An address that was found and not taken yet; that of a numeric host always. Lives until the next call.
 * NULL: none, start one. Of a host with several, each look-up gives the next. */
const char *lookup_take(struct lookup *l);

/* Nothing happens while one is under way: what it finds is as good. */
void lookup_start(struct lookup *l);

#endif
