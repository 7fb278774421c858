/* Which video a platform's own id stands for, with a bounded memory of the last answers. */
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

/* `*found` is false for a post that is not known. Needs no transaction. Videos never go, so an answer that is
 * remembered stays right. */
MUST_USE enum err post_cache_find(struct post_cache *f, enum platform platform, struct str post_id,
                                  struct cached_post *out, bool *found);

#endif
