/* A window is a ring buffer with the times of the most recently admitted requests. All windows are in a hash
 * table, and in a list with the least recently used window first, from which idle windows are removed. */
#include "limit/window.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "base/list.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 4, REMOVED_PER_CALL = 2 };

struct window {
    struct hash_link link;
    struct list by_use;
    int64_t key;
    int64_t last_ms; /* time of the last use; the window can be removed a minute later */
    int64_t rejected_until_ms, rejection_expires_ms;
    int first, count,
        capacity; /* the ring contains `count` timestamps, oldest first, beginning at index `first` */
    int64_t *times;
};

struct windows {
    int limit;
    struct hash_table table;
    struct list by_use;
};

static bool has_key(const struct hash_link *link, const void *key)
{
    const struct window *w = (const void *)link; /* the first member */
    return w->key == *(const int64_t *)key;
}

struct windows *windows_new(int limit)
{
    CHECK(limit >= 0);
    struct windows *l = xcalloc(1, sizeof *l);
    l->limit = limit;
    hash_table_init(&l->table, has_key);
    list_init(&l->by_use);
    return l;
}

static void window_remove(struct windows *l, struct window *w)
{
    hash_table_remove(&l->table, &w->link);
    list_remove(&w->by_use);
    free(w->times);
    free(w);
}

void windows_free(struct windows *l)
{
    if (!l)
        return;
    while (!list_is_empty(&l->by_use))
        window_remove(l, LIST_ENTRY(l->by_use.next, struct window, by_use));
    hash_table_fini(&l->table);
    free(l);
}

/* Removes only a few idle windows at a time, so that no request is delayed by removing many. */
static void remove_idle(struct windows *l, int64_t now_ms)
{
    for (int i = 0; i < REMOVED_PER_CALL && !list_is_empty(&l->by_use); i++) {
        struct window *oldest = LIST_ENTRY(l->by_use.next, struct window, by_use);
        if (now_ms - oldest->last_ms < WINDOW_MS)
            return;
        window_remove(l, oldest);
    }
}

static struct window *find(const struct windows *l, int64_t key)
{
    struct hash_link *link = hash_table_find(&l->table, hash_i64(key), &key);
    return link ? LIST_ENTRY(link, struct window, link) : NULL;
}

/* Returns the window of the key, which is created if necessary. Returns NULL if out of memory. */
static struct window *find_or_add(struct windows *l, int64_t key)
{
    struct window *w = find(l, key);
    if (w)
        return w;
    w = try_calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->key = key;
    list_init(&w->by_use);
    hash_table_add(&l->table, &w->link, hash_i64(key));
    return w;
}

static void drop_oldest(struct window *w)
{
    w->first = (w->first + 1) % w->capacity;
    w->count--;
}

static void drop_expired(struct window *w, int64_t now_ms)
{
    while (w->count && now_ms - w->times[w->first] >= WINDOW_MS)
        drop_oldest(w);
}

static bool grow(struct window *w, int limit)
{
    int capacity = w->capacity ? w->capacity * 2 : FIRST_CAPACITY;
    if (capacity > limit)
        capacity = limit;
    int64_t *times = try_malloc((size_t)capacity * sizeof *times);
    if (!times)
        return false;
    for (int i = 0; i < w->count; i++)
        times[i] = w->times[(w->first + i) % w->capacity];
    free(w->times);
    w->times = times;
    w->capacity = capacity;
    w->first = 0;
    return true;
}

/* Marks the window as in use until at least `last_ms`. */
static void touch(struct windows *l, struct window *w, int64_t last_ms)
{
    if (last_ms > w->last_ms)
        w->last_ms = last_ms;
    list_remove(&w->by_use);
    list_add_last(&l->by_use, &w->by_use);
}

/* If out of memory, the request is not recorded. */
static void record(struct windows *l, struct window *w, int64_t now_ms)
{
    if (w->count < w->capacity || grow(w, l->limit))
        w->times[(w->first + w->count++) % w->capacity] = now_ms;
    touch(l, w, now_ms);
}

void windows_set_limit(struct windows *l, int limit)
{
    CHECK(limit >= 0);
    l->limit = limit;
    for (struct hash_link *link = NULL; (link = hash_table_next(&l->table, link));) {
        struct window *w = LIST_ENTRY(link, struct window, link);
        w->rejection_expires_ms = 0;
        while (w->count > limit)
            drop_oldest(w);
    }
}

struct limit_verdict windows_acquire(struct windows *l, int64_t key, int64_t now_ms)
{
    if (l->limit == 0)
        return (struct limit_verdict){.admitted = true};
    remove_idle(l, now_ms);
    struct window *w = find_or_add(l, key);
    if (!w)
        return (struct limit_verdict){.admitted = true, .limit = l->limit, .remaining = l->limit};
    drop_expired(w, now_ms);
    struct limit_verdict v = {.admitted = w->count < l->limit, .limit = l->limit};
    if (v.admitted)
        record(l, w, now_ms);
    v.remaining = l->limit - w->count;
    if (w->count) /* `count` is 0 only if there was no memory to record the request */
        v.reset_ms = WINDOW_MS - (now_ms - w->times[w->first]);
    return v;
}

void windows_record(struct windows *l, int64_t key, int64_t now_ms)
{
    if (l->limit == 0)
        return;
    remove_idle(l, now_ms);
    struct window *w = find_or_add(l, key);
    if (!w)
        return;
    drop_expired(w, now_ms);
    if (w->count == l->limit)
        drop_oldest(w);
    record(l, w, now_ms);
}

void windows_store_rejection(struct windows *l, int64_t key, int64_t until_ms, int64_t expires_ms)
{
    struct window *w = find_or_add(l, key);
    if (!w)
        return;
    w->rejected_until_ms = until_ms;
    w->rejection_expires_ms = expires_ms;
    touch(l, w, expires_ms - WINDOW_MS);
}

int64_t windows_find_rejection(const struct windows *l, int64_t key, int64_t now_ms)
{
    const struct window *w = find(l, key);
    return w && now_ms < w->rejection_expires_ms ? w->rejected_until_ms : 0;
}

int windows_key_count(const struct windows *l)
{
    return (int)l->table.count;
}
