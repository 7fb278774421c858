/* What the platforms reported about single posts. Most posts have no row. The rules of write.h apply. */
#ifndef VT_STORE_PLATFORM_POSTS_H
#define VT_STORE_PLATFORM_POSTS_H

#include "base/arena.h"
#include "base/error.h"
#include "store/model.h"
#include "store/store.h"

struct platform_post {
    enum platform platform;
    struct str post_id;
    /* The id with which the platform's API returns the post, such as that of a Facebook video; equal to
     * post_id if a lookup has found no other id; p == NULL: not looked up. */
    struct str resolved_id;
    int64_t credential_row; /* the account that returned the post, stored if the author has several or an API
                               key cannot read the post; it may have been deleted since; 0: not stored */
    int views_source;       /* which definition of a view the post's counts follow; 0: not chosen yet */
    int64_t misses;         /* number of consecutive runs in which the post was missing, or was still being
                               processed by the platform */
    int64_t missed_since;   /* time of the first of these misses; TIME_NONE: none */
    bool is_permanent;      /* the platform will never return counts for this post */
    int64_t requested_at;   /* time of the newest miss; TIME_NONE: there was none */
};

/* Reads the row of a post. Returns ERR_NOT_FOUND if none exists. */
MUST_USE enum err store_get_platform_post(struct store *s, struct arena *a, enum platform platform,
                                          struct str post_id, struct platform_post *out);
/* Inserts or replaces the row with what the platform reported about a post. Does nothing if no video has the
 * post any more, because an import has corrected its id since the refresh run has read it. */
MUST_USE enum err store_put_platform_post(struct store *s, const struct platform_post *post);

#endif
