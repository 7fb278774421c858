/* What Meta's three APIs (Instagram with either login, Facebook) share: versioned paths, batches, the table
 * of errors, rate headers and lists of insights.
 *
 * A response consists of operations: those of a batch, or a single one. A connector opens the response and
 * takes the results of the operations one by one; errors of the whole call are collected, and
 * graph_response_outcome() returns the outcome.
 *
 * Sources: developers.facebook.com, "Handling Errors", "Batch Requests", "Rate Limits" (read November
 * 2026). */
#ifndef VT_PLATFORMS_GRAPH_H
#define VT_PLATFORMS_GRAPH_H

#include "platforms/jsonr.h"
#include "platforms/platform.h"

enum {
    GRAPH_BATCH_MAX = 50,       /* operations per batch */
    GRAPH_BODY_MAX = 256 << 10, /* bytes of the body of one operation */
};

/* ---- requests ---- */

/* GET /{version}/{path} with the token of the call. */
void graph_get(struct arena *a, const struct platform_call *call, struct str path, struct http_request *out);

/* POST /{version}/ with one GET per path. With call->with_account, a GET of the account precedes them. At
 * most GRAPH_BATCH_MAX operations in all. */
void graph_batch(struct arena *a, const struct platform_call *call, const struct str *paths, size_t count,
                 struct http_request *out);

/* Whether the comma-separated list `names` contains `name`. */
bool graph_has_name(struct str names, struct str name);

/* The list `names` without the names in `dropped`. */
struct str graph_without(struct arena *a, struct str names, struct str dropped);

/* ---- responses ---- */

enum graph_kind {
    GRAPH_OK,     /* the body is JSON without an error */
    GRAPH_ITEM,   /* an error of this item: see `state` */
    GRAPH_METRIC, /* a requested metric or field is unknown or not available for this object */
    GRAPH_DENIED, /* no permission for this operation; the grant is lost only if all operations are denied */
    GRAPH_GONE_OR_DENIED, /* the object is deleted or the permission is missing: Meta uses the same message.
                             Only in batches, where another operation or the account decides */
    GRAPH_CALL,           /* an error of the call as a whole, already recorded */
};

struct graph_result {
    enum graph_kind kind;
    struct yyjson_val *body; /* GRAPH_OK only, else NULL */
    enum item_state state;   /* GRAPH_ITEM only, else PENDING */
    struct str message;      /* GRAPH_METRIC only; in the arena */
};

struct graph_response {
    struct arena *arena;
    const struct platform_call *call; /* NULL: a token refresh or linking */
    const struct http_response *response;
    bool refreshes; /* whether this API's tokens can be refreshed */
    bool batch;
    struct yyjson_val *root;
    struct jsonr_iter parts; /* remaining operations of a batch */
    struct outcome outcome;  /* the most serious so far */
    struct outcome bug;      /* an error in our request, or unknown; used if no operation was understood */
    struct str unknown_code; /* an error code that is not in the table; p == NULL: none */
    bool understood;
    size_t succeeded, denied, gone_or_denied; /* operations, including that for the account */
    struct str denied_code;
    struct str last_usage; /* the last usage header; operations of a batch usually repeat it */
    struct graph_usage {
        int app_percent, account_percent;
        int64_t regain_minutes; /* until Meta serves the account again; 0: not blocked */
    } usage;
};

/* Opens a response to `count` operations, without the one for the account, which is read here; 0: not a
 * batch. False: there are no results; call graph_response_outcome(). */
bool graph_response_open(struct graph_response *g, struct arena *a, const struct platform_call *call,
                         const struct http_response *response, bool refreshes, size_t count);

/* The result of the next operation. */
struct graph_result graph_response_next(struct graph_response *g);

/* Records that a body does not have the documented shape. */
void graph_set_malformed(struct graph_response *g, const char *code);

/* Records that another form of the request is needed: `dropped` is the rejected metric; p == NULL: use the
 * next tier. False: no form remains, so the item has no counts. */
bool graph_request_other_form(struct graph_response *g, struct str dropped, bool these_posts_only, int tiers);

/* Whether `s` contains `part`, ignoring case: some errors are identified only by their message. */
bool graph_contains(struct str s, struct str part);

struct outcome graph_response_outcome(struct graph_response *g);

/* Ignores denied operations, if a denial must not cost the author the account. */
void graph_ignore_denials(struct graph_response *g);

/* The metric among `requested` that the error message names as invalid; p == NULL: none. */
struct str graph_find_rejected_metric(struct str message, struct str requested);

/* ---- insights ---- */

/* Whether the body is a list of insights of object `id`. It may be empty. */
bool graph_is_insights(struct yyjson_val *body, struct str id);

/* The lifetime value of a metric; NULL: not in the list. */
struct yyjson_val *graph_insight(struct yyjson_val *body, const char *name);

/* The sum of the counts of an object such as {"like":41,"love":12}, or a plain count; COUNT_NONE: none. */
int64_t graph_sum(struct yyjson_val *v);

/* ---- tokens ---- */

/* Parses the response of a token endpoint of graph.facebook.com or graph.instagram.com. An error is
 * RECONNECT if the token is invalid, APP_REJECTED if our app was rejected; other errors do not affect the
 * account. */
struct outcome graph_parse_grant(struct arena *a, const struct http_response *response,
                                 struct token_grant *got);

/* The outcome of an error response: in Meta's form, or in that of api.instagram.com. */
struct outcome graph_parse_grant_error(struct arena *a, const struct http_response *response,
                                       struct yyjson_val *root);

#endif
