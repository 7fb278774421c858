/* Pinterest: API v5 (OpenAPI 5.23.0) [V]. Request form 0 reads up to 100 pins, which Pinterest permits only
 * to some apps; form 1 reads one pin; form 2 reads the reactions and comments of one pin, for pins that are
 * not videos.
 *
 * `summary_metrics` has views and saves, summed over the requested days, which begin before the pin was
 * posted. `lifetime_metrics` has reactions and comments. There are no shares. Pinterest's support says that
 * both kinds must not be mixed in one request; the specification allows it, and for some apps it works. Until
 * a call has shown that it does not work, calls of forms 0 and 1 request both (platform_call.combined). Then
 * a call requests only one kind. Pinterest computes the counts only once a day, so it is sufficient to
 * request each kind every few hours.
 *
 * Errors are identified by HTTP status and `code`; the endpoint for many pins and the endpoint for one pin
 * use different codes for the same error. */
#include "base/clock.h"
#include "base/urlencode.h"
#include "platforms/errors.h"
#include "platforms/grant.h"
#include "platforms/platform_keys.h"

#include <sodium.h>

#define STANDARD_METRICS "VIDEO_MRC_VIEW,SAVE"
#define LIFETIME_METRICS "TOTAL_REACTIONS,TOTAL_COMMENTS"

enum { TIER_BULK, TIER_PIN, TIER_LIFETIME, TIERS };
enum {
    IDS_MAX = 100,
    DAYS_MAX = 89,        /* Pinterest allows 90 */
    SETTLING_DAYS = 3,    /* a newer pin may have no counts yet: they are computed once a day */
    LONG_WINDOW_S = 3600, /* usage_percent is set only from limits over at least this period; the token bucket
                             enforces limits over shorter periods */
};

const struct error_row pinterest_errors[] = {
    /* Possibly, the pin does not have these metrics, or Pinterest has no counts for these days. As long as
     * another form of the request remains, this is not an error of our app. */
    {"400", 400, OUTCOME_OTHER_FORM, SCOPE_CALL, 0},
    {"1", 400, OUTCOME_OTHER_FORM, SCOPE_CALL, 0},
    {"2", 401, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},
    {"3", 401, OUTCOME_OTHER_FORM, SCOPE_APP, 0}, /* the app is not allowed to read many pins per call [P] */
    {"7", 401, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"403", 403, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"29", 403, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"404", 404, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"50", 404, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"8", 429, OUTCOME_RETRY, SCOPE_ACCOUNT, 60000},
    {0},
};

/* Undocumented errors of the token endpoint. */
static const struct error_row token_errors[] = {
    {"283", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0}, /* "The authorization grant is invalid" [P] */
    {"2", 401, OUTCOME_APP_REJECTED, SCOPE_APP, 0},  /* "Authentication failed." refers to the app [P] */
    {"1", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},   {"8", 429, OUTCOME_RETRY, SCOPE_APP, 60000}, {0},
};

/* ---- requests ---- */

/* Returns true in about every fourth hour. Multiples of the golden ratio are evenly distributed modulo 1, so
 * a post that is read every 6 or 24 hours gets both kinds of metrics. */
static bool is_lifetime_hour(int64_t now_ms)
{
    const uint32_t golden_ratio = 2654435769U; /* the fraction of the golden ratio, times 2^32 */
    return (uint32_t)(now_ms / HOUR_MS) * golden_ratio >= 3U << 30;
}

static bool requests_lifetime_only(const struct platform_call *call)
{
    return call->tier == TIER_LIFETIME || (!call->combined && is_lifetime_hour(call->now_ms));
}

static const char *metrics_of(const struct platform_call *call)
{
    if (requests_lifetime_only(call))
        return LIFETIME_METRICS;
    return call->combined ? STANDARD_METRICS "," LIFETIME_METRICS : STANDARD_METRICS;
}

/* Returns the day before the oldest pin was posted, but not before the first day that Pinterest allows. */
static int32_t first_day(const struct platform_call *call, int32_t today)
{
    int32_t first = today;
    for (size_t i = 0; i < call->item_count; i++) {
        int64_t posted_at = call->items[i].posted_at;
        int32_t day = posted_at > 0 && posted_at < call->now_ms ? date_of(posted_at) - 1 : today - 1;
        first = day < first ? day : first;
    }
    return first < today - DAYS_MAX ? today - DAYS_MAX : first;
}

static void build(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    const bool bulk = call->tier == TIER_BULK;
    const int32_t today = date_of(call->now_ms);
    char first[DATE_TEXT_LEN], last[DATE_TEXT_LEN];
    date_format(first_day(call, today), first);
    date_format(today, last);
    const struct url_field fields[] = {
        {"pin_ids", bulk ? items_join_ids(a, call) : (struct str){NULL, 0}},
        {"start_date", str_make(first, sizeof first)},
        {"end_date", str_make(last, sizeof last)},
        {"metric_types", str_from_cstr(metrics_of(call))},
        {"app_types", bulk ? (struct str){NULL, 0} : STR("ALL")},
        {"split_field", bulk ? (struct str){NULL, 0} : STR("NO_SPLIT")},
    };
    struct str id = url_encode(a, call->items[0].id);
    struct str path =
        bulk ? STR("/v5/pins/analytics?") : arena_printf(a, "/v5/pins/%.*s/analytics?", (int)id.len, id.p);
    *out = (struct http_request){.origin = call->options->origins[ORIGIN_API], .method = "GET"};
    out->path = url_with_fields(a, path, fields, sizeof fields / sizeof fields[0]);
    request_add_bearer(a, out, call->access_token);
}

/* ---- rate headers: structured fields such as `60, 100;w=1;name="…", 60;w=60;name="…"` [P] ---- */

static int64_t leading_number(struct str s)
{
    unsigned long long n;
    struct str head;
    (void)str_cut(s, ';', &head);
    return str_to_u64(str_trim(head), UINT32_MAX, &n) ? (int64_t)n : -1;
}

/* Returns the window in seconds of the first item whose number is `limit`; 0: unknown. */
static int64_t limit_window(struct str items, int64_t limit)
{
    struct str item, part;
    while (items.p) {
        items = str_cut(items, ',', &item);
        if (leading_number(item) != limit)
            continue;
        for (item = str_cut(item, ';', &part); item.p;) {
            item = str_cut(item, ';', &part);
            part = str_trim(part);
            if (str_starts_with(part, STR("w=")))
                return leading_number(str_make(part.p + 2, part.len - 2));
        }
    }
    return 0;
}

/* Sets the share of the quota that is used, from the limits whose period is an hour or more; the token bucket
 * enforces those with shorter periods. Also sets the wait after a 429 without Retry-After. Unreadable headers
 * are ignored. */
static void read_rate(const struct http_response *r, struct outcome *o)
{
    struct str limits = response_header(r, STR("x-ratelimit-limit")), first;
    struct str rest = str_cut(limits, ',', &first);
    int64_t limit = leading_number(first);
    int64_t remaining = leading_number(response_header(r, STR("x-ratelimit-remaining")));
    int64_t reset_s = leading_number(response_header(r, STR("x-ratelimit-reset")));
    bool is_long = limit_window(rest, limit) >= LONG_WINDOW_S || reset_s >= LONG_WINDOW_S;
    if (is_long && limit > 0 && remaining >= 0 && remaining <= limit)
        o->usage_percent = (int)(100 * (limit - remaining) / limit);
    if (o->kind == OUTCOME_RETRY && r->status == 429 && !response_header(r, STR("Retry-After")).p &&
        reset_s > 0)
        o->wait_ms = (reset_s < DAY_MS / SECOND_MS ? reset_s * SECOND_MS : DAY_MS);
}

/* ---- responses ---- */

static bool read_pin(struct platform_item *item, struct yyjson_val *pin)
{
    struct yyjson_val *all = jsonr_get(pin, "all");
    struct yyjson_val *summary = jsonr_get(all, "summary_metrics");
    struct yyjson_val *lifetime = jsonr_get(all, "lifetime_metrics");
    if (!item || !jsonr_is_object(all))
        return false;
    item->counts[COUNT_VIEWS] = jsonr_count(jsonr_get(summary, "VIDEO_MRC_VIEW"));
    item->counts[COUNT_SAVES] = jsonr_count(jsonr_get(summary, "SAVE"));
    item->counts[COUNT_LIKES] = jsonr_count(jsonr_get(lifetime, "TOTAL_REACTIONS"));
    item->counts[COUNT_COMMENTS] = jsonr_count(jsonr_get(lifetime, "TOTAL_COMMENTS"));
    item_set_state(item);
    return true;
}

/* Reads the pins of the response, which omits pins without counts [V] and deleted pins. An omitted pin is
 * assumed to have no counts if it is new, or if only reactions and comments were requested; otherwise it
 * stays ITEM_PENDING. */
static bool read_pins(struct platform_call *call, struct yyjson_val *root)
{
    struct yyjson_val *pin;
    struct str id;
    if (!jsonr_is_object(root))
        return false;
    struct jsonr_iter it = jsonr_iterate(root);
    while (jsonr_next(&it, &id, &pin))
        if (!read_pin(item_find_pending(call, id), pin))
            return false;
    for (size_t i = 0; i < call->item_count; i++)
        if (call->items[i].state == ITEM_PENDING &&
            (requests_lifetime_only(call) ||
             call->now_ms - call->items[i].posted_at < SETTLING_DAYS * DAY_MS))
            call->items[i].state = ITEM_NO_DATA;
    return true;
}

static struct str error_code(struct arena *a, struct yyjson_val *root)
{
    int64_t code;
    if (!jsonr_integer(jsonr_get(root, "code"), &code))
        return (struct str){NULL, 0};
    return arena_printf(a, "%lld", (long long)code);
}

/* Switches to the next form of the request, if there is one. */
static void use_next_form(struct platform_call *call, struct outcome *o)
{
    if (o->scope == SCOPE_APP) {
        if (call->tier != TIER_BULK)
            o->kind = OUTCOME_APP_REJECTED; /* the app is not even permitted to read single pins */
    } else if (call->tier < TIER_LIFETIME) {
        o->these_posts_only = true;
    } else {
        call->items[0].state = ITEM_NO_DATA; /* not ITEM_PERMANENT, because the requested days may be wrong */
        o->kind = OUTCOME_OK;
    }
}

static struct outcome read_error(struct arena *a, struct platform_call *call, struct yyjson_val *root,
                                 const struct http_response *r)
{
    struct str code = error_code(a, root);
    if (!code.p)
        return outcome_unreadable(a, r, call->now_ms);
    struct outcome o = outcome_from_error(a, pinterest_errors, code, r, call->now_ms);
    o.code = arena_printf(a, "%d.%.*s", r->status, (int)o.code.len, o.code.p);
    if (call->combined && o.kind == OUTCOME_OTHER_FORM && r->status == 400)
        o.combined = COMBINED_FAILS; /* repeat with one kind of metrics first */
    else if (o.kind == OUTCOME_OTHER_FORM)
        use_next_form(call, &o);
    if (o.kind == OUTCOME_SPLIT && call->item_count == 1) {
        /* A personal account gets the same error as a deleted pin [V]. */
        call->items[0].state = call->is_personal && r->status == 403 ? ITEM_NO_DATA : ITEM_MISSING;
        o.kind = OUTCOME_OK;
    }
    return o;
}

/* Returns whether the response to a request for both kinds of metrics contains both. Pinterest may accept
 * such a request but return only one kind [live]. */
static enum combined combined_result(const struct platform_call *call)
{
    enum combined found = COMBINED_UNKNOWN;
    for (size_t i = 0; i < call->item_count; i++) {
        const int64_t *counts = call->items[i].counts;
        const bool standard = counts[COUNT_VIEWS] != COUNT_NONE || counts[COUNT_SAVES] != COUNT_NONE;
        const bool lifetime = counts[COUNT_LIKES] != COUNT_NONE || counts[COUNT_COMMENTS] != COUNT_NONE;
        if (standard && lifetime)
            return COMBINED_WORKS;
        if (standard || lifetime)
            found = COMBINED_FAILS;
    }
    return found;
}

static struct outcome parse(struct arena *a, struct platform_call *call, const struct http_response *r)
{
    items_reset(call);
    struct yyjson_val *root = jsonr_parse(a, r->body);
    struct outcome o = outcome_make(OUTCOME_OK, SCOPE_CALL, STR("ok"));
    if (r->status != 200) {
        o = read_error(a, call, root, r);
    } else if (call->tier == TIER_BULK ? !read_pins(call, root) : !read_pin(&call->items[0], root)) {
        items_reset(call);
        o = outcome_make(OUTCOME_MALFORMED, SCOPE_CALL, STR("shape"));
    } else if (call->combined && !requests_lifetime_only(call)) {
        o.combined = combined_result(call);
    }
    read_rate(r, &o);
    return o;
}

/* ---- tokens ---- */

static void build_token(struct arena *a, const struct platform_options *options,
                        const struct platform_app *app, const struct url_field *fields, size_t count,
                        struct http_request *out)
{
    request_set_form(a, options->origins[ORIGIN_API], STR("/v5/oauth/token"), fields, count, out);
    struct str pair = arena_printf(a, "%.*s:%.*s", (int)app->client_id.len, app->client_id.p,
                                   (int)app->client_secret.len, app->client_secret.p);
    size_t size = sodium_base64_encoded_len(pair.len, sodium_base64_VARIANT_ORIGINAL);
    char *text = arena_alloc(a, size + 6);
    memcpy(text, "Basic ", 6);
    (void)sodium_bin2base64(text + 6, size, (const unsigned char *)pair.p, pair.len,
                            sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero((char *)(uintptr_t)pair.p, pair.len);
    request_add_header(out, STR("Authorization"), str_make(text, size + 6 - 1));
}

static void build_refresh(struct arena *a, const struct platform_options *options,
                          const struct platform_app *app, const struct token_grant *have,
                          struct http_request *out)
{
    const struct url_field fields[] = {
        {"grant_type", STR("refresh_token")},
        {"refresh_token", have->refresh_token},
    };
    build_token(a, options, app, fields, sizeof fields / sizeof fields[0], out);
}

/* Every refresh returns a new refresh token; the old one becomes invalid [P]. */
static struct outcome parse_refresh(struct arena *a, const struct http_response *r, struct token_grant *got)
{
    struct yyjson_val *root = jsonr_parse(a, r->body);
    if (r->status == 200 && grant_parse(root, "refresh_token_expires_in", got))
        return outcome_make(OUTCOME_OK, SCOPE_CALL, STR("ok"));
    *got = (struct token_grant){0};
    struct str code = error_code(a, root);
    const struct error_row *row =
        code.p && r->status != 200 ? error_row_find(token_errors, code, r->status) : NULL;
    return row ? outcome_from_error(a, token_errors, code, r, 0) : grant_parse_error(a, root, r);
}

/* ---- linking ---- */

static struct str authorize_path(struct arena *a, const struct platform_authorize *authorize)
{
    const struct url_field fields[] = {
        {"client_id", authorize->app.client_id},
        {"redirect_uri", authorize->redirect_uri},
        {"response_type", STR("code")},
        {"scope", str_from_cstr(pinterest_desc.scopes)},
        {"state", authorize->state},
    };
    return url_with_fields(a, STR("/oauth/?"), fields, sizeof fields / sizeof fields[0]);
}

enum { LINK_TOKEN, LINK_ACCOUNT, LINK_DONE };

static bool link_build(struct arena *a, const struct platform_link *link, struct http_request *out)
{
    const struct url_field fields[] = {
        {"grant_type", STR("authorization_code")},
        {"code", link->code},
        {"redirect_uri", link->redirect_uri},
        {"continuous_refresh", STR("true")}, /* required for apps created before 2025-09-25 [V] */
    };
    if (link->step == LINK_TOKEN)
        build_token(a, link->options, &link->app, fields, sizeof fields / sizeof fields[0], out);
    if (link->step == LINK_ACCOUNT) {
        *out = (struct http_request){.origin = link->options->origins[ORIGIN_API], .method = "GET"};
        out->path = STR("/v5/user_account");
        request_add_bearer(a, out, link->grant.access_token);
    }
    return link->step < LINK_DONE;
}

static struct outcome read_token(struct arena *a, struct platform_link *link, const struct http_response *r)
{
    struct outcome o = parse_refresh(a, r, &link->grant);
    if (o.kind != OUTCOME_OK)
        return o;
    if (!link->grant.refresh_token.len)
        return outcome_make(OUTCOME_MALFORMED, SCOPE_CALL, STR("no_refresh_token"));
    if (!grant_has_scope(link->grant.scopes, STR("pins:read")) ||
        !grant_has_scope(link->grant.scopes, STR("boards:read")))
        return outcome_make(OUTCOME_RECONNECT, SCOPE_ACCOUNT, STR("scope_missing"));
    link->step = LINK_ACCOUNT;
    return o;
}

/* The table pinterest_errors is made for calls about pins: for an error of a single pin, read_error() returns
 * OUTCOME_OK. A call about the account has no pin, and such an error means that a scope is missing. */
static struct outcome read_account_error(struct arena *a, struct yyjson_val *root,
                                         const struct http_response *r)
{
    struct platform_item none = {.id = STR("")};
    struct platform_call call = {.tier = TIER_LIFETIME, .items = &none, .item_count = 1};
    struct outcome o = read_error(a, &call, root, r);
    if (o.kind == OUTCOME_OK) {
        o.kind = OUTCOME_RECONNECT;
        o.scope = SCOPE_ACCOUNT;
    }
    return o;
}

static struct outcome link_parse(struct arena *a, struct platform_link *link, const struct http_response *r)
{
    if (link->step == LINK_TOKEN)
        return read_token(a, link, r);
    struct yyjson_val *root = jsonr_parse(a, r->body);
    if (r->status != 200)
        return read_account_error(a, root, r);
    struct str id = jsonr_id(jsonr_get(root, "id")), username = jsonr_text(jsonr_get(root, "username"));
    if (!id.p)
        id = username; /* the specification declares both optional */
    if (!platform_id_is_plain(id))
        return outcome_make(OUTCOME_MALFORMED, SCOPE_CALL, STR("shape"));
    link->accounts[0] = (struct linked_account){.api = API_PINTEREST, .id = id, .grant = link->grant};
    link->accounts[0].name = grant_display_name(a, username);
    link->accounts[0].is_personal = str_eq(jsonr_text(jsonr_get(root, "account_type")), STR("PINNER"));
    link->account_count = 1;
    link->step = LINK_DONE;
    return outcome_make(OUTCOME_OK, SCOPE_CALL, STR("ok"));
}

/* ---- the section [pinterest] ---- */

static bool is_valid_bulk(struct str value)
{
    return str_eq(value, STR("auto")) || str_eq(value, STR("on")) || str_eq(value, STR("off"));
}

static enum err check_bulk(struct str value, struct error *error)
{
    return config_rule(is_valid_bulk(value), "must be auto, on or off", error);
}

static const struct config_key keys[] = {
    APP_KEYS(PLATFORM_PINTEREST, "pinterest", "Your app at Pinterest. Empty: Pinterest is not used."),
    {"pinterest", "bulk", CONFIG_TEXT, RELOADED(platform[PLATFORM_PINTEREST].bulk), "auto", TEXT_LIMIT(4),
     false, check_bulk,
     "Whether one call reads up to 100 pins: on, off or auto. Pinterest permits this only to some apps; "
     "auto finds out whether your app may."},
    {"pinterest", "calls_per_minute", CONFIG_INTEGER, RELOADED(platform[PLATFORM_PINTEREST].calls_per_minute),
     "55", 1, 1000000, false, NULL, "Calls per minute for each account. Pinterest allows 60."},
    {"pinterest", "calls_per_day", CONFIG_INTEGER, RELOADED(platform[PLATFORM_PINTEREST].units_per_day), "0",
     0, 100000000, false, NULL,
     "Calls per day for the whole app: 1000 while it has trial access. 0: unlimited."},
    IN_FLIGHT_KEY(PLATFORM_PINTEREST, "pinterest", "4", IN_FLIGHT_HELP),
    ORIGIN_KEY(PLATFORM_PINTEREST, "pinterest", api_origin, "https://api.pinterest.com", API_ORIGIN_HELP),
    ORIGIN_KEY(PLATFORM_PINTEREST, "pinterest", consent_origin, "https://www.pinterest.com",
               CONSENT_ORIGIN_HELP),
};
const struct config_section pinterest_keys = CONFIG_SECTION(keys);

const struct platform_desc pinterest_desc = {
    .api = API_PINTEREST,
    .platform = PLATFORM_PINTEREST,
    .section = PLATFORM_PINTEREST,
    .name = "pinterest",
    .title = "Pinterest",
    .scopes = "boards:read,pins:read,user_accounts:read",
    .personal_note =
        "This is a personal account. Pinterest provides counts for business accounts only, so its "
        "views, likes, comments and saves stay empty. Convert it to a business account at Pinterest "
        "(free of charge), then connect it again.",
    .links = true,
    .tiers = TIERS,
    .ids_per_call = {IDS_MAX, 1, 1},
    .combines = true,
    .measurable = {true, true, true, false, true},
    .account_rate = {55, 10}, /* Pinterest: 60 a minute */
    .refresh_before_s = 5 * 86400,
    .build = build,
    .parse = parse,
    .build_refresh = build_refresh,
    .parse_refresh = parse_refresh,
    .authorize_path = authorize_path,
    .link_build = link_build,
    .link_parse = link_parse,
};
