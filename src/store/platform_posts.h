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
    struct str resolved_id; /* the platform's own id of the video; p == NULL: same as post_id, or unknown */
    int64_t
        credential_row;   /* the account that returned the post; it may have been deleted since; 0: unknown */
    int views_source;     /* which definition of a view the post's counts follow; 0: not chosen yet */
    int64_t misses;       /* number of consecutive responses that did not contain the post */
    int64_t missed_since; /* time of the first of these responses; TIME_NONE: the last response contained
                             the post */
    bool is_permanent;    /* the platform will never return counts for this post */
    int64_t requested_at; /* time of the last request for this post; TIME_NONE: not recorded */
};

/* Reads the row of a post. Returns ERR_NOT_FOUND if none exists. */
MUST_USE enum err store_get_platform_post(struct store *s, struct arena *a, enum platform platform,
                                          struct str post_id, struct platform_post *out);
/* Inserts or replaces the row with what the platform reported about a post. */
MUST_USE enum err store_put_platform_post(struct store *s, const struct platform_post *post);

#endif
