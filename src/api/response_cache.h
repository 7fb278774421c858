/* Response cache: complete responses in memory, each valid for one revision of the data and for a period of
 * time. Bounded in bytes; evicts the least recently used entry. A response is stored on its second request,
 * so that scans do not flush the cache. */
#ifndef VT_API_RESPONSE_CACHE_H
#define VT_API_RESPONSE_CACHE_H

#include "http/shared_body.h"

#include <stdint.h>

struct response_cache;

/* Everything that a response depends on. An entry is found by all fields but `revision`; an entry of another
 * revision is a miss. Strings may be empty. */
struct response_key {
    const void *route;
    int64_t scope; /* row of the author, or of the API key */
    struct str path, query, accept;
    int64_t revision;
};

enum { RESPONSE_FACTS = 3 };
struct cached_response {
    struct str body, etag, content_type;
    int64_t facts[RESPONSE_FACTS];   /* numbers of the endpoint, returned on a hit */
    struct shared_body *shared_body; /* on a hit: the owner of `body`, which can outlive the entry */
};

/* If `max_bytes` is 0, nothing is ever stored. */
struct response_cache *response_cache_new(size_t max_bytes);
/* NULL is ignored. */
void response_cache_free(struct response_cache *c);

/* Returns the response, which is valid until the next call of this cache, or NULL on a miss. Acquire
 * `shared_body` to keep the body longer. `now_ms` is wall clock time. */
const struct cached_response *response_cache_look_up(struct response_cache *c, const struct response_key *key,
                                                     int64_t now_ms);

/* Stores a copy if the same request was offered before. It is valid from `now_ms` until just before
 * `valid_until_ms`. `content_type` is not copied: it must be a constant. */
void response_cache_store(struct response_cache *c, const struct response_key *key,
                          const struct cached_response *response, int64_t now_ms, int64_t valid_until_ms);

struct response_cache_counts {
    unsigned long long hits, misses, stored, evicted;
    size_t entries, bytes;
};
struct response_cache_counts response_cache_counts(const struct response_cache *c);

#endif
