/* A group: the posts of one author at one platform while a run reads them, and the accounts through which
 * they are read. A post is open until its result is known. A group is freed when none of its posts is open
 * and no call uses its accounts. */
#ifndef VT_FETCH_AUTHOR_POSTS_H
#define VT_FETCH_AUTHOR_POSTS_H

#include "fetch/pending_writes.h"
#include "fetch/post_queue.h"
#include "fetch/results.h"

/* A post window: the groups (struct author_posts) of one platform that are in memory. An author has one group
 * per pass of the walk. */
struct post_window {
    enum platform platform;
    struct run *run;
    struct result_set *results;
    struct pending_writes *writes;
    struct list groups;
    size_t group_count, post_count;
};

struct author_posts {
    struct list link; /* link in post_window.groups */
    struct post_window *window;
    struct author_results *results;
    struct arena arena; /* posts, accounts and their texts */
    struct fetch_account *accounts;
    size_t account_count;
    size_t open;    /* number of open posts */
    size_t by_key;  /* number of posts that YouTube's API key has returned or may still return */
    int references; /* number of calls that use an account of the group */
};

/* Initializes an empty post_window. The pointers must outlive it. */
void post_window_init(struct post_window *w, enum platform platform, struct run *run,
                      struct result_set *results, struct pending_writes *writes);

/* Creates a group that is not in the post_window yet. The caller adds it with post_window_add() or frees it.
 */
struct author_posts *author_posts_new(struct post_window *window);
void author_posts_free(struct author_posts *group);
/* Adds a group to the post_window. `at` is the position of the walk. Precondition: some posts of the group
 * are open. */
void post_window_add(struct post_window *w, struct author_posts *group, const struct walk_position *at);

/* Increment and decrement the number of calls that use an account of the group. Call author_posts_acquire()
 * when a call begins and author_posts_release() when it ends. author_posts_release() may free the group. If
 * `group` is NULL (the API key has no group), both functions do nothing. */
void author_posts_acquire(struct author_posts *group);
void author_posts_release(struct author_posts *group);

/* The result of a post in this run. Each result has a counter from RUN_READ to RUN_UNREAD, which explains it
 * (refresh/run_counters.h). */
enum post_result { POST_READ, POST_NO_DATA, POST_MISSING, POST_PERMANENT, POST_UNREAD };

/* Sets the result of a post: removes it from its queue or batch and counts the result. With POST_READ, stores
 * post->counts as a reading. May free the group. */
void pending_post_set_result(struct pending_post *post, enum post_result result);

/* Gives every post of the batch the result POST_UNREAD and frees the batch. */
void call_batch_abandon(struct call_batch *batch);

/* Stops using the account in this run. The posts in its queues get the result POST_UNREAD. */
void fetch_account_abandon(struct fetch_account *account);

/* Stops calling this API in this run. */
void api_queue_close(struct api_queue *q);

/* Record that the account works, or that a call through it failed. Only the first success and the first
 * failure of an account in its group (in a walk with two passes: in each pass) are written, and no success
 * after a failure. `what` and `code` form the text of the failure. */
void fetch_account_record_success(struct fetch_account *account, struct pending_writes *writes);
void fetch_account_record_failure(struct fetch_account *account, struct pending_writes *writes,
                                  const char *what, struct str code);

#endif
