/* Accounts that a platform rejects. If it rejects most accounts in one run, the app registration is the cause
 * and not the accounts: then no account is marked as "reconnect required". */
#ifndef VT_FETCH_REJECTIONS_H
#define VT_FETCH_REJECTIONS_H

#include "fetch/author_posts.h"

struct rejected_account {
    enum platform_api api;
    struct account_update update;
};

struct rejections {
    struct pending_writes *writes;
    VEC(struct rejected_account) accounts; /* undecided */
    struct {
        int64_t used, rejected; /* accounts in this run */
        bool app_suspected;
    } apis[PLATFORM_APIS];
};

void rejections_fini(struct rejections *r);

/* A call through the account had a response. Counts the account once. */
void rejections_record_response(struct rejections *r, struct fetch_account *account);

/* The platform rejected the account or its refresh token. `version`: of the rejected tokens. */
void rejections_add(struct rejections *r, const struct throttle *t, int64_t row, int64_t version,
                    const char *code);

/* The same for an account in use: abandons it. */
void rejections_add_account(struct rejections *r, struct fetch_account *account, const char *code);

/* Marks the undecided accounts, unless the app is suspected. Call at the end of the run. */
void rejections_decide(struct rejections *r);

/* The platform rejects our app: logs it and closes the API for this run. */
void api_queue_reject_app(struct api_queue *q, const char *code);

#endif
