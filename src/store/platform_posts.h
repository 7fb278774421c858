/* What the platforms returned about single posts. Most posts have no row. Follows write.h. */
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
    int64_t credential_row; /* the account that returned the post, which may be deleted; 0: unknown */
    int views_source;       /* which definition of a view is read; 0: not chosen */
    int64_t misses;         /* consecutive responses without the post */
    int64_t missed_since;   /* TIME_NONE: the last response had it */
    bool is_permanent;      /* the platform will never return counts for it */
    int64_t requested_at;   /* TIME_NONE: not recorded */
};

/* ERR_NOT_FOUND: no row. */
MUST_USE enum err store_get_platform_post(struct store *s, struct arena *a, enum platform platform,
                                          struct str post_id, struct platform_post *out);
/* Inserts or replaces the row. */
MUST_USE enum err store_put_platform_post(struct store *s, const struct platform_post *post);
MUST_USE enum err store_delete_platform_post(struct store *s, enum platform platform, struct str post_id);

#endif
