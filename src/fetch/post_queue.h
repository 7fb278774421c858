/* The posts to be read through an account: how they are queued and divided into calls.
 *
 * A pending post waits in a queue of an account, or in a batch that waits for its retry. While a call is in
 * flight, its batch belongs to the call and not to the account. */
#ifndef VT_FETCH_POST_QUEUE_H
#define VT_FETCH_POST_QUEUE_H

#include "base/list.h"
#include "fetch/throttle.h"
#include "store/platform_posts.h"

enum { METRIC_LIST_MAX = 2 * ERROR_CODE_MAX };

struct author_posts;

/* A post that this run has to read. */
struct pending_post {
    struct list link; /* link in a queue of an account, or in a batch */
    struct author_posts *group;
    int64_t video_row, video_posted_at;
    int64_t posted_at, read_at;  /* read_at: time of the last reading; TIME_NONE: none yet */
    struct platform_post record; /* texts are in the arena of the group */
    bool reads_own_id; /* this account could not resolve the id, so it reads the post with record.post_id */
    bool by_owner;     /* YouTube: the API key did not find the post, so the author's account is tried */
    bool is_denied;    /* an account lacks the permission to read the post, so it does not count as missing */
    int accounts_tried;
    int64_t counts[COUNT_KINDS]; /* the counts of the response */
};

/* A batch: the posts of one call. */
struct call_batch {
    struct list link; /* link in fetch_account.retries */
    struct list posts;
    size_t count;
    enum call_kind kind;
    int tries;                     /* number of failed attempts */
    int64_t not_before;            /* monotonic */
    int tier;                      /* request form of this batch; -1: the account's request form */
    bool with_account;             /* value of platform_call.with_account for the next call */
    bool uncombined;               /* platform_call.combined was rejected for this batch */
    char dropped[METRIC_LIST_MAX]; /* metrics to omit; used only if `tier` is not -1 */
};

/* The accounts of an API that have posts to send. */
struct api_queue {
    struct throttle *throttle;
    struct list ready; /* accounts with posts to send, used in turn; does not contain accounts that are
                          `busy` */
    struct fetch_account *key; /* YouTube's API key, which acts as an account; NULL: none */
};

/* An account through which posts are read. YouTube's API key is handled like an account. */
struct fetch_account {
    struct list link; /* link in api_queue.ready */
    struct api_queue *api;
    struct author_posts *group; /* NULL for the API key */
    int64_t row;                /* row of the account in the database; 0 for the API key */
    int64_t version;            /* version of the tokens used last */
    struct str account_id;
    struct list queue[2]; /* pending posts, by enum call_kind */
    struct list retries;  /* batches */
    bool busy; /* a call is in flight, so no other call may begin; always false for the API key, which may
                  have any number of calls in flight */
    bool abandoned; /* not used again in this run */
    bool success_recorded,
        failure_recorded; /* a recorded failure prevents a later success from being recorded */
    bool is_personal;     /* platform_call.is_personal */
    int seen, missing; /* `seen`: number of posts that the platform returned, plus the successful calls with
                          platform_call.with_account; `missing`: number of posts that it did not return,
                          counted only if the author has no other account at the platform */
    int tier;          /* request form */
    char dropped_metrics[METRIC_LIST_MAX]; /* metrics to omit, comma-separated */
    int64_t not_before;                    /* monotonic; not stored, so the next run does not wait */
    struct bucket bucket;                  /* rate limit of the account */
};

void api_queue_init(struct api_queue *q, struct throttle *throttle);
/* Initializes an account without queued posts. */
void fetch_account_init(struct fetch_account *a, struct api_queue *api, struct author_posts *group);

/* Appends the post to one of the account's queues: for reading, or for resolving its id first. */
void fetch_account_add(struct fetch_account *account, struct pending_post *post);

/* Adds the account to its API's ready list or removes it, depending on its queues and `busy`. Call after
 * changing either. */
void fetch_account_update_ready(struct fetch_account *account);

/* Returns true if a call through the account may begin at `now`. `*at` receives the monotonic time from which
 * it may begin, or PACE_NEVER if nothing is queued. */
bool fetch_account_is_ready(const struct fetch_account *account, int64_t now, int64_t *at);

/* Removes the next batch from the account: a retry that is due, otherwise new posts. Returns NULL if no retry
 * is due at `now` and no new posts are queued. */
struct call_batch *fetch_account_next_batch(struct fetch_account *account, int64_t now);

/* Puts a batch back into the account. The batch is sent at `not_before` or later. */
void fetch_account_retry(struct fetch_account *account, struct call_batch *batch, int64_t not_before);

/* Puts the posts of a batch back at the front of their queue, so that they are divided into calls again.
 * Frees the batch. */
void fetch_account_requeue(struct fetch_account *account, struct call_batch *batch);

/* Creates an empty batch. */
struct call_batch *call_batch_new(enum call_kind kind);
/* Frees a batch, which must contain no posts. */
void call_batch_free(struct call_batch *batch);
/* Appends a post to the batch. */
void call_batch_add(struct call_batch *batch, struct pending_post *post);
/* Moves all posts but the first `keep` to a new batch with the same properties. Returns the new batch. */
struct call_batch *call_batch_split(struct call_batch *batch, size_t keep);

#endif
