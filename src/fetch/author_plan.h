/* The plan for one author: which posts a run reads, and through which accounts. */
#ifndef VT_FETCH_AUTHOR_PLAN_H
#define VT_FETCH_AUTHOR_PLAN_H

#include "fetch/author_posts.h"
#include "fetch/read_interval.h"
#include "store/platform_credentials.h"

/* A live post: a post whose counts are still read. */
struct plan_post {
    int64_t video_row, video_posted_at, posted_at, read_at;
    enum platform platform;
    struct str post_id;
};

/* The live posts of an author, newest first, and the author's accounts at all platforms with a configured
 * app registration. The plan is reused for the next author. Texts are in the arena. */
struct author_plan {
    struct run *run;
    struct api_queue *apis;          /* by enum platform_api */
    bool has_source[PLATFORM_COUNT]; /* the platform has a configured API */
    struct arena arena;
    VEC(struct plan_post) posts;
    VEC(struct credential) accounts;
    int64_t now; /* the time of author_plan_read() */
};

/* Initializes a plan that reads from the database of `run`. */
void author_plan_init(struct author_plan *p, struct run *run, struct api_queue apis[PLATFORM_APIS]);
void author_plan_fini(struct author_plan *p);

/* Reads the posts and accounts of an author. Discards the posts and accounts of the previous author. After an
 * error, run_fail() has been called. */
MUST_USE enum err author_plan_read(struct author_plan *p, int64_t author_row);

/* Returns the author's first connected account at the platform, or NULL if none exists. */
const struct credential *author_plan_account(const struct author_plan *p, enum platform platform);

/* Returns true if posts of the platform can be read with the configured API key, so that the author needs no
 * account. */
bool author_plan_reads_without_account(const struct author_plan *p, enum platform platform);

enum { READ_ALL_AGES = -1 };

/* Selects which of the author's posts to load. */
struct plan_selection {
    struct post_window *window;
    bool by_age; /* age-based read intervals are in effect */
    int pass; /* 0: load the posts that are at most a day old; 1: the older ones; READ_ALL_AGES: all posts */
};

/* Creates a group of the selected posts that are due. Sets `*out` to NULL if there are none. In the
 * statistics of the run, counts the posts that are not due, and those that can never be read or will never
 * have counts. Ignores due posts that cannot be read now: there is no API key, and the author has no
 * connected account or must reconnect the account through which the post was read. */
MUST_USE enum err author_plan_load(struct author_plan *p, const struct plan_selection *selection,
                                   struct author_posts **out);

#endif
