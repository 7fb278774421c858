/* Decides whether a call of an API may begin, according to rate, concurrency, daily quota, circuit breaker
 * and pauses. Also records what the API permits the app, such as the request forms that it may use.
 *
 * A request form is the `tier` of platforms/platform.h. Times are monotonic ms unless stated otherwise. */
#ifndef VT_FETCH_THROTTLE_H
#define VT_FETCH_THROTTLE_H

#include "fetch/breaker.h"
#include "fetch/pace.h"
#include "fetch/quota.h"
#include "fetch/unknown_codes.h"
#include "vault/token_vault.h"

enum { THROTTLE_QUOTAS = 2, CALL_IDS_MAX = 200 }; /* CALL_IDS_MAX: maximum number of posts per call */

struct throttle {
    enum platform_api api;
    const struct platform_desc *desc;
    struct platform_options options;
    bool has_app;       /* the operator has registered an app, so accounts can be read */
    bool configured;    /* the operator has registered an app, or set an API key */
    bool closed;        /* no more calls in this run */
    bool unsaved;       /* the part of the state that outlives the run has changed since it was last saved */
    bool backlog;       /* an earlier run did not read all posts */
    int lowest_tier;    /* request forms below this one are rejected or not granted to the app */
    int stored_tier;    /* the part of lowest_tier that outlives the run; applies until tier_until */
    int64_t tier_until; /* wall clock: when stored_tier expires; TIME_NONE: no tier is stored */
    int account_per_minute;
    struct pace pace;
    struct breaker breaker;
    struct quota quotas[THROTTLE_QUOTAS]; /* one per request form if desc->quota_by_tier, otherwise one for
                                             all forms */
    int64_t share;                        /* number of calls that this run may make within the quota in use */
    int64_t begun;                        /* number of calls counted against `share` */
    int64_t succeeded_at; /* wall clock of the last call with OUTCOME_OK in this run; 0: none */

    /* Whether one request may contain both period and lifetime metrics (desc->combines). While this is
     * unknown, only one call is in flight. */
    enum combined combined;
    int64_t combined_until; /* wall clock: when `combined` expires; TIME_NONE: unknown */
    int combined_checks;    /* number of inconclusive calls */

    struct unknown_codes unknown_codes;
};

/* Initializes the throttle of an API. `config` is not used afterwards, except for the strings to which
 * `options` points. */
void throttle_init(struct throttle *t, const struct config *config, enum platform_api api);

/* Returns the time from which the next call may begin. Returns PACE_NEVER if no call may begin before another
 * call has ended. */
int64_t throttle_ready_at(const struct throttle *t, int64_t now);

/* Returns the maximum number of posts that one call of this kind and form may request. */
int throttle_ids_per_call(const struct throttle *t, enum call_kind kind, int tier);

/* Returns the request form to use. This is the form `wanted`, unless it is not granted, or its quota is spent
 * and another form has quota left. */
int throttle_select_tier(const struct throttle *t, int wanted);

/* Begins a call, which `call` identifies until it ends: counts it against all limits. `tier` must come from
 * throttle_select_tier(). End each call with throttle_end() or throttle_cancel(). */
void throttle_begin(struct throttle *t, const void *call, int tier, int64_t now);
/* Ends a call that was begun with throttle_begin(). For `good` see breaker_end(). */
void throttle_end(struct throttle *t, const void *call, bool good);
/* Records that a call has just ended with OUTCOME_OK. */
void throttle_record_success(struct throttle *t);
/* Like throttle_end(), for a call that was begun but not sent, or that this process has canceled. Such a call
 * does not show whether the platform works. */
void throttle_cancel(struct throttle *t, const void *call);

/* Prevents calls from beginning for the next `wait_ms`. If this is longer than the rest of the run, no more
 * calls begin in this run. */
void throttle_pause(struct throttle *t, int64_t wait_ms);

/* Records that, according to the platform, the daily quota of the form is spent. Returns true if another form
 * has quota left. Returns false if none has, or if the configuration sets no quota, because then the quota
 * that other forms have left is unknown. */
MUST_USE bool throttle_spend_quota(struct throttle *t, int tier);

/* Stops using request forms below `tier`: for a day if `remember`, otherwise for this run. */
void throttle_raise_tier(struct throttle *t, int tier, bool remember);

/* Records for a day whether one request may contain both period and lifetime metrics. COMBINED_UNKNOWN means
 * that the call was inconclusive; after three such calls, no request of this run contains both. */
void throttle_set_metrics_combined(struct throttle *t, enum combined result);

/* Records an error code that no table contains. Returns true if it must be logged. */
MUST_USE bool throttle_record_unknown_code(struct throttle *t, struct str code);

/* Returns how many calls of the API this run can make, as far as the limits are known in advance. */
int64_t throttle_capacity(const struct throttle *t, int64_t deadline_s);

/* ---- state that outlives the run (throttle_store.c) ---- */

/* Restores the state that earlier runs stored. */
MUST_USE enum err throttle_load(struct throttle *t, struct store *store, const struct config *config);
/* Stores the state. Call in an open transaction. Reset `unsaved` only after its commit, because a transaction
 * that is rolled back and runs again must store the state again. */
MUST_USE enum err throttle_save(const struct throttle *t, struct store *store);

/* Returns how many elements of t->quotas the API uses. */
int throttle_quota_count(const struct throttle *t);
/* Returns the quota against which the next call of the API counts. */
const struct quota *throttle_quota_in_use(const struct throttle *t);

#endif
