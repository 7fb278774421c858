/* Limits of the apps at the platforms that outlive a run: units used of a day, how long a breaker stays open,
 * what was granted; and what the last run did, for who looks from outside. By API and a name that the writer
 * chooses. Contracts as in write.h. */
#ifndef VT_STORE_PLATFORM_LIMITS_H
#define VT_STORE_PLATFORM_LIMITS_H

#include "base/error.h"
#include "base/str.h"
#include "store/store.h"

/* What the refresh writes (src/fetch), and who looks from outside reads. `until` tells when it is over. */
#define LIMIT_UNITS          STR("units")   /* calls of the day so far */
#define LIMIT_FALLBACK_UNITS STR("units.1") /* those of the second form, if it has a quota of its own */
#define LIMIT_BREAKER        STR("breaker") /* it failed too often: left alone until then */
#define LIMIT_PAUSE          STR("pause")   /* it told us to wait until then */
#define LIMIT_TIER           STR("tier")    /* the form of request that works */
#define LIMIT_COMBINED                                                                                       \
    STR("combined") /* enum combined: whether metrics of both kinds may go in one request */
/* The prefix of an error code that is in no table: logged, and not again until then. */
#define LIMIT_UNKNOWN_CODE STR("unknown.")
#define LIMIT_BACKLOG                                                                                        \
    STR("backlog") /* 1: a run did not get through all posts, so older posts are read less often */
#define LIMIT_ANSWERED STR("answered") /* ms: when it last gave a good answer */

struct platform_limit {
    int api;
    struct str name;
    int64_t value;
    int64_t until; /* TIME_NONE: for ever */
};

/* `out->name` is the caller's. ERR_NOT_FOUND. */
MUST_USE enum err store_get_limit(struct store *s, int api, struct str name, struct platform_limit *out);
MUST_USE enum err store_put_limit(struct store *s, const struct platform_limit *limit);
MUST_USE enum err store_delete_limit(struct store *s, int api, struct str name);

/* Of one API, by name. The name lives until the callback returns. */
typedef bool (*store_limit_fn)(void *ctx, const struct platform_limit *limit);
MUST_USE enum err store_list_limits(struct store *s, int api, store_limit_fn fn, void *ctx);

#endif
