/* What was found out about single posts at their platforms. Most posts have no row. Contracts as in
 * write.h. */
#ifndef VT_STORE_PLATFORM_POSTS_H
#define VT_STORE_PLATFORM_POSTS_H

#include "base/arena.h"
#include "base/error.h"
#include "store/model.h"
#include "store/store.h"

struct platform_post {
    enum platform platform;
    struct str post_id;
    struct str resolved_id; /* what the platform calls the video; p == NULL: post_id itself, or not known */
    int64_t credential_row; /* whose account answered for it; 0: not known. The account may have gone */
    int views_source;       /* 0: not chosen */
    int64_t misses;         /* in a row */
    int64_t missed_since;   /* TIME_NONE: the last answer had it */
    bool is_permanent;      /* will never have numbers */
    int64_t requested_at;   /* TIME_NONE: not written down */
};

/* ERR_NOT_FOUND: nothing is known. */
MUST_USE enum err store_get_platform_post(struct store *s, struct arena *a, enum platform platform,
                                          struct str post_id, struct platform_post *out);
/* Writes the whole row, new or not. */
MUST_USE enum err store_put_platform_post(struct store *s, const struct platform_post *post);
MUST_USE enum err store_delete_platform_post(struct store *s, enum platform platform, struct str post_id);

#endif
