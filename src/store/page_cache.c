/* Pages stand in a hash table by their number and, unless SQLite holds them, in one of two lists: `by_use`
 * has content that may be asked for again, `spare` has none. Forgetting all moves one list behind the other
 * and begins a new generation: a page of an older one counts as absent, though it still stands in the table.
 */
#include "store/page_cache.h"

#include "base/check.h"
#include "base/list.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* xFetch()'s createFlag. */
enum { ONLY_FIND = 0, IF_EASY = 1, BY_ALL_MEANS = 2 };

enum {
    FIRST_BUCKETS = 64, /* a power of two */
    FIRST_PAGES = 16,   /* taken at once; then twice as many each time, up to */
    MOST_PAGES = 256,
    ALIGNMENT = 64,
    NO_KEY = 0,
};

struct page {
    sqlite3_pcache_page face; /* what SQLite sees; the first member */
    struct page *next_in_bucket;
    struct list link;    /* of by_use or spare; of none while SQLite holds the page */
    uint64_t generation; /* of the cache when the page was filled; 0: it was discarded */
    unsigned key;        /* NO_KEY: in no bucket */
};

/* Buffers first, then their struct pages: if a damaged database makes SQLite read over the end of a page, it
 * reads memory of ours. */
struct chunk {
    struct chunk *next;
};

struct page_cache {
    size_t page_bytes, entry_bytes; /* of a buffer; of a struct page and the `pExtra` behind it */
    bool is_purgeable;              /* false: the pages are the only copy */
    unsigned most;                  /* pages; SQLite may hold more */
    unsigned total, live, held;     /* pages there are, with content, held by SQLite */
    unsigned max_key;               /* no page with content has a greater one */
    unsigned next_chunk;            /* pages that are taken at once the next time */
    uint64_t generation;
    struct list by_use; /* used last: last */
    struct list spare;  /* used last: last, and taken first: it is still in the processor's caches */
    struct page **table;
    unsigned buckets;
    struct chunk *chunks;
};

static struct page_cache *cache_of(sqlite3_pcache *self)
{
    return (struct page_cache *)(void *)self;
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static bool is_held(const struct page *p)
{
    return list_is_empty(&p->link);
}

static bool is_live(const struct page_cache *c, const struct page *p)
{
    return p->generation == c->generation;
}

/* --- the table --- */

static struct page **bucket_of(const struct page_cache *c, unsigned key)
{
    return &c->table[key & (c->buckets - 1)];
}

static struct page *find(const struct page_cache *c, unsigned key)
{
    struct page *p = *bucket_of(c, key);
    while (p && p->key != key)
        p = p->next_in_bucket;
    return p;
}

static void table_add(struct page_cache *c, struct page *p, unsigned key)
{
    struct page **bucket = bucket_of(c, key);
    p->key = key;
    p->next_in_bucket = *bucket;
    *bucket = p;
}

static void table_remove(struct page_cache *c, struct page *p)
{
    if (p->key == NO_KEY)
        return;
    struct page **at = bucket_of(c, p->key);
    while (*at != p)
        at = &(*at)->next_in_bucket;
    *at = p->next_in_bucket;
    p->key = NO_KEY;
}

/* Without memory the table stays as it is: slower, not wrong. False: there is none at all. */
static bool table_resize(struct page_cache *c, unsigned buckets)
{
    struct page **table = sqlite3_malloc64(buckets * sizeof *table);
    if (!table)
        return c->table != NULL;
    struct page **old = c->table;
    unsigned old_buckets = c->buckets;
    memset(table, 0, buckets * sizeof *table);
    c->table = table;
    c->buckets = buckets;
    for (unsigned i = 0; i < old_buckets; i++)
        for (struct page *p = old[i], *next; p; p = next) {
            next = p->next_in_bucket;
            table_add(c, p, p->key);
        }
    sqlite3_free(old);
    return true;
}

static void note_key(struct page_cache *c, unsigned key)
{
    if (key > c->max_key)
        c->max_key = key;
}

/* --- pages that hold nothing --- */

static void grow(struct page_cache *c)
{
    unsigned count = c->next_chunk;
    if (c->is_purgeable && c->total < c->most && count > c->most - c->total)
        count = c->most - c->total;
    struct chunk *chunk =
        sqlite3_malloc64(sizeof *chunk + ALIGNMENT + count * (c->page_bytes + c->entry_bytes));
    if (!chunk)
        return;
    chunk->next = c->chunks;
    c->chunks = chunk;
    char *buffers = (char *)(chunk + 1);
    buffers += aligned((uintptr_t)buffers) - (uintptr_t)buffers;
    for (unsigned i = 0; i < count; i++) {
        struct page *p = (struct page *)(void *)(buffers + count * c->page_bytes + i * c->entry_bytes);
        *p = (struct page){.face = {.pBuf = buffers + i * c->page_bytes, .pExtra = p + 1}, .key = NO_KEY};
        list_add_last(&c->spare, &p->link);
    }
    c->total += count;
    if (c->next_chunk < MOST_PAGES)
        c->next_chunk *= 2;
    if (c->total > c->buckets)
        (void)table_resize(c, c->buckets * 2);
}

/* The page's content is gone; SQLite does not hold it. */
static void discard(struct page_cache *c, struct page *p)
{
    list_remove(&p->link);
    list_add_last(&c->spare, &p->link);
    p->generation = 0;
    c->live--;
}

static void discard_oldest(struct page_cache *c)
{
    if (c->is_purgeable && !list_is_empty(&c->by_use))
        discard(c, LIST_ENTRY(c->by_use.next, struct page, link));
}

/* In no list and no bucket; NULL: no memory. */
static struct page *take(struct page_cache *c)
{
    if (list_is_empty(&c->spare))
        grow(c);
    if (list_is_empty(&c->spare))
        discard_oldest(c);
    if (list_is_empty(&c->spare))
        return NULL;
    struct page *p = LIST_ENTRY(c->spare.prev, struct page, link);
    list_remove(&p->link);
    table_remove(c, p);
    return p;
}

/* --- what SQLite calls --- */

static int page_cache_init(void *unused)
{
    (void)unused;
    return SQLITE_OK;
}

static void page_cache_destroy(sqlite3_pcache *self)
{
    struct page_cache *c = cache_of(self);
    for (struct chunk *chunk = c->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        sqlite3_free(chunk);
    }
    sqlite3_free(c->table);
    sqlite3_free(c);
}

static sqlite3_pcache *page_cache_create(int page_bytes, int extra_bytes, int is_purgeable)
{
    struct page_cache *c = sqlite3_malloc64(sizeof *c);
    if (!c)
        return NULL;
    *c = (struct page_cache){
        .page_bytes = (size_t)page_bytes,
        .entry_bytes = aligned(sizeof(struct page) + (size_t)extra_bytes),
        .is_purgeable = is_purgeable,
        .next_chunk = FIRST_PAGES,
        .generation = 1,
    };
    list_init(&c->by_use);
    list_init(&c->spare);
    if (!table_resize(c, FIRST_BUCKETS)) {
        sqlite3_free(c);
        return NULL;
    }
    return (sqlite3_pcache *)(void *)c;
}

/* Counts from now on; memory that is there stays. */
static void page_cache_size(sqlite3_pcache *self, int most)
{
    cache_of(self)->most = most > 0 ? (unsigned)most : 0;
}

static int page_cache_count(sqlite3_pcache *self)
{
    return (int)cache_of(self)->live;
}

static sqlite3_pcache_page *page_cache_fetch(sqlite3_pcache *self, unsigned key, int create)
{
    struct page_cache *c = cache_of(self);
    struct page *p = find(c, key);
    if (p && is_live(c, p)) {
        if (!is_held(p)) {
            list_remove(&p->link);
            c->held++;
        }
        return &p->face;
    }
    /* Nearly all are held, which means that they are changed: SQLite writes some of them first. */
    bool is_easy = !c->is_purgeable || c->held < c->most - c->most / 10;
    if (create == ONLY_FIND || (create == IF_EASY && !is_easy))
        return NULL;
    if (c->live >= c->most)
        discard_oldest(c);
    if (p) {
        list_remove(&p->link);
    } else {
        p = take(c);
        if (!p)
            return NULL;
        table_add(c, p, key);
    }
    note_key(c, key);
    p->generation = c->generation;
    c->live++;
    c->held++;
    /* By this SQLite sees that the page is new. */
    memset(p->face.pExtra, 0, sizeof(void *));
    return &p->face;
}

static void page_cache_unpin(sqlite3_pcache *self, sqlite3_pcache_page *face, int is_discarded)
{
    struct page_cache *c = cache_of(self);
    struct page *p = (struct page *)(void *)face;
    c->held--;
    list_add_last(&c->by_use, &p->link);
    if (is_discarded || c->live > c->most)
        discard(c, p);
}

static void page_cache_rekey(sqlite3_pcache *self, sqlite3_pcache_page *face, unsigned old_key, unsigned key)
{
    struct page_cache *c = cache_of(self);
    struct page *p = (struct page *)(void *)face, *other = find(c, key);
    CHECK(p->key == old_key);
    if (other == p)
        return;
    if (other && is_live(c, other))
        discard(c, other);
    if (other)
        table_remove(c, other);
    table_remove(c, p);
    table_add(c, p, key);
    note_key(c, key);
}

static void forget_from(struct page_cache *c, unsigned limit)
{
    if (limit > c->max_key)
        return;
    for (unsigned i = 0; i < c->buckets; i++)
        for (struct page *p = c->table[i]; p; p = p->next_in_bucket)
            if (p->key >= limit && is_live(c, p)) {
                c->held -= is_held(p);
                discard(c, p);
            }
    c->max_key = limit - 1;
}

/* SQLite holds none of them. */
static void forget_all(struct page_cache *c)
{
    list_move_all(&c->spare, &c->by_use);
    c->generation++;
    c->live = 0;
    c->max_key = 0;
}

/* From 1 on at the first read after another connection's commit; behind the last page after each commit. */
static void page_cache_truncate(sqlite3_pcache *self, unsigned limit)
{
    struct page_cache *c = cache_of(self);
    if (limit <= 1 && c->held == 0)
        forget_all(c);
    else
        forget_from(c, limit);
}

/* Memory goes back when the connection is closed; nothing of ours asks for it before (it would be by
 * sqlite3_db_release_memory()). */
static void page_cache_shrink(sqlite3_pcache *unused)
{
    (void)unused;
}

const struct sqlite3_pcache_methods2 page_cache_methods = {
    .iVersion = 1,
    .xInit = page_cache_init,
    .xCreate = page_cache_create,
    .xCachesize = page_cache_size,
    .xPagecount = page_cache_count,
    .xFetch = page_cache_fetch,
    .xUnpin = page_cache_unpin,
    .xRekey = page_cache_rekey,
    .xTruncate = page_cache_truncate,
    .xDestroy = page_cache_destroy,
    .xShrink = page_cache_shrink,
};
