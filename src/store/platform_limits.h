/* State of a platform API that outlives a refresh run: used quota, circuit, pauses, granted request forms,
 * and what the last run found. Identified by API and name. Follows write.h. */
#ifndef VT_STORE_PLATFORM_LIMITS_H
#define VT_STORE_PLATFORM_LIMITS_H

#include "base/error.h"
#include "base/str.h"
#include "store/store.h"

/* Names. src/fetch writes these values; `until` is the time at which a value expires. */
#define LIMIT_UNITS          STR("units")    /* quota units used today */
#define LIMIT_FALLBACK_UNITS STR("units.1")  /* the same of the fallback request form's own quota */
#define LIMIT_BREAKER        STR("breaker")  /* the circuit is open */
#define LIMIT_PAUSE          STR("pause")    /* the platform told us to wait */
#define LIMIT_TIER           STR("tier")     /* the request form that works */
#define LIMIT_COMBINED       STR("combined") /* enum combined: one request for both kinds of metrics */
#define LIMIT_BACKLOG        STR("backlog")  /* 1: a run did not reach all posts */
#define LIMIT_LAST_SUCCESS   STR("answered") /* time of the last successful response, ms */
/* Prefix of the name of an unknown error code: it has been logged and is not logged again until then. */
#define LIMIT_UNKNOWN_CODE STR("unknown.")

struct platform_limit {
    int api;
    struct str name;
    int64_t value;
    int64_t until; /* TIME_NONE: does not expire */
};

/* `out->name` is `name`. */
MUST_USE enum err store_get_limit(struct store *s, int api, struct str name, struct platform_limit *out);
MUST_USE enum err store_put_limit(struct store *s, const struct platform_limit *limit);
MUST_USE enum err store_delete_limit(struct store *s, int api, struct str name);

/* Those of one API, by name. The name is valid until the callback returns. */
typedef bool (*store_limit_fn)(void *ctx, const struct platform_limit *limit);
MUST_USE enum err store_list_limits(struct store *s, int api, store_limit_fn fn, void *ctx);

#endif
