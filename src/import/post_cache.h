/* Which video a platform's own id stands for, with a bounded memory of the last answers. */
#ifndef VT_IMPORT_POST_CACHE_H
#define VT_IMPORT_POST_CACHE_H

#include "base/arena.h"
#include "store/write.h"

struct post_place {
    int64_t video_row;
    struct uuid author;
};

struct post_cache;
struct post_cache *post_finder_new(struct store *store);
void post_finder_free(struct post_cache *f);

/* `*found` is false for a post that is not known. Needs no transaction. Videos never go, so an answer that is
 * remembered stays right. */
MUST_USE enum err post_finder_find(struct post_cache *f, enum platform platform, struct str post_id,
                                   struct post_place *out, bool *found);

#endif
