/* The health of the platforms as of the last refresh, read from the database: for commands, metrics and
 * pages. */
#ifndef VT_VAULT_PLATFORM_HEALTH_H
#define VT_VAULT_PLATFORM_HEALTH_H

#include "config/config.h"
#include "platforms/platform.h"
#include "store/platform_credentials.h"

struct platform_health {
    enum platform_api api;
    bool configured; /* the operator has registered an app, or set an API key */
    /* Number of accounts in each state, indexed by enum credential_state. */
    int64_t accounts[CREDENTIAL_STATES];
    int64_t units_per_day, units_left; /* units_per_day 0: no daily quota */
    int64_t fallback_units_left; /* units left of the fallback request form's quota; -1: it has no quota of
                                    its own */
    int64_t units_until;         /* when the quota resets; TIME_NONE: no units were used */
    int64_t circuit_open_until;  /* TIME_NONE: the circuit is closed */
    int64_t paused_until;        /* end of the pause that the platform requested; TIME_NONE: no pause */
    enum combined combined;      /* whether two kinds of metrics may be requested together (see
                                    platform_desc.combines); COMBINED_UNKNOWN: no recent check */
    int64_t combined_until;      /* when `combined` expires; TIME_NONE if it is COMBINED_UNKNOWN */
    bool has_backlog;            /* the recent refresh runs could not read every post */
    int64_t last_success_at;     /* last successful response; TIME_NONE: none yet */
};

/* Reads the health of one platform API. */
MUST_USE enum err platform_health_read(struct store *s, const struct config *config, enum platform_api api,
                                       int64_t now_ms, struct platform_health *out);

#endif
