/* A set-associative cache, because an import contains many readings of each post; and a small cache of author
 * ids. */
#include "import/post_cache.h"

#include "base/check.h"
#include "base/hash.h"

#include <stdlib.h>

/* In a direct-mapped cache, 100,000 posts read hour by hour would evict each other half of the time. */
enum { SETS = 1 << 15, WAYS = 4, AUTHORS = 1 << 10, ID_BYTES = 39, ARENA_BLOCK = 4096 };

/* Longer ids are not cached; ids of platforms have about 30 bytes at most. */
struct post_cache_entry {
    struct cached_post post;
    uint8_t platform, len; /* len 0: empty */
    char id[ID_BYTES];
};

struct post_cache {
    struct store *store;
    struct arena arena;
    struct post_cache_entry (*sets)[WAYS];
    unsigned replaced; /* selects the way of a set to replace (round-robin) */
    struct {
        int64_t row; /* 0: empty */
        struct uuid id;
    } authors[AUTHORS];
};

struct post_cache *post_cache_new(struct store *store)
{
    struct post_cache *f = xcalloc(1, sizeof *f);
    f->store = store;
    f->sets = xcalloc(SETS, sizeof f->sets[0]);
    arena_init(&f->arena, ARENA_BLOCK);
    return f;
}

void post_cache_free(struct post_cache *f)
{
    if (!f)
        return;
    arena_fini(&f->arena);
    free(f->sets);
    free(f);
}

static struct post_cache_entry *find_entry(struct post_cache_entry set[WAYS], enum platform platform,
                                           struct str post_id)
{
    for (int i = 0; i < WAYS; i++) {
        struct post_cache_entry *e = &set[i];
        if (e->len && e->platform == platform && str_eq(str_make(e->id, e->len), post_id))
            return e;
    }
    return NULL;
}

static enum err find_author(struct post_cache *f, int64_t row, struct uuid *out)
{
    struct author author;
    const size_t slot = (size_t)row % AUTHORS;
    if (f->authors[slot].row != row) {
        arena_reset(&f->arena);
        enum err err = store_get_author(f->store, &f->arena, row, &author);
        if (err)
            return err == ERR_NOT_FOUND ? ERR_CORRUPT : err;
        f->authors[slot].row = row;
        f->authors[slot].id = author.id;
    }
    *out = f->authors[slot].id;
    return OK;
}

static enum err look_up(struct post_cache *f, enum platform platform, struct str post_id,
                        struct cached_post *out)
{
    struct post_owner owner;
    enum err err = store_find_post(f->store, platform, post_id, &owner);
    if (err)
        return err;
    out->video_row = owner.video_row;
    return find_author(f, owner.author_row, &out->author);
}

static void store_entry(struct post_cache *f, struct post_cache_entry set[WAYS], enum platform platform,
                        struct str post_id, const struct cached_post *post)
{
    struct post_cache_entry *e = &set[f->replaced++ % WAYS];
    for (int i = 0; i < WAYS; i++)
        if (!set[i].len)
            e = &set[i];
    if (post_id.len > ID_BYTES)
        return;
    e->post = *post;
    e->platform = (uint8_t)platform;
    e->len = (uint8_t)post_id.len;
    memcpy(e->id, post_id.p, post_id.len);
}

enum err post_cache_find(struct post_cache *f, enum platform platform, struct str post_id,
                         struct cached_post *out, bool *found)
{
    struct post_cache_entry *set = f->sets[hash_64(post_id, platform) % SETS];
    const struct post_cache_entry *e = find_entry(set, platform, post_id);
    *found = true;
    if (e) {
        *out = e->post;
        return OK;
    }
    enum err err = look_up(f, platform, post_id, out);
    *found = err == OK;
    if (*found)
        store_entry(f, set, platform, post_id, out);
    return err == ERR_NOT_FOUND ? OK : err;
}
