/* Whole answers, kept for as long as they are true. An answer belongs to one author (or one key) at one
 * revision of the data and to the time until which it stays the same; what is asked again after that is made
 * anew. Bounded by bytes; what was not asked for longest goes first. An answer is kept only when it has been
 * asked for before, with no more than `max_bytes` of others made since: questions that never come again, or
 * too late for any answer to be still there, cost a glance and no copy. A question whose answers were kept
 * again and again and were over before it came again costs none either, until it comes twice for one.
 *
 * Knows nothing of the questions: who asks says by a key what an answer depends on. */
#ifndef VT_API_CACHE_H
#define VT_API_CACHE_H

#include "base/page_file.h"

#include <stdint.h>

struct cache;

/* What an answer depends on. The revision and the time do not tell two questions apart, only whether the
 * answer is still true. Texts may be empty. */
struct cache_key {
    const void *route;
    int64_t scope; /* whose data: row of the author, or of the key */
    struct str path, query, accept;
    int64_t revision;
};

enum { CACHE_FACTS = 3 };
struct cached {
    struct str body, etag, content_type;
    struct page_file *pages;    /* the body lies in them; NULL: it does not */
    int64_t facts[CACHE_FACTS]; /* the caller's own, given back */
};

/* `max_bytes` 0: keeps nothing. */
struct cache *cache_new(size_t max_bytes);
void cache_free(struct cache *c); /* nothing may be held any more; NULL is harmless */

/* The answer, held until cache_release(); NULL: there is none that is true at `now_ms` (wall clock). */
const struct cached *cache_find(struct cache *c, const struct cache_key *key, int64_t now_ms);
void cache_release(void *cached);

/* Takes a copy if the question came before; `pages` is not looked at. The answer is the same from `now_ms` on
 * until before `valid_until_ms`. content_type must live as long as the process. */
void cache_offer(struct cache *c, const struct cache_key *key, const struct cached *answer, int64_t now_ms,
                 int64_t valid_until_ms);

struct cache_counts {
    unsigned long long hits, misses, kept, evicted;
    size_t entries, bytes;
};
struct cache_counts cache_counts(const struct cache *c);

#endif
