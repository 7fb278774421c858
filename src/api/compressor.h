/* Compresses cached response bodies with gzip (RFC 1952) on the thread pool, each at most once. */
#ifndef VT_API_COMPRESSOR_H
#define VT_API_COMPRESSOR_H

#include "http/shared_body.h"

#include <uv.h>

struct compressor;

enum {
    COMPRESSOR_MIN_BYTES = 1 << 10, /* smaller bodies are not compressed; they fit into one packet anyway */
    COMPRESSOR_JOBS_MAX = 2,        /* maximum number of running jobs; leaves threads of the pool free */
};

/* Never returns NULL. */
struct compressor *compressor_new(uv_loop_t *loop);
/* Frees the compressor. Call after the loop has ended, when no job can be running. NULL is ignored. */
void compressor_free(struct compressor *c);

/* Returns the compressed form of `body`; it is valid as long as the caller's reference to `body`. If `body`
 * was not compressed yet, returns NULL and, unless COMPRESSOR_JOBS_MAX jobs are running, starts a job. A call
 * after the end of the job returns the compressed form. Always returns NULL if `body` has less than
 * COMPRESSOR_MIN_BYTES or compression does not make it smaller. */
struct shared_body *compressor_get(struct compressor *c, struct shared_body *body);

/* Returns the number of bodies that this process has compressed. */
unsigned long long compressor_get_total(const struct compressor *c);

#endif
