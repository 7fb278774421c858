/* Updates of posts and accounts that a run has collected and not yet written to the database. */
#ifndef VT_FETCH_PENDING_WRITES_H
#define VT_FETCH_PENDING_WRITES_H

#include "base/arena.h"
#include "base/vec.h"
#include "fetch/throttle.h"
#include "refresh/run.h"
#include "store/platform_posts.h"

enum account_update_kind {
    ACCOUNT_SUCCEEDED, /* a call succeeded */
    ACCOUNT_FAILED,    /* a call failed; the account stays connected */
    ACCOUNT_RECONNECT, /* the author must reconnect the account */
    ACCOUNT_TIER,      /* the account needs the request form `tier` */
};

struct account_update {
    enum account_update_kind kind;
    int64_t row, version; /* `version` of the tokens: ACCOUNT_FAILED and ACCOUNT_RECONNECT are ignored if the
                             tokens have changed since */
    int64_t at; /* wall clock: when the event happened; for ACCOUNT_TIER, when the information expires */
    int tier;
    char text[2 * ERROR_CODE_MAX]; /* the error; for ACCOUNT_TIER, the metrics to omit */
};

struct pending_writes {
    VEC(struct platform_post) posts;
    VEC(struct account_update) accounts;
    struct arena texts; /* texts of `posts` */
};

void pending_writes_init(struct pending_writes *w);
void pending_writes_fini(struct pending_writes *w);

/* Add an update of a post or an account. Copy its texts. */
void pending_writes_add_post(struct pending_writes *w, const struct platform_post *post);
void pending_writes_add_account(struct pending_writes *w, const struct account_update *update);

/* Writes all updates, and the throttles whose state has changed, in transactions of limited size. */
MUST_USE enum err pending_writes_flush(struct pending_writes *w, struct run *run,
                                       struct throttle throttles[PLATFORM_APIS]);

#endif
