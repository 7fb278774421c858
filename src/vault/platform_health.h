/* How the platforms are doing, from what stands in the database: for commands, metrics and pages. Only reads.
 */
#ifndef VT_VAULT_ACCOUNT_STATES_H
#define VT_VAULT_ACCOUNT_STATES_H

#include "config/config.h"
#include "platforms/platform.h"
#include "store/platform_credentials.h"

struct platform_health {
    enum platform_api api;
    bool configured;                     /* the operator has an app there (or, for YouTube, a key) */
    int64_t accounts[CREDENTIAL_STATES]; /* by enum credential_state */
    int64_t units_per_day, units_left;   /* 0 per day: not counted */
    int64_t fallback_units_left;         /* of the second form's own quota; -1: it has none */
    int64_t units_until;                 /* when the day of the quota ends; TIME_NONE: none was used */
    int64_t circuit_open_until;          /* the breaker: it failed too often; TIME_NONE: it is asked */
    int64_t paused_until;                /* it told us to wait; TIME_NONE: no */
    enum combined combined; /* of the app, see platform_desc.combines; UNKNOWN: not checked lately */
    int64_t combined_until; /* TIME_NONE: unknown */
    bool behind;            /* not all posts could be asked each hour lately */
    int64_t answered_at;    /* the last good answer; TIME_NONE: none yet */
};

MUST_USE enum err platform_health_read(struct store *s, const struct config *config, enum platform_api api,
                                       int64_t now_ms, struct platform_health *out);

#endif
