/* A hash table whose entries are also linked in a list, least recently used first. */
#include "api/response_cache.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "base/list.h"

#include <stdlib.h>

enum {
    LARGEST_FRACTION = 8, /* a response above 1/8 of max_bytes is not stored */
    SEEN_BITS = 1 << 20,
    SEEN_MAX = 1 << 17,
};

struct cache_entry {
    struct hash_link by_key; /* must be the first member */
    struct cached_response response;
    struct list by_use;
    struct response_key key;
    bool counts_compressed; /* `bytes` includes the compressed form of the body */
    int64_t stored_ms, valid_until_ms;
    size_t bytes;
    char text[]; /* path, query, accept, etag, lines */
};

struct response_cache {
    size_t max_bytes;
    uint64_t seed;
    struct hash_table by_key;
    struct list by_use;
    struct response_cache_counters counts;
    /* One bit per hash of a request for which response_cache_store() was called; cleared after SEEN_MAX
     * requests. If two requests share a bit, a response is stored on its first request, which does no harm.
     */
    unsigned char seen[SEEN_BITS / 8];
    int seen_count;
};

/* Compares all members except the incarnation and the revision. */
static bool is_same_request(const struct hash_link *link, const void *key)
{
    const struct response_key *a = &((const struct cache_entry *)(const void *)link)->key, *b = key;
    return a->route == b->route && a->scope == b->scope && str_eq(a->query, b->query) &&
           str_eq(a->path, b->path) && str_eq(a->accept, b->accept);
}

struct response_cache *response_cache_new(size_t max_bytes)
{
    struct response_cache *c = xcalloc(1, sizeof *c);
    c->max_bytes = max_bytes;
    c->seed = (uint64_t)(uintptr_t)
        c; /* hard to guess; a collision of hashes costs only time, because full keys are compared, too */
    hash_table_init(&c->by_key, is_same_request);
    list_init(&c->by_use);
    return c;
}

static uint64_t hash_of(const struct response_cache *c, const struct response_key *key)
{
    uint64_t h = c->seed ^ (uint64_t)key->scope * UINT64_C(0x9E3779B97F4A7C15) ^ (uintptr_t)key->route;
    h = hash_64(key->query, h);
    h = hash_64(key->path, h);
    return hash_64(key->accept, h);
}

static struct cache_entry *find_entry(struct response_cache *c, uint64_t hash, const struct response_key *key)
{
    struct hash_link *link = hash_table_find(&c->by_key, hash, key);
    return link ? LIST_ENTRY(link, struct cache_entry, by_key) : NULL;
}

static void remove_entry(struct response_cache *c, struct cache_entry *e)
{
    hash_table_remove(&c->by_key, &e->by_key);
    list_remove(&e->by_use);
    c->counts.entries--;
    c->counts.bytes -= e->bytes;
    shared_body_release(e->response.shared_body);
    free(e);
}

void response_cache_free(struct response_cache *c)
{
    if (!c)
        return;
    while (!list_is_empty(&c->by_use))
        remove_entry(c, LIST_ENTRY(c->by_use.next, struct cache_entry, by_use));
    hash_table_fini(&c->by_key);
    free(c);
}

/* Returns true if the entry has the revision and the incarnation of the key and has not expired. Returns
 * false if the clock was set back to a time before the response was stored. */
static bool is_valid(const struct cache_entry *e, const struct response_key *key, int64_t now_ms)
{
    return e->key.revision == key->revision && e->key.incarnation == key->incarnation &&
           now_ms >= e->stored_ms && now_ms < e->valid_until_ms;
}

/* Evicts entries until the cache is within its limit. Never evicts `used`, which is the most recently used
 * entry or NULL. */
static void evict_to_limit(struct response_cache *c, const struct cache_entry *used)
{
    while (c->counts.bytes > c->max_bytes) {
        struct cache_entry *oldest = LIST_ENTRY(c->by_use.next, struct cache_entry, by_use);
        if (oldest == used)
            return;
        remove_entry(c, oldest);
        c->counts.evicted++;
    }
}

/* Adds the size of the compressed form of the body, which is attached some time after the entry was stored.
 */
static void count_compressed(struct response_cache *c, struct cache_entry *e)
{
    const struct shared_body *compressed = shared_body_compressed(e->response.shared_body);
    if (!compressed || e->counts_compressed)
        return;
    e->counts_compressed = true;
    e->bytes += shared_body_text(compressed).len;
    c->counts.bytes += shared_body_text(compressed).len;
    evict_to_limit(c, e);
}

const struct cached_response *response_cache_look_up(struct response_cache *c, const struct response_key *key,
                                                     int64_t now_ms)
{
    struct cache_entry *e = find_entry(c, hash_of(c, key), key);
    if (!e || !is_valid(e, key, now_ms)) {
        c->counts.misses++;
        return NULL;
    }
    list_remove(&e->by_use);
    list_add_last(&c->by_use, &e->by_use);
    count_compressed(c, e);
    c->counts.hits++;
    return &e->response;
}

static struct str copy_text(char **to, struct str s)
{
    struct str copy = str_make(*to, s.len);
    if (s.len)
        memcpy(*to, s.p, s.len);
    *to += s.len;
    return copy;
}

static struct cache_entry *new_entry(const struct response_key *key, const struct cached_response *response)
{
    const size_t bytes = sizeof(struct cache_entry) + key->path.len + key->query.len + key->accept.len +
                         response->etag.len + response->lines.len;
    struct cache_entry *e = xmalloc(bytes);
    char *to = e->text;
    *e = (struct cache_entry){.response = *response, .key = *key, .bytes = bytes + response->body.len};
    e->key.path = copy_text(&to, key->path);
    e->key.query = copy_text(&to, key->query);
    e->key.accept = copy_text(&to, key->accept);
    e->response.etag = copy_text(&to, response->etag);
    e->response.lines = copy_text(&to, response->lines);
    e->response.shared_body = shared_body_new(response->body);
    e->response.body = shared_body_text(e->response.shared_body);
    list_init(&e->by_use);
    return e;
}

static void add_entry(struct response_cache *c, struct cache_entry *e, uint64_t hash)
{
    hash_table_add(&c->by_key, &e->by_key, hash);
    list_add_last(&c->by_use, &e->by_use);
    c->counts.stored++;
    c->counts.entries++;
    c->counts.bytes += e->bytes;
}

static bool was_seen(struct response_cache *c, uint64_t hash)
{
    if (c->seen_count == SEEN_MAX) {
        memset(c->seen, 0, sizeof c->seen);
        c->seen_count = 0;
    }
    const uint64_t bit = hash % SEEN_BITS;
    const unsigned char mask = (unsigned char)(1u << bit % 8);
    const bool seen = c->seen[bit / 8] & mask;
    c->seen[bit / 8] |= mask;
    c->seen_count += !seen;
    return seen;
}

void response_cache_store(struct response_cache *c, const struct response_key *key,
                          const struct cached_response *response, int64_t now_ms, int64_t valid_until_ms)
{
    const uint64_t hash = hash_of(c, key);
    if (response->body.len > c->max_bytes / LARGEST_FRACTION || now_ms >= valid_until_ms)
        return;
    struct cache_entry *old = find_entry(c, hash, key);
    if (!old && !was_seen(c, hash))
        return;
    if (old)
        remove_entry(c, old);
    struct cache_entry *e = new_entry(key, response);
    e->stored_ms = now_ms;
    e->valid_until_ms = valid_until_ms;
    add_entry(c, e, hash);
    evict_to_limit(c, NULL);
}

struct response_cache_counters response_cache_get_counters(const struct response_cache *c)
{
    return c->counts;
}
