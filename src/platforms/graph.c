/* Meta's Graph API as all three use it: requests, batches, errors, rate headers. Which names stand for which
 * count is the connectors' to know. */
#include "platforms/graph.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/urlencode.h"
#include "platforms/grant.h"
#include "platforms/response.h"

enum { BATCH_TEXT_MAX = 256 << 10 };

/* ---- requests ---- */

void graph_get(struct arena *a, const struct platform_call *call, enum platform_host host, struct str path,
               struct platform_request *out)
{
    *out = (struct platform_request){.host = host, .method = "GET"};
    out->path = arena_printf(a, "/%s/%.*s", call->options->graph_version, (int)path.len, path.p);
    request_add_bearer(a, out, call->access_token);
}

/* The version stands in the address and in each operation [K]: Meta's sample has neither. The token is a
 * field of the form as in the sample: whether a header counts for the operations too is not said. */
void graph_batch(struct arena *a, const struct platform_call *call, enum platform_host host,
                 const struct str *paths, size_t count, struct platform_request *out)
{
    struct buf json;
    CHECK(count > 0 && count <= GRAPH_BATCH_MAX);
    buf_init(&json, BATCH_TEXT_MAX);
    for (size_t i = 0; i < count; i++)
        buf_printf(&json, "%s{\"method\":\"GET\",\"relative_url\":\"%s/%.*s\"}", i ? "," : "[",
                   call->options->graph_version, (int)paths[i].len, paths[i].p);
    buf_append_char(&json, ']');
    CHECK(!json.failed);
    const struct url_field fields[] = {
        {"access_token", call->access_token}, {"include_headers", STR("false")}, {"batch", buf_str(&json)}};
    request_form(a, host, arena_printf(a, "/%s/", call->options->graph_version), fields, 3, out);
    buf_fini(&json);
}

/* ---- errors ---- */

enum { ANY = -1 };

/* One row of Meta's table; the first that fits counts. */
struct graph_row {
    int first, last, subcode;
    const char *text; /* that the message has to hold; NULL: whatever it says */
    enum graph_kind kind;
    enum item_state state;
    enum verdict verdict;
    enum outcome_scope scope;
    int64_t wait_ms;
};

#define OF_ITEM(s)        GRAPH_ITEM, (s), V_OK, SCOPE_CALL, 0
#define OF_CALL(v, s, ms) GRAPH_CALL, ITEM_PENDING, (v), (s), (ms)
#define OF_REQUEST        GRAPH_METRIC, ITEM_PENDING, V_TIER, SCOPE_CALL, 0
#define OF_GRANT          GRAPH_DENIED, ITEM_PENDING, V_RECONNECT, SCOPE_ACCOUNT, 0
/* Meta counts over the last hour, and what is asked meanwhile makes it longer; Mixpost too waits an hour [P].
 */
#define THROTTLED_MS HOUR_MS

static const struct graph_row rows[] = {
    /* throttles before all else: they may call themselves transient */
    {4, 4, ANY, NULL, OF_CALL(V_LATER, SCOPE_APP, THROTTLED_MS)},
    {341, 341, ANY, NULL, OF_CALL(V_LATER, SCOPE_APP, THROTTLED_MS)},
    {17, 17, ANY, NULL, OF_CALL(V_LATER, SCOPE_ACCOUNT, THROTTLED_MS)},
    {32, 32, ANY, NULL, OF_CALL(V_LATER, SCOPE_ACCOUNT, THROTTLED_MS)},
    {613, 613, ANY, NULL, OF_CALL(V_LATER, SCOPE_ACCOUNT, THROTTLED_MS)},
    {80000, 80014, ANY, NULL, OF_CALL(V_LATER, SCOPE_ACCOUNT, THROTTLED_MS)},
    {368, 368, ANY, NULL, OF_CALL(V_LATER, SCOPE_ACCOUNT, DAY_MS)},
    /* our app: never the author's fault */
    {1, 1, ANY, "client secret", OF_CALL(V_OPERATOR, SCOPE_APP, 0)}, /* [P] */
    {101, 101, ANY, NULL, OF_CALL(V_OPERATOR, SCOPE_APP, 0)},        /* [P] "Error validating application" */
    {100, 100, ANY, "appsecret_proof", OF_CALL(V_OPERATOR, SCOPE_APP, 0)}, /* [K] */
    /* the token */
    {102, 102, ANY, NULL, OF_CALL(V_TOKEN, SCOPE_ACCOUNT, 0)},
    {190, 190, ANY, NULL, OF_CALL(V_TOKEN, SCOPE_ACCOUNT, 0)},
    /* the post */
    {10, 10, ANY, "not enough viewers", OF_ITEM(ITEM_NO_DATA)},
    {100, 100, 33, NULL, OF_ITEM(ITEM_MISSING)},
    {803, 803, ANY, NULL, OF_ITEM(ITEM_MISSING)}, /* [K] an alias that does not exist */
    {100, 100, 2108006, NULL, OF_ITEM(ITEM_PERMANENT)},
    /* the request */
    {100, 100, ANY, "metric", OF_REQUEST},
    {100, 100, ANY, "nonexisting field", OF_REQUEST}, /* [P] */
    /* what the author granted */
    {3, 3, ANY, NULL, OF_GRANT},
    {10, 10, ANY, NULL, OF_GRANT},
    {200, 299, ANY, NULL, OF_GRANT},
    /* the service */
    {1, 2, ANY, NULL, OF_ITEM(ITEM_RETRY)},
};

struct graph_error {
    int64_t code, subcode;
    bool transient;
    struct str message;
};

bool graph_contains(struct str s, struct str part)
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
            (!r->text || graph_contains(e->message, str_from_cstr(r->text))))
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

/* False: it has no code, so it is not Meta's form of an error. */
static bool read_error(struct yyjson_val *v, struct graph_error *e)
{
    *e = (struct graph_error){.message = jsonr_text(jsonr_get(v, "message"))};
    (void)jsonr_integer(jsonr_get(v, "error_subcode"), &e->subcode);
    e->transient = jsonr_is_true(jsonr_get(v, "is_transient"));
    return jsonr_integer(jsonr_get(v, "code"), &e->code);
}

/* ---- what the call comes to ---- */

/* Where operations of one batch say different things, the gravest counts. */
static int gravity(const struct outcome *o)
{
    static const int of[VERDICTS] = {
        [V_OK] = 0,    [V_TIER] = 1,  [V_SPLIT] = 2,      [V_BUG] = 3,    [V_MALFORMED] = 4,
        [V_LATER] = 5, [V_QUOTA] = 9, [V_RECONNECT] = 10, [V_TOKEN] = 11, [V_OPERATOR] = 12,
    };
    return of[o->verdict] + (o->verdict == V_LATER ? (int)o->scope : 0);
}

static void note(struct graph_answer *g, struct outcome o)
{
    if (gravity(&o) > gravity(&g->outcome))
        g->outcome = o;
}

void graph_malformed(struct graph_answer *g, const char *code)
{
    note(g, outcome_make(V_MALFORMED, SCOPE_CALL, str_from_cstr(code)));
}

static struct graph_part part_of_error(struct graph_answer *g, const struct graph_error *e, int lane)
{
    const struct graph_row *row = find_row(e);
    struct str code = error_code(g->arena, e);
    struct graph_part part = {.kind = GRAPH_ITEM, .state = ITEM_RETRY, .message = e->message};
    if (!row && !e->transient) {
        g->unknown = outcome_make(V_BUG, SCOPE_CALL, code);
        return part;
    }
    if (row) {
        part.kind = row->kind;
        part.state = row->state;
    }
    if (part.kind == GRAPH_ITEM && part.state == ITEM_RETRY && !g->batch) {
        part.kind = GRAPH_CALL;
        note(g, outcome_make(V_LATER, SCOPE_CALL, code));
    } else if (part.kind == GRAPH_CALL) {
        struct outcome o = outcome_make(row->verdict, row->scope, code);
        o.wait_ms = row->wait_ms;
        if (o.verdict == V_TOKEN && !g->refreshes)
            o.verdict = V_RECONNECT;
        note(g, o);
    } else if (part.kind == GRAPH_DENIED) {
        g->denied[lane]++;
        g->denied_code = code;
    }
    g->understood |= part.kind == GRAPH_ITEM && part.state != ITEM_RETRY;
    if (part.kind != GRAPH_ITEM)
        part.state = ITEM_PENDING;
    return part;
}

/* ---- operations ---- */

static struct graph_part part_retry(void)
{
    return (struct graph_part){.kind = GRAPH_ITEM, .state = ITEM_RETRY};
}

/* `body` with status `status`, of the call or of one operation. */
static struct graph_part part_of_body(struct graph_answer *g, struct yyjson_val *body, int64_t status,
                                      int lane)
{
    struct graph_error e;
    struct yyjson_val *error = jsonr_get(body, "error");
    if (error && read_error(error, &e))
        return part_of_error(g, &e, lane);
    if (status >= 500) {
        if (!g->batch)
            note(g, outcome_unreadable(g->arena, g->response, g->call ? g->call->now_ms : 0));
        return part_retry();
    }
    if (error || status != 200 || !jsonr_is_object(body)) {
        graph_malformed(g, "shape");
        return part_retry();
    }
    g->understood = true;
    g->answered[lane]++;
    return (struct graph_part){.kind = GRAPH_OK, .body = body};
}

static struct graph_part next_of_batch(struct graph_answer *g, int lane)
{
    struct yyjson_val *op;
    int64_t status;
    CHECK(jsonr_next(&g->parts, NULL, &op));
    if (jsonr_is_null(op))
        return part_retry(); /* it took Meta too long */
    struct str text = jsonr_text(jsonr_get(op, "body"));
    if (!jsonr_integer(jsonr_get(op, "code"), &status) || !text.p) {
        graph_malformed(g, "batch-entry");
        return part_retry();
    }
    struct yyjson_val *body = text.len <= GRAPH_BODY_MAX ? jsonr_parse(g->arena, text) : NULL;
    if (!body && status < 500)
        graph_malformed(g, "batch-body");
    if (!body)
        return part_retry();
    return part_of_body(g, body, status, lane);
}

struct graph_part graph_next(struct graph_answer *g, int lane)
{
    if (g->batch)
        return next_of_batch(g, lane);
    return part_of_body(g, g->root, g->response->status, lane);
}

/* A batch that was refused as a whole: an object with `error` in place of the list. */
static bool open_batch(struct graph_answer *g, size_t count)
{
    if (!jsonr_is_array(g->root)) {
        g->batch = false;
        if (part_of_body(g, g->root, g->response->status, 0).kind == GRAPH_OK)
            graph_malformed(g, "batch-shape");
        return false;
    }
    g->parts = jsonr_iterate(g->root);
    if (g->parts.left != count || g->response->status != 200)
        graph_malformed(g, "batch-length");
    return g->parts.left == count && g->response->status == 200;
}

bool graph_open(struct graph_answer *g, struct arena *a, const struct platform_call *call,
                const struct platform_response *response, bool refreshes, size_t count)
{
    *g = (struct graph_answer){.arena = a,
                               .call = call,
                               .response = response,
                               .refreshes = refreshes,
                               .batch = count > 0,
                               .outcome = outcome_make(V_OK, SCOPE_CALL, STR("ok"))};
    g->root = jsonr_parse(a, response->body);
    if (!g->root) {
        g->outcome = outcome_unreadable(a, response, call ? call->now_ms : 0);
        return false;
    }
    return count == 0 || open_batch(g, count);
}

bool graph_tier(struct graph_answer *g, struct str dropped, bool of_the_posts, int tiers)
{
    struct outcome o = outcome_make(V_TIER, SCOPE_CALL, STR("100"));
    o.dropped = dropped;
    o.of_the_posts = of_the_posts;
    if (!dropped.p && g->call->tier + 1 >= tiers) {
        g->unknown = outcome_make(V_BUG, SCOPE_CALL, STR("100"));
        return false;
    }
    note(g, o);
    return true;
}

/* ---- rate headers ---- */

static void raise_percent(struct yyjson_val *v, const char *name, int *percent)
{
    int64_t n = jsonr_count(jsonr_get(v, name));
    if (n > *percent)
        *percent = n < 1000 ? (int)n : 1000;
}

static int usage_of(struct yyjson_val *v)
{
    int percent = 0;
    raise_percent(v, "call_count", &percent);
    raise_percent(v, "total_time", &percent);
    raise_percent(v, "total_cputime", &percent);
    return percent;
}

/* {"17841400000000000":[{"type":"instagram","call_count":97,…,"estimated_time_to_regain_access":0}]} */
static int business_usage(struct yyjson_val *objects, int64_t *regain_minutes)
{
    struct jsonr_iter of_objects = jsonr_iterate(objects);
    struct yyjson_val *types, *type;
    int percent = 0;
    *regain_minutes = 0;
    while (jsonr_next(&of_objects, NULL, &types)) {
        struct jsonr_iter of_types = jsonr_iterate(types);
        while (jsonr_next(&of_types, NULL, &type)) {
            int used = usage_of(type);
            int64_t minutes = jsonr_count(jsonr_get(type, "estimated_time_to_regain_access"));
            percent = used > percent ? used : percent;
            *regain_minutes = minutes > *regain_minutes ? minutes : *regain_minutes;
        }
    }
    return percent;
}

/* Unreadable headers are passed over. The wait: Retry-After if ever one is sent, else what the header says,
 * else that of the row. */
static void read_rates(const struct graph_answer *g, struct outcome *o)
{
    const struct platform_response *r = g->response;
    int64_t minutes, after = response_retry_after_ms(r, g->call ? g->call->now_ms : 0);
    int app = usage_of(jsonr_parse(g->arena, response_header(r, STR("X-App-Usage"))));
    int business =
        business_usage(jsonr_parse(g->arena, response_header(r, STR("X-Business-Use-Case-Usage"))), &minutes);
    o->usage_percent = app > business ? app : business;
    if (o->verdict == V_OK)
        o->scope = app > business ? SCOPE_APP : SCOPE_ACCOUNT;
    if (o->verdict != V_OK && o->verdict != V_LATER)
        return;
    if (after)
        o->wait_ms = after;
    else if (minutes)
        o->wait_ms = minutes < DAY_MS / MINUTE_MS ? minutes * MINUTE_MS : DAY_MS;
}

struct outcome graph_finish(struct graph_answer *g)
{
    for (int lane = 0; lane < GRAPH_LANES; lane++)
        if (g->denied[lane] && !g->answered[lane])
            note(g, outcome_make(V_RECONNECT, SCOPE_ACCOUNT, g->denied_code));
    if (!g->understood && g->unknown.code.p)
        note(g, g->unknown);
    read_rates(g, &g->outcome);
    return g->outcome;
}
