/* What Meta's three APIs (Instagram with either login, Facebook) have in common: addresses with a version,
 * the token in a header, batches, the table of errors, the rate headers, lists of insights. It knows no
 * count.
 *
 * An answer is a row of operations: of a batch, or one that is the call itself. A connector opens the answer,
 * takes the operations one by one and gets for each either its body or what is to become of the item; what
 * concerns the call as a whole is gathered on the way, and graph_response_outcome() says how the call ended.
 *
 * Sources: developers.facebook.com, "Handling Errors", "Batch Requests", "Rate Limits" (read November 2026);
 * single marks [P]roject and [K]not looked up stand where they are used.
 */
#ifndef VT_PLATFORMS_GRAPH_H
#define VT_PLATFORMS_GRAPH_H

#include "platforms/jsonr.h"
#include "platforms/platform.h"

enum {
    GRAPH_BATCH_MAX = 50,       /* operations */
    GRAPH_BODY_MAX = 256 << 10, /* bytes, of one operation */
};

/* ---- requests ---- */

/* GET /{version}/{path} with the call's token. */
void graph_get(struct arena *a, const struct platform_call *call, struct str path, struct http_request *out);

/* POST /{version}/ with `count` operations, GETs of `paths`; with call->with_account one more before them,
 * which asks for the account. At most GRAPH_BATCH_MAX in all. */
void graph_batch(struct arena *a, const struct platform_call *call, const struct str *paths, size_t count,
                 struct http_request *out);

/* Of lists of names, comma separated. */
bool graph_has_name(struct str names, struct str name);

/* `names` (comma separated) without those that are in `dropped` too. */
struct str graph_without(struct arena *a, struct str names, struct str dropped);

/* ---- answers ---- */

enum graph_kind {
    GRAPH_OK,     /* the body is JSON and no error */
    GRAPH_ITEM,   /* an error of this item: `state` */
    GRAPH_METRIC, /* a name in the request is not known, or not for this object */
    GRAPH_DENIED, /* no permission for this operation; the grant is lost only if every operation says so */
    GRAPH_GONE_OR_DENIED, /* the object is deleted, or the grant does not cover it: Meta uses the same words.
                           * Only of a batch, where another operation or the account itself decides */
    GRAPH_CALL,           /* of the whole call, and noted there */
};

struct graph_result {
    enum graph_kind kind;
    struct yyjson_val *body; /* of GRAPH_OK, else NULL */
    enum item_state state;   /* of GRAPH_ITEM, else PENDING */
    struct str message;      /* of GRAPH_METRIC; in the arena */
};

struct graph_response {
    struct arena *arena;
    const struct platform_call *call; /* NULL: of a refresh or a linking */
    const struct http_response *response;
    bool refreshes; /* this API's tokens can be refreshed */
    bool batch;
    struct yyjson_val *root;
    struct jsonr_iter parts; /* of a batch */
    struct outcome outcome;  /* the gravest so far */
    struct outcome
        bug; /* an error that is the request's fault, or unknown; counts when nothing was understood */
    struct str unknown_code; /* of an error without a row; p == NULL: none */
    bool understood;
    size_t answered, denied, gone_or_denied; /* operations, among them that for the account */
    struct str denied_code;
    struct str last_usage; /* the usage header that was read last: entries mostly repeat it */
    struct graph_usage {
        int app_percent, account_percent;
        int64_t regain_minutes; /* until Meta serves the account again; 0: it does */
    } usage;
};

/* False: there are no operations to take, graph_response_outcome() says why. `count` of a batch, without the
 * one for the account, which is taken here; 0: no batch. */
bool graph_response_open(struct graph_response *g, struct arena *a, const struct platform_call *call,
                         const struct http_response *response, bool refreshes, size_t count);

/* The next operation. */
struct graph_result graph_response_next(struct graph_response *g);

/* The body is not of the documented shape. */
void graph_set_malformed(struct graph_response *g, const char *code);

/* A GRAPH_METRIC, or a form that does not fit: the call is to be made in another form. `dropped` is the name
 * that is dead; p == NULL: the next tier. False: there is no further form, the item has no numbers. */
bool graph_request_other_form(struct graph_response *g, struct str dropped, bool these_posts_only, int tiers);

/* Whether `s` holds `part`, in whatever case: for the few messages that are told apart by their words alone.
 */
bool graph_contains(struct str s, struct str part);

struct outcome graph_response_outcome(struct graph_response *g);

/* Forgets that operations were refused: for a question whose refusal must not cost the author the account. */
void graph_ignore_denials(struct graph_response *g);

/* The metric of `asked` that Meta's message says is dead; p == NULL: it does not tell. */
struct str graph_find_rejected_metric(struct str message, struct str asked);

/* ---- insights ---- */

/* False: no list, or a list of something else than insights of `id`. Empty is fine. */
bool graph_is_insights(struct yyjson_val *body, struct str id);

/* The value of one metric over the object's life, NULL: not in the list. */
struct yyjson_val *graph_insight(struct yyjson_val *body, const char *name);

/* All counts of an object such as {"like":41,"love":12}, or a plain count; COUNT_NONE: there is none. */
int64_t graph_sum(struct yyjson_val *v);

/* ---- tokens ---- */

/* The answer of a token endpoint of graph.facebook.com or graph.instagram.com into `got`. An error says
 * RECONNECT when the token is dead, OPERATOR when it is our app that is refused; nothing else is held against
 * the account. */
struct outcome graph_parse_grant(struct arena *a, const struct http_response *response,
                                 struct token_grant *got);

/* An answer that is no grant: Meta's error, or api.instagram.com's own form of one. */
struct outcome graph_parse_grant_error(struct arena *a, const struct http_response *response,
                                       struct yyjson_val *root);

#endif
