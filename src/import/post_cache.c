/* A set-associative cache of posts, because an import contains many readings of each post; and a small cache
 * of author ids. */
#include "import/post_cache.h"

#include "base/check.h"
#include "base/hash.h"
#include "base/vec.h"

#include <stdlib.h>

/* A set has several entries (WAYS), because in a direct-mapped cache, 100,000 posts read hour by hour would
 * evict each other half of the time. */
enum { SETS = 1 << 15, WAYS = 4, AUTHORS = 1 << 10, ID_BYTES = 39, ARENA_BLOCK = 4096 };

/* Ids longer than ID_BYTES are not cached; the platforms' ids have about 30 bytes at most. */
struct post_cache_entry {
    struct cached_post post;
    uint8_t platform, len; /* len 0: empty */
    char id[ID_BYTES];
};

struct post_cache {
    struct store *store;
    struct arena arena;
    struct post_cache_entry (*sets)[WAYS];
    /* The posts of one call that are not cached, with their index in the call. */
    VEC(struct post_key) missing;
    VEC(size_t) missing_at;
    struct post_owner *owners; /* owners of the missing posts; room for store_get_read_batch() of them */
    unsigned replaced;         /* selects the way of a set to replace (round-robin) */
    struct {
        int64_t row; /* 0: empty */
        struct uuid id;
    } authors[AUTHORS];
};

struct post_cache *post_cache_new(struct store *store)
{
    struct post_cache *cache = xcalloc(1, sizeof *cache);
    cache->store = store;
    cache->sets = xcalloc(SETS, sizeof cache->sets[0]);
    cache->owners = xcalloc(store_get_read_batch(store), sizeof cache->owners[0]);
    arena_init(&cache->arena, ARENA_BLOCK);
    return cache;
}

void post_cache_free(struct post_cache *cache)
{
    if (!cache)
        return;
    arena_fini(&cache->arena);
    VEC_FREE(&cache->missing);
    VEC_FREE(&cache->missing_at);
    free(cache->owners);
    free(cache->sets);
    free(cache);
}

static struct post_cache_entry *set_of(struct post_cache *cache, const struct post_key *key)
{
    return cache->sets[hash_64(key->post_id, key->platform) % SETS];
}

static const struct post_cache_entry *find_entry(const struct post_cache_entry set[WAYS],
                                                 const struct post_key *key)
{
    for (int i = 0; i < WAYS; i++) {
        const struct post_cache_entry *e = &set[i];
        if (e->len && e->platform == key->platform && str_eq(str_make(e->id, e->len), key->post_id))
            return e;
    }
    return NULL;
}

static enum err find_author(struct post_cache *cache, int64_t row, struct uuid *out)
{
    struct author author;
    const size_t slot = (size_t)row % AUTHORS;
    if (cache->authors[slot].row != row) {
        arena_reset(&cache->arena);
        enum err err = store_get_author(cache->store, &cache->arena, row, &author);
        if (err)
            return err == ERR_NOT_FOUND ? ERR_CORRUPT : err;
        cache->authors[slot].row = row;
        cache->authors[slot].id = author.id;
    }
    *out = cache->authors[slot].id;
    return OK;
}

static void store_entry(struct post_cache *cache, const struct post_key *key, const struct cached_post *post)
{
    struct post_cache_entry *set = set_of(cache, key), *e = &set[cache->replaced++ % WAYS];
    for (int i = 0; i < WAYS; i++)
        if (!set[i].len)
            e = &set[i];
    if (key->post_id.len > ID_BYTES)
        return;
    e->post = *post;
    e->platform = (uint8_t)key->platform;
    e->len = (uint8_t)key->post_id.len;
    memcpy(e->id, key->post_id.p, key->post_id.len);
}

/* Looks up the missing posts. */
static enum err look_up(struct post_cache *cache, struct cached_post *out)
{
    enum err err = store_find_posts(cache->store, cache->missing.items, cache->missing.count, cache->owners);
    for (size_t i = 0; i < cache->missing.count && !err; i++) {
        const struct post_owner *owner = &cache->owners[i];
        struct cached_post *post = &out[cache->missing_at.items[i]];
        post->video_row = owner->video_row;
        if (!owner->video_row)
            continue;
        err = find_author(cache, owner->author_row, &post->author);
        if (!err)
            store_entry(cache, &cache->missing.items[i], post);
    }
    return err;
}

enum err post_cache_find(struct post_cache *cache, const struct post_key *keys, size_t count,
                         struct cached_post *out)
{
    CHECK(count <= store_get_read_batch(cache->store));
    cache->missing.count = cache->missing_at.count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct post_cache_entry *e = find_entry(set_of(cache, &keys[i]), &keys[i]);
        if (e) {
            out[i] = e->post;
        } else {
            *VEC_ADD(&cache->missing) = keys[i];
            *VEC_ADD(&cache->missing_at) = i;
        }
    }
    return cache->missing.count ? look_up(cache, out) : OK;
}
