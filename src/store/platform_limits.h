/* The state of a platform API that is stored between refresh runs: used quota, open circuit, pauses, granted
 * request forms, and results of the last run. Each value is identified by API and name. The rules of write.h
 * apply. */
#ifndef VT_STORE_PLATFORM_LIMITS_H
#define VT_STORE_PLATFORM_LIMITS_H

#include "base/error.h"
#include "base/str.h"
#include "store/store.h"

/* The names of the values. src/fetch writes the values; `until` is the time at which a value expires. */
#define LIMIT_UNITS STR("units") /* quota units used today */
#define LIMIT_FALLBACK_UNITS                                                                                 \
    STR("units.1")                        /* units used today by the fallback form, if it has its own quota */
#define LIMIT_CIRCUIT      STR("breaker") /* the circuit is open */
#define LIMIT_PAUSE        STR("pause")   /* the platform has requested a pause */
#define LIMIT_TIER         STR("tier")    /* the request form that works */
#define LIMIT_COMBINED     STR("combined")     /* enum combined; see platform_desc.combines */
#define LIMIT_BACKLOG      STR("backlog")      /* 1: a run did not reach all posts */
#define LIMIT_LAST_SUCCESS STR("last_success") /* time of the last successful response, ms */
/* Prefix of the name of an unknown error code. The code has been logged and is not logged again before
 * `until`. */
#define LIMIT_UNKNOWN_CODE STR("unknown.")

struct platform_limit {
    int api;
    struct str name;
    int64_t value;
    int64_t until; /* TIME_NONE: does not expire */
};

/* Reads the value `name` of an API. out->name points to `name`. */
MUST_USE enum err store_get_platform_limit(struct store *s, int api, struct str name,
                                           struct platform_limit *out);
/* Inserts or replaces the value limit->value of limit->api and limit->name. */
MUST_USE enum err store_put_platform_limit(struct store *s, const struct platform_limit *limit);
/* Deletes the value `name` of an API, if it exists. */
MUST_USE enum err store_delete_platform_limit(struct store *s, int api, struct str name);

typedef bool (*store_limit_fn)(void *ctx, const struct platform_limit *limit);
/* Lists the values of one API, ordered by name. The name is valid until the callback returns. */
MUST_USE enum err store_list_platform_limits(struct store *s, int api, store_limit_fn fn, void *ctx);

#endif
