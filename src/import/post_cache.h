/* Looks up the video to which a platform's post belongs. Caches a limited number of results. */
#ifndef VT_IMPORT_POST_CACHE_H
#define VT_IMPORT_POST_CACHE_H

#include "base/arena.h"
#include "store/write.h"

struct cached_post {
    int64_t video_row;
    struct uuid author;
};

struct post_cache;
struct post_cache *post_cache_new(struct store *store);
void post_cache_free(struct post_cache *cache);

/* Looks up the videos of posts. `out[i].video_row` is 0 if no video has the post. Needs no transaction.
 * Cached results stay valid while the import lock is held, because the commands that delete videos do not run
 * while another process holds this lock (cli/erasing.c). `count` is at most store_get_read_batch(). */
MUST_USE enum err post_cache_find(struct post_cache *cache, const struct post_key *keys, size_t count,
                                  struct cached_post *out);

#endif
