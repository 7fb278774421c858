/* Code that the connectors of Meta's three APIs (Instagram with either login, Facebook) share: versioned
 * paths, batches, the table of errors, rate headers and lists of insights.
 *
 * A response contains the results of the operations of a batch, or of a single operation. A connector opens
 * the response with graph_response_open() and reads the result of each operation with graph_response_next().
 * Both functions also record errors that affect the whole call; graph_response_outcome() returns the outcome
 * of the call.
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
    /* A post that is younger may have no insights yet [V, up to 48 hours]. */
    GRAPH_INSIGHTS_LATE_DAYS = 3,
};

/* ---- requests ---- */

/* Builds GET /{version}/{path} with the token of the call. */
void graph_build_get(struct arena *a, const struct platform_call *call, struct str path,
                     struct http_request *out);

/* Builds POST /{version}/, a batch with one GET per path. With call->with_account, a GET of the account is
 * the first operation. The batch must not exceed GRAPH_BATCH_MAX operations. */
void graph_build_batch(struct arena *a, const struct platform_call *call, const struct str *paths,
                       size_t count, struct http_request *out);

/* Returns true if the comma-separated list `names` contains `name`. */
bool graph_has_name(struct str names, struct str name);

/* Returns the list `names` without the names in `dropped`. */
struct str graph_remove_names(struct arena *a, struct str names, struct str dropped);

/* ---- responses ---- */

/* Numbers of posts of a call, which show whether the account has the permission for insights. */
struct graph_insights {
    size_t proven;  /* a result that needs the permission */
    size_t lacking; /* denied or empty, although the post should have insights by its age */
    size_t denied;  /* denied; the post may be younger */
    size_t silent;  /* empty, and the post is younger */
};

/* Returns true if the post should have insights by its age. */
bool graph_expects_insights(const struct platform_call *call, const struct platform_item *item);

/* Returns true if the permission is missing. If young posts have no insights yet, the denial of another young
 * post is not enough, because it may concern only this post. */
bool graph_lacks_insights(const struct graph_insights *t);

enum graph_kind {
    GRAPH_OK,     /* the body is JSON without an error */
    GRAPH_ITEM,   /* an error of this item; see `state` */
    GRAPH_METRIC, /* a requested metric or field is unknown or not available for this object */
    GRAPH_DENIED, /* no permission for this operation; the account's grant is considered lost only if all
                     operations are denied */
    GRAPH_GONE_OR_DENIED, /* The object was deleted or a permission is missing: Meta sends the same message
                             for both. Occurs only in batches. The result of another operation or of the
                             account shows which of the two it is. */
    GRAPH_CALL,           /* an error of the call as a whole, which is already recorded */
};

struct graph_result {
    enum graph_kind kind;
    struct yyjson_val *body; /* set if GRAPH_OK, otherwise NULL */
    enum item_state state;   /* state of the item if GRAPH_ITEM, otherwise ITEM_PENDING */
    struct str message;      /* set if GRAPH_METRIC; in the arena */
};

struct graph_response {
    struct arena *arena;
    const struct platform_call *call; /* the call that was made; NULL for a token refresh or linking */
    const struct http_response *response;
    bool refreshes; /* whether this API's tokens can be refreshed */
    bool batch;
    struct yyjson_val *root;
    struct jsonr_iter parts;      /* remaining operations of a batch */
    struct outcome outcome;       /* the most serious outcome so far */
    struct outcome request_error; /* an unknown error or an error in our request; becomes the outcome if no
                                     operation was understood */
    struct str retry_code;   /* code of the first operation of a batch that failed temporarily; p == NULL:
                                none */
    struct str unknown_code; /* an error code that is not in the table; p == NULL: none */
    bool understood;         /* at least one operation had a result that was understood */
    /* Numbers of operations, including the one for the account. `succeeded` includes those whose error proves
     * the permission. */
    size_t succeeded, denied, gone_or_denied;
    struct str denied_code;
    struct str last_usage; /* the most recent usage header; operations of a batch usually repeat it */
    struct graph_usage {
        int app_percent, account_percent;
        int64_t regain_minutes; /* minutes until Meta serves the account again; 0: not blocked */
    } usage;
};

/* Opens a response. `count` is the number of operations in the batch, or 0 if the request was not a batch.
 * `count` does not include the operation for the account, whose result this function reads. Returns false if
 * there are no results; in that case, call graph_response_outcome(). */
bool graph_response_open(struct graph_response *g, struct arena *a, const struct platform_call *call,
                         const struct http_response *response, bool refreshes, size_t count);

/* Returns the result of the next operation. */
struct graph_result graph_response_next(struct graph_response *g);

/* Records that a body does not have the documented shape. `code` becomes the code of the outcome. */
void graph_set_malformed(struct graph_response *g, const char *code);

/* Records that the request must be repeated in another form. `dropped` is the rejected metric; if its `p` is
 * NULL, the next tier is used. `tiers` is the number of tiers. Returns false if no form remains, which means
 * that the item has no counts. */
bool graph_retry_in_other_form(struct graph_response *g, struct str dropped, bool these_posts_only,
                               int tiers);

/* Returns true if `s` contains `part`, ignoring case. Some errors are identified only by their message. */
bool graph_contains_nocase(struct str s, struct str part);

/* Returns the outcome of the call, after all results have been read. */
struct outcome graph_response_outcome(struct graph_response *g);

/* Makes graph_response_outcome() ignore denied operations. Call it if a denial must not make the account
 * "reconnect required". */
void graph_ignore_denials(struct graph_response *g);

/* Returns the metric among `requested` that the error message names as invalid. `p` of the result is NULL if
 * the message names none of them, or several. */
struct str graph_find_rejected_metric(struct str message, struct str requested);

/* ---- insights ---- */

/* Returns true if the body is a list of insights of the object `id`. The list may be empty. */
bool graph_is_insights(struct yyjson_val *body, struct str id);

/* Returns the lifetime value of a metric. If the list does not contain it, returns the total of an entry with
 * daily values. Returns NULL if the list contains neither. */
struct yyjson_val *graph_find_insight(struct yyjson_val *body, const char *name);

/* Returns the sum of the counts of an object such as {"like":41,"love":12}, or the value of a plain count.
 * Returns COUNT_NONE if `v` is neither. */
int64_t graph_sum_counts(struct yyjson_val *v);

/* ---- tokens ---- */

/* Parses the response of a token endpoint of graph.facebook.com or graph.instagram.com. Returns
 * OUTCOME_RECONNECT if the token is invalid, and OUTCOME_APP_REJECTED if our app was rejected. Other errors
 * do not affect the account. */
struct outcome graph_parse_grant(struct arena *a, const struct http_response *response,
                                 struct token_grant *got);

/* Returns the outcome of an error response, which has Meta's format or that of api.instagram.com. */
struct outcome graph_parse_grant_error(struct arena *a, const struct http_response *response,
                                       struct yyjson_val *root);

#endif
