/* Looks up the video of a platform's post id, with a bounded cache in front of the store. */
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
void post_cache_free(struct post_cache *f);

/* `*found` is false if no video has this post. Needs no transaction. Videos are never deleted, so cached
 * results stay valid. */
MUST_USE enum err post_cache_find(struct post_cache *f, enum platform platform, struct str post_id,
                                  struct cached_post *out, bool *found);

#endif
