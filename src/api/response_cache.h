/* Response cache: complete responses in memory, each valid for one revision of the data and for a period of
 * time. Bounded in bytes; evicts the least recently used entry. A response is stored on its second request,
 * so that scans do not flush the cache. */
#ifndef VT_API_RESPONSE_CACHE_H
#define VT_API_RESPONSE_CACHE_H

#include "http/shared_body.h"

#include <stdint.h>

struct response_cache;

/* Everything that a response depends on. A lookup compares all members except `incarnation` and `revision`.
 * If the entry that it finds has another incarnation or revision, the lookup is a miss. Strings may be
 * empty. */
struct response_key {
    const void *route;
    int64_t scope; /* row id of the author or of the API key */
    struct str path, query, accept;
    uint64_t incarnation; /* of the database (key_owner.incarnation) */
    int64_t revision;     /* of the data, within the incarnation */
};

enum { RESPONSE_FACTS = 3 };
struct cached_response {
    struct str body, etag, content_type;
    struct str lines;              /* header lines of the endpoint, each ending with CR LF; may be empty */
    int64_t facts[RESPONSE_FACTS]; /* facts set by the endpoint, which a hit passes to its on_cache_hit()
                                      (api.h) */
    struct shared_body
        *shared_body; /* set on a hit: contains `body`. To use `body` longer, acquire a reference */
};

/* Creates a cache of at most `max_bytes`. If `max_bytes` is 0, the cache never stores a response. Never
 * returns NULL. */
struct response_cache *response_cache_new(size_t max_bytes);
/* Frees the cache. NULL is ignored. */
void response_cache_free(struct response_cache *c);

/* Looks up a response. Returns NULL on a miss. The result is valid until the next call for this cache; to use
 * the body longer, acquire `shared_body`. `now_ms` is wall clock time. */
const struct cached_response *response_cache_look_up(struct response_cache *c, const struct response_key *key,
                                                     int64_t now_ms);

/* Stores a copy of the response, except on the first call for a request (see the file head), and except for a
 * response that is larger than 1/8 of the cache. The entry is valid from `now_ms` until just before
 * `valid_until_ms`. `content_type` is not copied, so it must be a string constant. */
void response_cache_store(struct response_cache *c, const struct response_key *key,
                          const struct cached_response *response, int64_t now_ms, int64_t valid_until_ms);

struct response_cache_counters {
    unsigned long long hits, misses, stored, evicted;
    size_t entries, bytes;
};
/* Returns the counters since the start, and the current size. */
struct response_cache_counters response_cache_get_counters(const struct response_cache *c);

#endif
