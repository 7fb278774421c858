/* Decides whether a call of an API may begin: rate, concurrency, daily quota, circuit breaker, pauses. Also
 * holds what we found out about the app's rights at the API, such as the request forms that it may use.
 *
 * A request form is the `tier` of platforms/platform.h. Times are monotonic ms unless stated otherwise. */
#ifndef VT_FETCH_THROTTLE_H
#define VT_FETCH_THROTTLE_H

#include "fetch/breaker.h"
#include "fetch/pace.h"
#include "fetch/quota.h"
#include "fetch/unknown_codes.h"
#include "vault/token_vault.h"

enum { THROTTLE_QUOTAS = 2, CALL_IDS_MAX = 200 };

struct throttle {
    enum platform_api api;
    const struct platform_desc *desc;
    struct platform_options options;
    bool configured;    /* the service has an app or an API key there */
    bool closed;        /* no more calls in this run */
    bool unsaved;       /* the state that outlives the run has changed */
    bool backlog;       /* an earlier run did not get through all posts */
    int lowest_tier;    /* lower request forms are not granted to the app, or rejected */
    int64_t tier_until; /* wall clock: how long lowest_tier is remembered */
    int account_per_minute;
    struct pace pace;
    struct breaker breaker;
    struct quota quotas[THROTTLE_QUOTAS]; /* by request form if desc->quota_by_tier, else one for all */
    int64_t share;                        /* calls that this run may make within the quota in use */
    int64_t begun;                        /* calls counted against `share` */
    int64_t responded_at;                 /* wall clock: last valid response in this run; 0: none */

    /* Whether period and lifetime metrics may be combined (desc->combines). While unknown, only one call is
     * in flight. */
    enum combined combined;
    int64_t combined_until; /* wall clock: how long it is remembered; TIME_NONE: not */
    int combined_checks;    /* inconclusive calls */

    struct unknown_codes unknown_codes;
};

/* `config` is not used afterwards, except for the strings that options points to. */
void throttle_init(struct throttle *t, const struct config *config, enum platform_api api);

/* When the next call may begin; PACE_NEVER: not before another call has ended. */
int64_t throttle_ready_at(const struct throttle *t, int64_t now);

/* Most posts that one call of this kind and form may request. */
int throttle_ids_per_call(const struct throttle *t, enum call_kind kind, int tier);

/* The form to use instead of `tier` if that one is not granted, or its quota is spent and another form has
 * some left; else `tier`. */
int throttle_select_tier(const struct throttle *t, int tier);

/* A call begins; `tier` is from throttle_select_tier(). Each call ends with throttle_end() or
 * throttle_cancel(). */
void throttle_begin(struct throttle *t, int tier, int64_t now);
/* `good`: the platform sent a valid response, even if it refused the call. */
void throttle_end(struct throttle *t, bool good);
/* The call was not sent, or we canceled it. */
void throttle_cancel(struct throttle *t);

/* No call begins for that long; if longer than the run, none in this run. */
void throttle_pause(struct throttle *t, int64_t wait_ms);

/* The platform reports that the daily quota of the form is spent. Returns false if no other form has quota
 * left. */
MUST_USE bool throttle_spend_quota(struct throttle *t, int tier);

/* Forms below `tier` are not used any more: in this run, or for a day if `remember`. */
void throttle_raise_tier(struct throttle *t, int tier, bool remember);

/* Remembers for a day whether metrics may be combined. COMBINED_UNKNOWN: the call was inconclusive; after
 * three of these, metrics are not combined for the rest of the run. */
void throttle_set_combined(struct throttle *t, enum combined result);

/* The error code is in no table. Returns true if it must be logged. */
MUST_USE bool throttle_record_unknown_code(struct throttle *t, struct str code);

/* How many calls of the API this run can make, as far as known in advance. */
int64_t throttle_capacity(const struct throttle *t, int64_t deadline_s);

/* ---- state that outlives the run (throttle_store.c) ---- */

MUST_USE enum err throttle_load(struct throttle *t, struct store *store, const struct config *config);
/* Call in an open transaction. */
MUST_USE enum err throttle_save(struct throttle *t, struct store *store);

/* How many of `quotas` are in use; the quota of a form. */
int throttle_quota_count(const struct throttle *t);
const struct quota *throttle_quota_in_use(const struct throttle *t);

#endif
