/* The posts of one author at one platform while a run reads them, and the accounts that they are read
 * through. A group is freed when its last post is settled and no call uses its accounts. */
#ifndef VT_FETCH_AUTHOR_POSTS_H
#define VT_FETCH_AUTHOR_POSTS_H

#include "fetch/pending_writes.h"
#include "fetch/post_queue.h"
#include "fetch/results.h"

/* The groups of one platform that are loaded. */
struct post_window {
    enum platform platform;
    struct run *run;
    struct result_set *results;
    struct pending_writes *writes;
    struct list groups;
    size_t group_count, post_count;
};

struct author_posts {
    struct list link; /* in post_window.groups */
    struct post_window *window;
    struct author_results *results;
    struct arena arena; /* posts, accounts and their texts */
    struct fetch_account *accounts;
    size_t account_count;
    size_t open;    /* posts that are not settled */
    int references; /* calls that use an account of the group */
};

void post_window_init(struct post_window *w, enum platform platform, struct run *run,
                      struct result_set *results, struct pending_writes *writes);

/* A group that is in no window yet; free it, or add it. */
struct author_posts *author_posts_new(struct post_window *window);
void author_posts_free(struct author_posts *group);
/* Precondition: it has open posts. */
void post_window_add(struct post_window *w, struct author_posts *group, const struct walk_position *at);

/* A call begins or ends to use an account of the group. Releasing may free it. NULL: the API key's, ignored.
 */
void author_posts_acquire(struct author_posts *group);
void author_posts_release(struct author_posts *group);

enum post_result { POST_READ, POST_NO_DATA, POST_MISSING, POST_PERMANENT, POST_UNANSWERED };

/* Removes the post from its queue or batch and counts the result; with POST_READ, stores post->counts as a
 * reading. May free the group. */
void pending_post_settle(struct pending_post *post, enum post_result result);

/* Settle all posts of the batch as unanswered and free the batch. */
void call_batch_abandon(struct call_batch *batch);

/* No more calls through this account in this run: settles what is queued as unanswered. */
void fetch_account_abandon(struct fetch_account *account);

/* No more calls of this API in this run. */
void api_queue_close(struct api_queue *q);

/* Record once per account and run that it works, or failed: `what` and `code` form the text. */
void fetch_account_record_success(struct fetch_account *account, struct pending_writes *writes);
void fetch_account_record_failure(struct fetch_account *account, struct pending_writes *writes,
                                  const char *what, struct str code);

#endif
