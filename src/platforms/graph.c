/* Meta's Graph API: requests, batches, errors and rate headers, shared by Instagram and Facebook. */
#include "platforms/graph.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/urlencode.h"
#include "platforms/grant.h"
#include "platforms/response_reader.h"

enum { BATCH_TEXT_MAX = 256 << 10 };

/* ---- requests ---- */

void graph_build_get(struct arena *a, const struct platform_call *call, struct str path,
                     struct http_request *out)
{
    *out = (struct http_request){.origin = call->options->origins[ORIGIN_API], .method = "GET"};
    out->path = arena_printf(a, "/%s/%.*s", call->options->graph_version, (int)path.len, path.p);
    request_add_bearer(a, out, call->access_token);
}

static void add_operation(struct buf *json, const struct platform_call *call, struct str path)
{
    buf_printf(json, "%s{\"method\":\"GET\",\"relative_url\":\"%s/%.*s\"}", json->len ? "," : "[",
               call->options->graph_version, (int)path.len, path.p);
}

/* The version is in the path and in each operation [K]; Meta's sample has it in neither place. The token is a
 * form field as in the sample: Meta does not say whether a header applies to the operations too. The headers
 * of the operations are requested because only they report the usage of the account. */
void graph_build_batch(struct arena *a, const struct platform_call *call, const struct str *paths,
                       size_t count, struct http_request *out)
{
    struct buf json;
    CHECK(count > 0 && count + call->with_account <= GRAPH_BATCH_MAX);
    buf_init(&json, BATCH_TEXT_MAX);
    if (call->with_account)
        add_operation(&json, call,
                      arena_printf(a, "%.*s?fields=id", (int)call->account_id.len, call->account_id.p));
    for (size_t i = 0; i < count; i++)
        add_operation(&json, call, paths[i]);
    buf_append_char(&json, ']');
    CHECK(!json.failed);
    const struct url_field fields[] = {
        {"access_token", call->access_token}, {"include_headers", STR("true")}, {"batch", buf_str(&json)}};
    request_set_form(a, call->options->origins[ORIGIN_API],
                     arena_printf(a, "/%s/", call->options->graph_version), fields, 3, out);
    buf_fini(&json);
}

/* ---- reading errors ---- */

enum { ANY = -1 };

/* A row of the table of Meta's errors: codes from `first` to `last` with this subcode. The first matching row
 * applies. */
struct graph_row {
    int first, last, subcode;
    const char *text; /* text that the message must contain; NULL: any message */
    enum graph_kind kind;
    enum item_state state;
    enum outcome_kind outcome;
    enum outcome_scope scope;
    int64_t wait_ms;
};

#define OF_ITEM(s)        GRAPH_ITEM, (s), OUTCOME_OK, SCOPE_CALL, 0
#define OF_CALL(v, s, ms) GRAPH_CALL, ITEM_PENDING, (v), (s), (ms)
#define OF_REQUEST        GRAPH_METRIC, ITEM_PENDING, OUTCOME_OTHER_FORM, SCOPE_CALL, 0
#define OF_GRANT          GRAPH_DENIED, ITEM_PENDING, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0
#define GONE_OR_GRANT     GRAPH_GONE_OR_DENIED, ITEM_PENDING, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0
#define OUR_BUG           GRAPH_ITEM, ITEM_RETRY, OUTCOME_BAD_REQUEST, SCOPE_CALL, 0
/* Meta limits calls per sliding hour, and calls during the throttling prolong it. Other client libraries also
 * wait an hour [P]. */
#define THROTTLED_MS HOUR_MS

/* Sources, read November 2026, all at developers.facebook.com: [E] Graph API, Handling Errors; [R] Rate
 * Limits; [I] Instagram Platform, Error Codes; [S] Securing Requests; [P] live responses reported by other
 * projects. In this table, these letters replace the marks of platform.h. */
static const struct graph_row rows[] = {
    /* Throttling. */
    {4, 4, ANY, NULL, OF_CALL(OUTCOME_RETRY, SCOPE_APP, THROTTLED_MS)},             /* [E] [R] */
    {341, 341, ANY, NULL, OF_CALL(OUTCOME_RETRY, SCOPE_APP, THROTTLED_MS)},         /* [E] */
    {17, 17, ANY, NULL, OF_CALL(OUTCOME_RETRY, SCOPE_ACCOUNT, THROTTLED_MS)},       /* [E] [R] */
    {32, 32, ANY, NULL, OF_CALL(OUTCOME_RETRY, SCOPE_ACCOUNT, THROTTLED_MS)},       /* [R] */
    {613, 613, ANY, NULL, OF_CALL(OUTCOME_RETRY, SCOPE_ACCOUNT, THROTTLED_MS)},     /* [R] */
    {80000, 80014, ANY, NULL, OF_CALL(OUTCOME_RETRY, SCOPE_ACCOUNT, THROTTLED_MS)}, /* [R] */
    {9, 9, ANY, NULL, OF_CALL(OUTCOME_RETRY, SCOPE_ACCOUNT, THROTTLED_MS)},         /* [I] too many actions */
    {368, 368, ANY, NULL, OF_CALL(OUTCOME_RETRY, SCOPE_ACCOUNT, DAY_MS)}, /* [E] blocked for a policy */
    {25, 25, ANY, NULL, OF_CALL(OUTCOME_RETRY, SCOPE_ACCOUNT, DAY_MS)},   /* [I] the account is restricted */
    /* Our app was rejected. */
    {1, 1, ANY, "client secret", OF_CALL(OUTCOME_APP_REJECTED, SCOPE_APP, 0)}, /* [P] */
    {5, 5, ANY, NULL, OF_CALL(OUTCOME_APP_REJECTED, SCOPE_APP, 0)}, /* [P] source address not allowed */
    {101, 101, ANY, NULL,
     OF_CALL(OUTCOME_APP_REJECTED, SCOPE_APP, 0)}, /* [P] "Error validating application" */
    {104, 104, ANY, NULL, OF_CALL(OUTCOME_APP_REJECTED, SCOPE_APP, 0)}, /* [S] appsecret_proof is required */
    {100, 100, ANY, "appsecret_proof", OF_CALL(OUTCOME_APP_REJECTED, SCOPE_APP, 0)}, /* [S] */
    /* The token. */
    {102, 102, ANY, NULL, OF_CALL(OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0)},                    /* [E] */
    {190, 190, ANY, NULL, OF_CALL(OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0)},                    /* [E] */
    {2500, 2500, ANY, "active access token", OF_CALL(OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0)}, /* [P] */
    /* The response would be too large. */
    {1, 1, ANY, "reduce the amount of data", OF_CALL(OUTCOME_SPLIT, SCOPE_CALL, 0)}, /* [P] */
    {18, 18, ANY, NULL, OF_CALL(OUTCOME_SPLIT, SCOPE_CALL, 0)},                      /* [P] resource limits */
    /* The post. */
    {10, 10, ANY, "not enough viewers", OF_ITEM(ITEM_NO_DATA)},
    {100, 100, 33, NULL, OF_ITEM(ITEM_MISSING)},
    {10, 10, ANY, "object does not exist", GONE_OR_GRANT},   /* [P] October 2026 */
    {100, 100, ANY, "object does not exist", GONE_OR_GRANT}, /* [P] like the row with subcode 33 */
    {24, 24, ANY, NULL, OF_ITEM(ITEM_MISSING)},              /* [I] the media cannot be found */
    {803, 803, ANY, NULL, OF_ITEM(ITEM_MISSING)},            /* [P] an alias that does not exist */
    {100, 100, 2108006, NULL, OF_ITEM(ITEM_PERMANENT)},
    /* The request is rejected; another form of it may work. */
    {100, 100, ANY, "metric", OF_REQUEST},
    {100, 100, ANY, "nonexisting field", OF_REQUEST}, /* [P] */
    {12, 12, ANY, NULL, OF_REQUEST},                  /* [P] deprecated for this version */
    {3001, 3001, ANY, NULL, OF_REQUEST},              /* [P] Page insights: unknown metric */
    /* The request is rejected, and another form of it would be, too. 506 and 1609005 occur only when
     * something is published ("Handling Errors"), which this service never does. */
    {100, 100, ANY, NULL, OUR_BUG},
    {2500, 2500, ANY, NULL, OUR_BUG}, /* [P] "Unknown path components", "Syntax error" */
    {506, 506, ANY, NULL, OUR_BUG},
    {1609005, 1609005, ANY, NULL, OUR_BUG},
    /* Permissions that the author did not grant. */
    {3, 3, ANY, NULL, OF_GRANT},     /* [E] */
    {10, 10, ANY, NULL, OF_GRANT},   /* [E] */
    {200, 299, ANY, NULL, OF_GRANT}, /* [E] */
    /* Errors of the service. -1 and -2 are from Instagram [I]. */
    {-2, -1, ANY, NULL, OF_ITEM(ITEM_RETRY)},
    {1, 2, ANY, NULL, OF_ITEM(ITEM_RETRY)}, /* [E] */
};

struct graph_error {
    int64_t code, subcode;
    bool transient;
    struct str message;
};

bool graph_contains_nocase(struct str s, struct str part)
{
    for (size_t i = 0; i + part.len <= s.len; i++)
        if (str_eq_nocase(str_make(s.p + i, part.len), part))
            return true;
    return false;
}

static const struct graph_row *find_row(const struct graph_error *e)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct graph_row *r = &rows[i];
        if (e->code >= r->first && e->code <= r->last && (r->subcode == ANY || e->subcode == r->subcode) &&
            (!r->text || graph_contains_nocase(e->message, str_from_cstr(r->text))))
            return r;
    }
    return NULL;
}

static struct str error_code(struct arena *a, const struct graph_error *e)
{
    if (e->subcode)
        return arena_printf(a, "%lld.%lld", (long long)e->code, (long long)e->subcode);
    return arena_printf(a, "%lld", (long long)e->code);
}

/* Reads an error. Returns false if there is no code; in that case, the error is not one of the Graph API. */
static bool read_error(struct yyjson_val *v, struct graph_error *e)
{
    *e = (struct graph_error){.message = jsonr_text(jsonr_get(v, "message"))};
    (void)jsonr_integer(jsonr_get(v, "error_subcode"), &e->subcode);
    e->transient = jsonr_is_true(jsonr_get(v, "is_transient"));
    return jsonr_integer(jsonr_get(v, "code"), &e->code);
}

/* ---- the outcome of the call ---- */

/* Returns a rank. If operations of a batch report different errors, the error with the highest rank becomes
 * the outcome. */
static int severity(const struct outcome *o)
{
    static const int of[OUTCOME_KINDS] = {
        [OUTCOME_OK] = 0,
        [OUTCOME_OTHER_FORM] = 1,
        [OUTCOME_SPLIT] = 2,
        [OUTCOME_BAD_REQUEST] = 3,
        [OUTCOME_MALFORMED] = 4,
        [OUTCOME_RETRY] = 5,
        [OUTCOME_QUOTA_SPENT] = 9,
        [OUTCOME_RECONNECT] = 10,
        [OUTCOME_TOKEN_REJECTED] = 11,
        [OUTCOME_APP_REJECTED] = 12,
    };
    return of[o->kind] + (o->kind == OUTCOME_RETRY ? (int)o->scope : 0);
}

static void record(struct graph_response *g, struct outcome o)
{
    if (severity(&o) > severity(&g->outcome))
        g->outcome = o;
}

void graph_set_malformed(struct graph_response *g, const char *code)
{
    record(g, outcome_make(OUTCOME_MALFORMED, SCOPE_CALL, str_from_cstr(code)));
}

/* Records an error in our request. It becomes the outcome of the call only if no operation was understood. */
static void record_bad_request(struct graph_response *g, const struct graph_row *row, struct str code)
{
    g->request_error = outcome_make(OUTCOME_BAD_REQUEST, SCOPE_CALL, code);
    if (!row)
        g->unknown_code = code;
}

static void record_call_error(struct graph_response *g, const struct graph_row *row, struct str code)
{
    struct outcome o = outcome_make(row->outcome, row->scope, code);
    o.wait_ms = row->wait_ms;
    o.too_large = row->outcome == OUTCOME_SPLIT;
    if (o.kind == OUTCOME_TOKEN_REJECTED && !g->refreshes)
        o.kind = OUTCOME_RECONNECT;
    record(g, o);
}

/* Records that an operation of a batch failed temporarily. */
static void record_retry(struct graph_response *g, struct str code)
{
    if (!g->retry_code.p)
        g->retry_code = code;
}

static void record_denied(struct graph_response *g, enum graph_kind kind, struct str code)
{
    g->denied += kind == GRAPH_DENIED;
    g->gone_or_denied += kind == GRAPH_GONE_OR_DENIED;
    g->denied_code = code;
}

static struct graph_result result_of_error(struct graph_response *g, const struct graph_error *e)
{
    const struct graph_row *row = find_row(e);
    struct str code = error_code(g->arena, e);
    struct graph_result part = {.kind = GRAPH_ITEM, .state = ITEM_RETRY, .message = e->message};
    if (row ? row->outcome == OUTCOME_BAD_REQUEST : !e->transient) {
        record_bad_request(g, row, code);
        return part;
    }
    if (row) {
        part.kind = row->kind;
        part.state = row->state;
    }
    if (part.kind == GRAPH_GONE_OR_DENIED && !g->batch) {
        part.kind = GRAPH_ITEM;
        part.state = ITEM_MISSING;
    }
    if (part.kind == GRAPH_ITEM && part.state == ITEM_RETRY && !g->batch) {
        part.kind = GRAPH_CALL;
        record(g, outcome_make(OUTCOME_RETRY, SCOPE_CALL, code));
    } else if (part.kind == GRAPH_ITEM && part.state == ITEM_RETRY) {
        record_retry(g, code);
    } else if (part.kind == GRAPH_CALL) {
        record_call_error(g, row, code);
    } else if (part.kind == GRAPH_DENIED || part.kind == GRAPH_GONE_OR_DENIED) {
        record_denied(g, part.kind, code);
    }
    g->understood |= part.kind == GRAPH_ITEM && part.state != ITEM_RETRY;
    /* Only an account with the permission learns that a post has not enough viewers. */
    g->succeeded += part.kind == GRAPH_ITEM && part.state == ITEM_NO_DATA;
    if (part.kind != GRAPH_ITEM)
        part.state = ITEM_PENDING;
    return part;
}

/* ---- usage headers ---- */

static void raise_percent(struct yyjson_val *v, const char *name, int *percent)
{
    int64_t n = jsonr_count(jsonr_get(v, name));
    if (n > *percent)
        *percent = n < 1000 ? (int)n : 1000;
}

static void raise_usage(struct yyjson_val *v, int *percent)
{
    raise_percent(v, "call_count", percent);
    raise_percent(v, "total_time", percent);
    raise_percent(v, "total_cputime", percent);
}

/* Reads usage such as
 * {"17841400000000000":[{"type":"instagram","call_count":97,…,"estimated_time_to_regain_access":0}]}. */
static void raise_account_usage(struct graph_usage *usage, struct yyjson_val *objects)
{
    struct jsonr_iter of_objects = jsonr_iterate(objects);
    struct yyjson_val *types, *type;
    while (jsonr_next(&of_objects, NULL, &types)) {
        struct jsonr_iter of_types = jsonr_iterate(types);
        while (jsonr_next(&of_types, NULL, &type)) {
            int64_t minutes = jsonr_count(jsonr_get(type, "estimated_time_to_regain_access"));
            raise_usage(type, &usage->account_percent);
            usage->regain_minutes = minutes > usage->regain_minutes ? minutes : usage->regain_minutes;
        }
    }
}

/* Reads a header of the response or of an operation. Unreadable headers are ignored. A header equal to the
 * last one is skipped, because the operations of a batch usually repeat it. */
static void read_usage_header(struct graph_response *g, struct str name, struct str value)
{
    if (str_eq_nocase(name, STR("X-App-Usage"))) {
        raise_usage(jsonr_parse(g->arena, value), &g->usage.app_percent);
    } else if (str_eq_nocase(name, STR("X-Business-Use-Case-Usage")) && !str_eq(value, g->last_usage)) {
        g->last_usage = value;
        raise_account_usage(&g->usage, jsonr_parse(g->arena, value));
    }
}

/* Reads the headers of an operation: [{"name":"X-Business-Use-Case-Usage","value":"{…}"},…]. Some responses
 * contain no headers of operations. */
static void read_entry_usage(struct graph_response *g, struct yyjson_val *headers)
{
    struct jsonr_iter it = jsonr_iterate(headers);
    struct yyjson_val *header;
    while (jsonr_next(&it, NULL, &header))
        read_usage_header(g, jsonr_text(jsonr_get(header, "name")), jsonr_text(jsonr_get(header, "value")));
}

/* Sets usage and wait of the outcome. The wait is Retry-After, otherwise Meta's estimate, otherwise the wait
 * of the table. If Meta blocks an account, its usage is at least 100 percent, whatever the outcome is. */
static void set_usage(struct graph_response *g, struct outcome *o)
{
    const struct http_response *r = g->response;
    const int64_t after = response_retry_after_ms(r, g->call ? g->call->now_ms : 0);
    for (size_t i = 0; i < r->header_count; i++)
        read_usage_header(g, r->headers[i].name, str_trim(r->headers[i].value));
    const struct graph_usage *u = &g->usage;
    const int account = u->regain_minutes && u->account_percent < 100 ? 100 : u->account_percent;
    o->usage_percent = u->app_percent > account ? u->app_percent : account;
    if (o->kind == OUTCOME_OK)
        o->scope = u->app_percent > account ? SCOPE_APP : SCOPE_ACCOUNT;
    if (o->kind == OUTCOME_TOKEN_REJECTED || o->kind == OUTCOME_RECONNECT || o->kind == OUTCOME_APP_REJECTED)
        return; /* waiting does not help against these outcomes */
    if (after)
        o->wait_ms = after;
    else if (u->regain_minutes)
        o->wait_ms = u->regain_minutes < DAY_MS / MINUTE_MS ? u->regain_minutes * MINUTE_MS : DAY_MS;
}

/* ---- results of the operations of a batch ---- */

static struct graph_result result_retry(void)
{
    return (struct graph_result){.kind = GRAPH_ITEM, .state = ITEM_RETRY};
}

/* Returns the result of a body. `status` is the HTTP status of the call or of the operation. */
static struct graph_result result_of_body(struct graph_response *g, struct yyjson_val *body, int64_t status)
{
    struct graph_error e;
    struct yyjson_val *error = jsonr_get(body, "error");
    if (error && read_error(error, &e))
        return result_of_error(g, &e);
    if (status >= 500) {
        if (!g->batch)
            record(g, outcome_unreadable(g->arena, g->response, g->call ? g->call->now_ms : 0));
        else
            record_retry(g, arena_printf(g->arena, "http.%lld", (long long)status));
        return result_retry();
    }
    if (error || status != 200 || !jsonr_is_object(body)) {
        graph_set_malformed(g, "shape");
        return result_retry();
    }
    g->understood = true;
    g->succeeded++;
    return (struct graph_result){.kind = GRAPH_OK, .body = body};
}

static struct graph_result next_batch_result(struct graph_response *g)
{
    struct yyjson_val *op;
    int64_t status;
    CHECK(jsonr_next(&g->parts, NULL, &op));
    if (jsonr_is_null(op)) { /* the operation has exceeded Meta's own timeout */
        record_retry(g, STR("batch-null"));
        return result_retry();
    }
    read_entry_usage(g, jsonr_get(op, "headers"));
    struct str text = jsonr_text(jsonr_get(op, "body"));
    if (!jsonr_integer(jsonr_get(op, "code"), &status) || !text.p) {
        graph_set_malformed(g, "batch-entry");
        return result_retry();
    }
    struct yyjson_val *body = text.len <= GRAPH_BODY_MAX ? jsonr_parse(g->arena, text) : NULL;
    if (body || status >= 500)
        return result_of_body(g, body, status);
    graph_set_malformed(g, "batch-body");
    return result_retry();
}

struct graph_result graph_response_next(struct graph_response *g)
{
    if (g->batch)
        return next_batch_result(g);
    return result_of_body(g, g->root, g->response->status);
}

/* Handles a batch that failed as a whole: the response is an object with `error` instead of a list. An error
 * about one post has no meaning here and must not make all posts of the batch look deleted. */
static void read_failed_batch(struct graph_response *g)
{
    g->batch = false;
    enum graph_kind kind = result_of_body(g, g->root, g->response->status).kind;
    if (kind == GRAPH_OK)
        graph_set_malformed(g, "batch-shape");
    else if (g->outcome.kind == OUTCOME_OK && !g->denied && !g->request_error.code.p)
        graph_set_malformed(g, "batch-error");
}

/* Reads the result for the account. After a temporary failure, an undocumented error, or an error in our
 * request, it stays unknown whether posts were deleted or the permission was lost. An error of the call as a
 * whole is already recorded. Any other error means that the permission was lost. */
static void read_account(struct graph_response *g)
{
    struct graph_result part = graph_response_next(g);
    if (part.kind == GRAPH_ITEM && part.state == ITEM_RETRY)
        record(g, outcome_make(OUTCOME_RETRY, SCOPE_CALL, STR("account")));
    else if (part.kind != GRAPH_OK && part.kind != GRAPH_CALL)
        record(g, outcome_make(OUTCOME_RECONNECT, SCOPE_ACCOUNT,
                               g->denied_code.p ? g->denied_code : STR("account")));
}

static bool open_batch(struct graph_response *g, size_t count)
{
    const bool with_account = g->call && g->call->with_account;
    if (!jsonr_is_array(g->root)) {
        read_failed_batch(g);
        return false;
    }
    g->parts = jsonr_iterate(g->root);
    if (g->parts.left != count + with_account || g->response->status != 200) {
        graph_set_malformed(g, "batch-length");
        return false;
    }
    if (with_account)
        read_account(g);
    return true;
}

bool graph_response_open(struct graph_response *g, struct arena *a, const struct platform_call *call,
                         const struct http_response *response, bool refreshes, size_t count)
{
    *g = (struct graph_response){.arena = a,
                                 .call = call,
                                 .response = response,
                                 .refreshes = refreshes,
                                 .batch = count > 0,
                                 .outcome = outcome_make(OUTCOME_OK, SCOPE_CALL, STR("ok"))};
    g->root = jsonr_parse(a, response->body);
    if (!g->root) {
        g->outcome = outcome_unreadable(a, response, call ? call->now_ms : 0);
        return false;
    }
    return count == 0 || open_batch(g, count);
}

bool graph_retry_in_other_form(struct graph_response *g, struct str dropped, bool these_posts_only, int tiers)
{
    struct outcome o = outcome_make(OUTCOME_OTHER_FORM, SCOPE_CALL, STR("100"));
    o.dropped = dropped;
    o.these_posts_only = these_posts_only;
    if (!dropped.p && g->call->tier + 1 >= tiers) {
        g->request_error = outcome_make(OUTCOME_BAD_REQUEST, SCOPE_CALL, STR("100"));
        return false;
    }
    record(g, o);
    return true;
}

/* ---- finishing ---- */

void graph_ignore_denials(struct graph_response *g)
{
    g->denied = g->gone_or_denied = 0;
}

/* Records that no operation succeeded and some were denied: either the permission was lost, or the requested
 * posts were deleted. If other operations failed for another reason, the permission may still be valid, and
 * this reason is the outcome: with OUTCOME_OK, the denied posts would count as missing. A result of
 * read_account() takes precedence, because it is more serious. */
static void record_all_denied(struct graph_response *g)
{
    struct outcome o = outcome_make(OUTCOME_RECONNECT, SCOPE_ACCOUNT, g->denied_code);
    if (g->gone_or_denied && g->call && platform_id_is_plain(g->call->account_id)) {
        o = outcome_make(OUTCOME_OTHER_FORM, SCOPE_CALL, g->denied_code);
        o.with_account = true;
    } else if (g->outcome.kind != OUTCOME_OK) {
        return;
    } else if (g->request_error.code.p) {
        o = g->request_error;
    } else if (g->retry_code.p) {
        o = outcome_make(OUTCOME_RETRY, SCOPE_CALL, g->retry_code);
    }
    record(g, o);
}

struct outcome graph_response_outcome(struct graph_response *g)
{
    if (!g->succeeded && (g->denied || g->gone_or_denied))
        record_all_denied(g);
    if (!g->understood && g->request_error.code.p)
        record(g, g->request_error);
    else if (!g->understood && g->retry_code.p && g->outcome.kind == OUTCOME_OK)
        record(g, outcome_make(OUTCOME_RETRY, SCOPE_CALL, g->retry_code));
    g->outcome.unknown_code = g->unknown_code;
    set_usage(g, &g->outcome);
    return g->outcome;
}
