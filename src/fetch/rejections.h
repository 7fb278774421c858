/* Collects the accounts that a platform rejects. If the platform rejects most accounts in one run, the app
 * registration is the cause, not the accounts. In that case, no account is marked as "reconnect required". */
#ifndef VT_FETCH_REJECTIONS_H
#define VT_FETCH_REJECTIONS_H

#include "base/hash_table.h"
#include "fetch/author_posts.h"

struct rejected_account {
    enum platform_api api;
    struct account_update update;
};

struct rejections {
    struct pending_writes *writes;
    struct hash_table used; /* by row: the accounts through which a call was sent in this run, or whose tokens
                               were refreshed or rejected, so that each is counted once, even if both a call
                               and the upkeep of tokens used it */
    VEC(struct rejected_account) accounts; /* rejected accounts that are not marked yet */
    struct {
        int64_t used, rejected; /* numbers of accounts in this run; `used` includes the rejected ones */
        bool app_suspected;
    } apis[PLATFORM_APIS];
};

/* Initializes an empty collection. Rejected accounts are marked through `writes`, which must outlive `r`. */
void rejections_init(struct rejections *r, struct pending_writes *writes);
void rejections_fini(struct rejections *r);

/* Records that a call through the account ended, with or without a response, or that the tokens of the
 * account were refreshed. Does nothing for the API key, whose row is 0. */
void rejections_record_use(struct rejections *r, enum platform_api api, int64_t row);

/* Records that the platform rejected the account or its refresh token. `version` is the version of the
 * rejected tokens. */
void rejections_add(struct rejections *r, const struct throttle *t, int64_t row, int64_t version,
                    const char *code);

/* Like rejections_add(), for an account that the run is using. Stops using the account in this run. */
void rejections_add_account(struct rejections *r, struct fetch_account *account, const char *code);

/* Marks the rejected accounts as "reconnect required", unless the app is suspected. Call at the end of the
 * run. */
void rejections_decide(struct rejections *r);

/* Logs that the platform rejects our app, and stops calling the API in this run. */
void api_queue_reject_app(struct api_queue *q, const char *code);

#endif
