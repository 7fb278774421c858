/* A chained hash table whose entries also stand in a list by last use. An entry that is being sent when it is
 * evicted lives until it is released. */
#include "api/cache.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/list.h"

#include <stdlib.h>

enum {
    ENTRY_MAGIC = 0x43616368,
    FIRST_BUCKETS = 256,
    SEEN_SETS = 1 << 15,   /* questions asked lately, in sets: the newest first */
    SEEN_WAYS = 8,         /* hot questions that share a set must not push each other out for ever */
    SEEN_PARTS = 4,        /* of max_bytes: how exactly it is known how long ago that was */
    IN_VAIN_MOST = 8,      /* answers that are kept and not given until no more are */
    BIGGEST_PART = 8,      /* an answer above this part of the whole is not kept */
    PAGES_FROM = 16 << 10, /* bytes of a body from which on it is worth whole pages */
    PAGES_HITS = 4,        /* which costs as much as they save when it is given so often */
};

struct entry {
    struct cached cached; /* first: what callers hold */
    unsigned magic;
    int holders;
    bool listed; /* in the table; false: lives for its holders only */
    struct entry *chain;
    struct list by_use;
    uint64_t hash;
    const void *route;
    int64_t scope, revision, made_ms, valid_until_ms;
    struct str path, query, accept;
    size_t bytes; /* with everything */
    int hits;
    int in_vain; /* answers that were kept since one was given */
    char *large; /* where a large body is that lies in no pages */
    char text[]; /* path, query, accept, etag, and a body that is not large */
};

/* A question that was asked, and when: how many times a part of max_bytes had been made until then. */
struct seen {
    uint32_t tag : 24;
    uint32_t part : 8;
};

struct cache {
    size_t max_bytes;
    struct page_file *pages; /* of large bodies; NULL: there are none */
    uint64_t seed;
    struct entry **table;
    size_t buckets; /* a power of two */
    struct list by_use;
    struct cache_counts counts;
    uint64_t made_bytes;                    /* of all answers that were offered */
    struct seen seen[SEEN_SETS][SEEN_WAYS]; /* fresh pages: they take memory when they are written */
};

struct cache *cache_new(size_t max_bytes)
{
    struct cache *c = xcalloc(1, sizeof *c);
    c->max_bytes = max_bytes;
    c->pages = page_file_new(max_bytes + max_bytes / BIGGEST_PART); /* some are being sent and not counted */
    c->seed = (uint64_t)(uintptr_t)
        c; /* not to be guessed where addresses are random; full keys are compared anyway */
    c->buckets = FIRST_BUCKETS;
    c->table = xcalloc(c->buckets, sizeof(struct entry *));
    list_init(&c->by_use);
    return c;
}

static uint64_t hash_of(const struct cache *c, const struct cache_key *key)
{
    uint64_t h =
        c->seed ^ (uint64_t)key->scope * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)(uintptr_t)key->route;
    h = hash_64(key->query, h);
    if (key->path.len)
        h = hash_64(key->path, h);
    return key->accept.len ? hash_64(key->accept, h) : h;
}

static struct entry **place_of(struct cache *c, uint64_t hash)
{
    return &c->table[hash & (c->buckets - 1)];
}

static bool is_of(const struct entry *e, uint64_t hash, const struct cache_key *key)
{
    return e->hash == hash && e->route == key->route && e->scope == key->scope &&
           str_eq(e->query, key->query) && str_eq(e->path, key->path) && str_eq(e->accept, key->accept);
}

static struct entry *look_up(struct cache *c, uint64_t hash, const struct cache_key *key)
{
    for (struct entry *e = *place_of(c, hash); e; e = e->chain)
        if (is_of(e, hash, key))
            return e;
    return NULL;
}

static void free_entry(struct entry *e)
{
    if (e->cached.pages)
        page_file_drop(e->cached.pages, e->cached.body);
    free(e->large);
    e->magic = 0;
    free(e);
}

static void drop(struct cache *c, struct entry *e)
{
    struct entry **at = place_of(c, e->hash);
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    list_remove(&e->by_use);
    e->listed = false;
    c->counts.entries--;
    c->counts.bytes -= e->bytes;
    if (e->holders == 0)
        free_entry(e);
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    while (!list_is_empty(&c->by_use))
        drop(c, LIST_ENTRY(c->by_use.next, struct entry, by_use));
    page_file_free(c->pages);
    free(c->table);
    free(c);
}

/* Leaves of an answer that its question was asked at this revision. Nobody holds it: it was not given. */
static void leave_question(struct cache *c, struct entry *e, int64_t revision)
{
    CHECK(e->holders == 0);
    const size_t room = e->large ? page_file_room(e->cached.body.len) : 0;
    free(e->large);
    e->large = NULL;
    e->cached.body = (struct str){NULL, 0};
    e->revision = revision;
    e->valid_until_ms = INT64_MIN;
    e->bytes -= room;
    c->counts.bytes -= room;
    list_remove(&e->by_use);
    list_add_last(&c->by_use, &e->by_use);
}

/* What is given often. Not while somebody sends it. */
static void move_to_pages(struct cache *c, struct entry *e)
{
    struct str paged = page_file_keep(c->pages, e->cached.body);
    e->hits = 0; /* there may be room later */
    if (!paged.p)
        return;
    e->cached.body = paged;
    e->cached.pages = c->pages;
    free(e->large);
    e->large = NULL;
}

const struct cached *cache_find(struct cache *c, const struct cache_key *key, int64_t now_ms)
{
    struct entry *e = c->counts.entries ? look_up(c, hash_of(c, key), key) : NULL;
    if (!e || e->revision != key->revision || now_ms < e->made_ms || now_ms >= e->valid_until_ms) {
        c->counts.misses++;
        return NULL;
    }
    list_remove(&e->by_use);
    list_add_last(&c->by_use, &e->by_use);
    if (e->large && c->pages && ++e->hits >= PAGES_HITS && e->holders == 0)
        move_to_pages(c, e);
    e->holders++;
    e->in_vain = 0;
    c->counts.hits++;
    return &e->cached;
}

void cache_release(void *cached)
{
    struct entry *e = cached;
    CHECK(e->magic == ENTRY_MAGIC && e->holders > 0);
    e->holders--;
    if (e->holders == 0 && !e->listed)
        free_entry(e);
}

static void grow_table(struct cache *c)
{
    struct entry **old = c->table;
    size_t n = c->buckets;
    c->buckets *= 4;
    c->table = xcalloc(c->buckets, sizeof(struct entry *));
    for (size_t i = 0; i < n; i++)
        for (struct entry *e = old[i], *next; e; e = next) {
            struct entry **at = place_of(c, e->hash);
            next = e->chain;
            e->chain = *at;
            *at = e;
        }
    free(old);
}

static struct str keep(char **to, struct str s)
{
    if (s.len)
        memcpy(*to, s.p, s.len);
    struct str kept = str_make(*to, s.len);
    *to += s.len;
    return kept;
}

static size_t texts_of(const struct cache_key *key, const struct cached *answer)
{
    return key->path.len + key->query.len + key->accept.len + answer->etag.len + answer->body.len;
}

static struct entry *make_entry(const struct cache_key *key, const struct cached *answer, uint64_t hash)
{
    const size_t large = answer->body.len >= PAGES_FROM ? answer->body.len : 0;
    const size_t texts = texts_of(key, answer) - large;
    struct entry *e = xmalloc(sizeof *e + texts);
    char *to = e->text;
    *e = (struct entry){
        .magic = ENTRY_MAGIC,
        .listed = true,
        .hash = hash,
        .route = key->route,
        .scope = key->scope,
        .revision = key->revision,
        .bytes = sizeof *e + texts + page_file_room(large),
        .large = large ? xmalloc(large) : NULL,
    };
    e->path = keep(&to, key->path);
    e->query = keep(&to, key->query);
    e->accept = keep(&to, key->accept);
    e->cached.etag = keep(&to, answer->etag);
    char *body_to = large ? e->large : to;
    e->cached.body = keep(&body_to, answer->body);
    e->cached.pages = NULL;
    e->cached.content_type = answer->content_type;
    memcpy(e->cached.facts, answer->facts, sizeof e->cached.facts);
    return e;
}

/* Whether the question was asked before, and not so long ago that its answer would have made room since. */
static bool was_seen(struct cache *c, uint64_t hash)
{
    struct seen *set = c->seen[hash % SEEN_SETS];
    const struct seen now = {.tag = (uint32_t)(hash >> 40) & 0xffffff,
                             .part = (uint32_t)(c->made_bytes / (c->max_bytes / SEEN_PARTS + 1)) & 0xff};
    int at = 0;
    while (at < SEEN_WAYS - 1 && set[at].tag != now.tag)
        at++;
    bool seen = set[at].tag == now.tag && ((now.part - set[at].part) & 0xff) < SEEN_PARTS;
    memmove(set + 1, set, (size_t)at * sizeof *set);
    set[0] = now;
    return seen;
}

void cache_offer(struct cache *c, const struct cache_key *key, const struct cached *answer, int64_t now_ms,
                 int64_t valid_until_ms)
{
    uint64_t hash = hash_of(c, key);
    if (answer->body.len > c->max_bytes / BIGGEST_PART || now_ms >= valid_until_ms)
        return;
    c->made_bytes += sizeof(struct entry) + texts_of(key, answer);
    struct entry *old = look_up(c, hash, key);
    if (!old && !was_seen(c, hash))
        return;
    bool is_asked_again = old && old->revision == key->revision;
    if (old && !is_asked_again && old->in_vain >= IN_VAIN_MOST) {
        leave_question(c, old, key->revision);
        return;
    }
    int in_vain = old && !is_asked_again ? old->in_vain + 1 : 0;
    if (old)
        drop(c, old);
    struct entry *e = make_entry(key, answer, hash);
    e->in_vain = in_vain;
    e->made_ms = now_ms;
    e->valid_until_ms = valid_until_ms;
    if (c->counts.entries >= c->buckets)
        grow_table(c);
    e->chain = *place_of(c, hash);
    *place_of(c, hash) = e;
    list_init(&e->by_use);
    list_add_last(&c->by_use, &e->by_use);
    c->counts.entries++;
    c->counts.kept++;
    c->counts.bytes += e->bytes;
    while (c->counts.bytes > c->max_bytes) {
        drop(c, LIST_ENTRY(c->by_use.next, struct entry, by_use));
        c->counts.evicted++;
    }
}

struct cache_counts cache_counts(const struct cache *c)
{
    return c->counts;
}
