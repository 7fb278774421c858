/* Exact sliding windows in process memory: for each key a ring of the instants of its last `limit` admitted
 * requests, in a chained hash table whose entries also stand in one list by time of last use, so that
 * forgetting takes from the front. */
#include "limit/window.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_MS = MINUTE_MS, FIRST_BUCKETS = 64, FIRST_RING = 4, GROUPS = 256 };

struct window {
    struct window *chain;
    struct list by_use;
    int64_t key;
    int64_t refused_until_ms;   /* by Redis; 0: no */
    int64_t last_ms;            /* newest admitted request */
    int first, count, capacity; /* ring: `count` instants from `first` on, oldest first */
    int64_t *at_ms;
};

struct windows {
    int limit;
    int windows;
    size_t buckets; /* a power of two */
    struct window **table;
    struct list by_use; /* least recently admitted first */
    /* Until when one of the keys of a group is refused: says of nearly every key that it is not, without a
     * look at its window, which is in no near cache of the processor. */
    int64_t refused_until_ms[GROUPS];
};

struct windows *windows_new(int limit)
{
    CHECK(limit >= 0);
    struct windows *l = xcalloc(1, sizeof *l);
    l->limit = limit;
    l->buckets = FIRST_BUCKETS;
    l->table = xcalloc(l->buckets, sizeof *l->table);
    list_init(&l->by_use);
    return l;
}

static uint64_t hash_of(int64_t key)
{
    return (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15) >> 32;
}

static struct window **bucket_of(struct windows *l, int64_t key)
{
    return &l->table[hash_of(key) & (l->buckets - 1)];
}

static int64_t *group_of(struct windows *l, int64_t key)
{
    return &l->refused_until_ms[hash_of(key) % GROUPS];
}

static void forget(struct windows *l, struct window *w)
{
    struct window **at = bucket_of(l, w->key);
    while (*at != w)
        at = &(*at)->chain;
    *at = w->chain;
    list_remove(&w->by_use);
    l->windows--;
    free(w->at_ms);
    free(w);
}

void windows_free(struct windows *l)
{
    if (!l)
        return;
    while (!list_is_empty(&l->by_use))
        forget(l, LIST_ENTRY(l->by_use.next, struct window, by_use));
    free(l->table);
    free(l);
}

/* At most two a call, so that a minute's worth of idle keys never costs one request much. */
static void forget_idle(struct windows *l, int64_t now_ms)
{
    for (int i = 0; i < 2 && !list_is_empty(&l->by_use); i++) {
        struct window *oldest = LIST_ENTRY(l->by_use.next, struct window, by_use);
        if (now_ms - oldest->last_ms < WINDOW_MS)
            return;
        forget(l, oldest);
    }
}

/* Without memory the table stays as it is: its chains get longer, and the next new key tries again. */
static void grow_table(struct windows *l)
{
    struct window **old = l->table;
    size_t n = l->buckets;
    struct window **larger = try_calloc(n * 4, sizeof *larger);
    if (!larger)
        return;
    l->buckets = n * 4;
    l->table = larger;
    for (size_t i = 0; i < n; i++)
        for (struct window *w = old[i], *next; w; w = next) {
            next = w->chain;
            struct window **at = bucket_of(l, w->key);
            w->chain = *at;
            *at = w;
        }
    free(old);
}

/* NULL: there is no memory for a new key. */
static struct window *find_or_add(struct windows *l, int64_t key)
{
    struct window **at = bucket_of(l, key);
    for (struct window *w = *at; w; w = w->chain)
        if (w->key == key)
            return w;
    if ((size_t)l->windows * 2 >= l->buckets) {
        grow_table(l);
        at = bucket_of(l, key);
    }
    struct window *w = try_calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->key = key;
    w->chain = *at;
    *at = w;
    list_init(&w->by_use);
    l->windows++;
    return w;
}

static void drop_left(struct window *w, int64_t now_ms)
{
    while (w->count && now_ms - w->at_ms[w->first] >= WINDOW_MS) {
        w->first = (w->first + 1) % w->capacity;
        w->count--;
    }
}

/* Without memory for a larger ring the request is not recorded. */
static void record(struct window *w, int limit, int64_t now_ms)
{
    if (w->count == w->capacity) {
        int capacity = w->capacity ? w->capacity * 2 : FIRST_RING;
        if (capacity > limit)
            capacity = limit;
        int64_t *ring = try_malloc((size_t)capacity * sizeof *ring);
        if (!ring)
            return;
        for (int i = 0; i < w->count; i++)
            ring[i] = w->at_ms[(w->first + i) % w->capacity];
        free(w->at_ms);
        w->at_ms = ring;
        w->capacity = capacity;
        w->first = 0;
    }
    w->at_ms[(w->first + w->count) % w->capacity] = now_ms;
    w->count++;
    if (now_ms > w->last_ms)
        w->last_ms = now_ms;
}

static void use(struct windows *l, struct window *w, int64_t now_ms)
{
    record(w, l->limit, now_ms);
    list_remove(&w->by_use);
    list_add_last(&l->by_use, &w->by_use);
}

void windows_set_limit(struct windows *l, int limit)
{
    CHECK(limit >= 0);
    l->limit = limit;
    memset(l->refused_until_ms, 0, sizeof l->refused_until_ms);
    for (size_t i = 0; i < l->buckets; i++)
        for (struct window *w = l->table[i]; w; w = w->chain) {
            w->refused_until_ms = 0;
            for (; w->count > limit; w->count--)
                w->first = (w->first + 1) % w->capacity;
        }
}

struct limit_verdict windows_acquire(struct windows *l, int64_t key, int64_t now_ms)
{
    if (l->limit == 0)
        return (struct limit_verdict){.admitted = true};
    forget_idle(l, now_ms);
    struct window *w = find_or_add(l, key);
    if (!w)
        return (struct limit_verdict){.admitted = true, .limit = l->limit, .remaining = l->limit};
    drop_left(w, now_ms);
    struct limit_verdict v = {.admitted = w->count < l->limit, .limit = l->limit};
    if (v.admitted)
        use(l, w, now_ms);
    v.remaining = l->limit - w->count;
    if (w->count) /* 0 if there was no memory to record the first request */
        v.reset_ms = WINDOW_MS - (now_ms - w->at_ms[w->first]);
    return v;
}

/* What has left the window is only looked for when its room is needed; it keeps a quiet key's ring small. */
static void record_one(struct windows *l, int64_t key, int64_t now_ms)
{
    struct window *w = find_or_add(l, key);
    if (!w)
        return;
    if (w->count == w->capacity)
        drop_left(w, now_ms);
    if (w->count == l->limit) {
        w->first = (w->first + 1) % w->capacity;
        w->count--;
    }
    use(l, w, now_ms);
}

void windows_record(struct windows *l, const int64_t *keys, size_t count, int64_t now_ms)
{
    if (l->limit == 0)
        return;
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(bucket_of(l, keys[i]));
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(*bucket_of(l, keys[i]));
    for (size_t i = 0; i < count; i++) {
        forget_idle(l, now_ms);
        record_one(l, keys[i], now_ms);
    }
}

void windows_store_rejection(struct windows *l, int64_t key, int64_t until_ms)
{
    struct window *w = find_or_add(l, key);
    if (!w)
        return;
    int64_t *group = group_of(l, key);
    w->refused_until_ms = until_ms;
    if (*group < until_ms)
        *group = until_ms;
    w->last_ms = until_ms - WINDOW_MS > w->last_ms ? until_ms - WINDOW_MS : w->last_ms;
    list_remove(&w->by_use);
    list_add_last(&l->by_use, &w->by_use);
}

int64_t windows_find_rejection(struct windows *l, int64_t key, int64_t now_ms)
{
    if (*group_of(l, key) <= now_ms)
        return 0;
    for (struct window *w = *bucket_of(l, key); w; w = w->chain)
        if (w->key == key)
            return w->refused_until_ms > now_ms ? w->refused_until_ms : 0;
    return 0;
}

int windows_key_count(const struct windows *l)
{
    return l->windows;
}
