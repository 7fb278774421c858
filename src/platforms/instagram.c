/* Instagram with both logins. Counts are insights of a media object [V, 2026-06-18]: up to 48 hours late,
 * organic only, available for two years. The media object itself has some of the counts, but no views.
 *
 * Instagram Login: graph.instagram.com, one post per call unless the operator enables batches [K]; its token
 * is valid for 60 days and can be exchanged for a new one. Facebook Login: graph.facebook.com, batches of up
 * to 50 operations, no refresh; linked together with Facebook pages (facebook_link.c). */
#include "base/check.h"
#include "base/urlencode.h"
#include "platforms/facebook.h"
#include "platforms/grant.h"
#include "platforms/graph.h"
#include "platforms/platform_keys.h"
#include "platforms/response_reader.h"

#define METRICS STR("views,likes,comments,shares,saved")
/* These are available for old posts, too. Shares and saves are then requested separately, if the batch has
 * room. */
#define FEWER  STR("views,likes,comments")
#define FIELDS STR("like_count,comments_count")

enum { TIER_ALL, TIER_FEWER, TIER_NODE, TIERS };
enum { OPERATIONS_MAX = 3 }; /* operations per post, in TIER_FEWER */

static const struct {
    const char *name;
    enum count_kind kind;
} metrics[] = {
    {"views", COUNT_VIEWS},   {"likes", COUNT_LIKES}, {"comments", COUNT_COMMENTS},
    {"shares", COUNT_SHARES}, {"saved", COUNT_SAVES},
};

/* ---- requests ---- */

/* Sets `lists` to the lists of metrics, one for each operation on a post, and returns the number of
 * operations per post. 0 means that the media object is read instead. */
static size_t plan(struct arena *a, const struct platform_call *call, bool batch, struct str *lists)
{
    static const char *const singles[] = {"shares", "saved"};
    const size_t most = batch && call->item_count * OPERATIONS_MAX <= GRAPH_BATCH_MAX ? 2 : 0;
    size_t n = 0;
    if (call->tier == TIER_NODE)
        return 0;
    lists[n] = graph_remove_names(a, call->tier == TIER_ALL ? METRICS : FEWER, call->dropped);
    n += lists[n].len > 0;
    for (size_t i = 0; call->tier == TIER_FEWER && i < most; i++) {
        lists[n] = graph_remove_names(a, str_from_cstr(singles[i]), call->dropped);
        n += lists[n].len > 0;
    }
    return n;
}

static struct str insights_path(struct arena *a, const struct platform_item *item, struct str list)
{
    return arena_printf(a, "%.*s/insights?metric=%.*s", (int)item->id.len, item->id.p, (int)list.len, list.p);
}

static struct str node_path(struct arena *a, const struct platform_item *item)
{
    return arena_printf(a, "%.*s?fields=%.*s", (int)item->id.len, item->id.p, (int)FIELDS.len, FIELDS.p);
}

static void build_metrics(struct arena *a, const struct platform_call *call, bool batch,
                          struct http_request *out)
{
    struct str lists[OPERATIONS_MAX], paths[GRAPH_BATCH_MAX];
    size_t each = plan(a, call, batch, lists), n = 0;
    for (size_t i = 0; i < call->item_count; i++) {
        CHECK(n + (each ? each : 1) <= GRAPH_BATCH_MAX);
        for (size_t k = 0; k < each; k++)
            paths[n++] = insights_path(a, &call->items[i], lists[k]);
        if (!each)
            paths[n++] = node_path(a, &call->items[i]);
    }
    if (batch)
        graph_build_batch(a, call, paths, n, out);
    else
        graph_build_get(a, call, paths[0], out);
}

/* ---- responses ---- */

static bool read_insights(struct graph_response *g, struct yyjson_val *body, struct platform_item *item)
{
    if (!graph_is_insights(body, item->id)) {
        graph_set_malformed(g, "insights");
        return false;
    }
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        int64_t n = jsonr_count(graph_find_insight(body, metrics[i].name));
        if (n != COUNT_NONE)
            item->counts[metrics[i].kind] = n;
    }
    item_set_state(item);
    return true;
}

static void read_node(struct graph_response *g, struct yyjson_val *body, struct platform_item *item)
{
    struct str id = jsonr_id(jsonr_get(body, "id"));
    if (id.p && !str_eq(id, item->id)) {
        graph_set_malformed(g, "id");
        item->state = ITEM_RETRY;
        return;
    }
    item->counts[COUNT_LIKES] = jsonr_count(jsonr_get(body, "like_count"));
    item->counts[COUNT_COMMENTS] = jsonr_count(jsonr_get(body, "comments_count"));
    item_set_state(item);
}

/* Returns true if the metric is not available for this kind of post, and false if the metric no longer
 * exists. Only the message shows the difference. */
static bool is_unavailable_for_post(struct str message)
{
    return graph_contains_nocase(message, STR("media product type"));
}

static void read_part(struct graph_response *g, struct graph_result part, struct str requested,
                      struct platform_item *item)
{
    switch (part.kind) {
    case GRAPH_OK:
        if (!requested.p)
            read_node(g, part.body, item);
        else if (!read_insights(g, part.body, item))
            item->state = ITEM_RETRY;
        return;
    case GRAPH_ITEM: item->state = part.state; return;
    case GRAPH_METRIC:
        if (!graph_retry_in_other_form(g, graph_find_rejected_metric(part.message, requested),
                                       is_unavailable_for_post(part.message), TIERS))
            item->state = ITEM_NO_DATA;
        return;
    case GRAPH_DENIED: item->state = ITEM_DENIED; return;
    case GRAPH_GONE_OR_DENIED:
    case GRAPH_CALL: return;
    }
}

/* Without the permission, the insights of a post are denied or empty [live]. So counts prove the permission,
 * and so does the error that a post has not enough viewers. */
static void tally_insights(struct graph_insights *t, const struct graph_response *g,
                           const struct platform_item *item, struct graph_result part)
{
    const bool has_few_viewers = part.kind == GRAPH_ITEM && part.state == ITEM_NO_DATA;
    const bool denied = item->state == ITEM_DENIED, is_expected = graph_expects_insights(g->call, item);
    t->proven += item->state == ITEM_OK || has_few_viewers;
    t->denied += denied;
    t->lacking += is_expected && denied;
    t->silent += !is_expected && part.kind == GRAPH_OK && item->state == ITEM_NO_DATA;
}

static void read_item(struct graph_response *g, size_t each, const struct str *lists,
                      struct platform_item *item, struct graph_insights *tally)
{
    const struct graph_result first = graph_response_next(g);
    read_part(g, first, each ? lists[0] : (struct str){NULL, 0}, item);
    tally_insights(tally, g, item, first);
    for (size_t k = 1; k < each; k++) {
        struct graph_result part = graph_response_next(g);
        bool fits = part.kind == GRAPH_OK && (item->state == ITEM_OK || item->state == ITEM_NO_DATA);
        if (fits)
            (void)read_insights(g, part.body, item);
    }
}

static struct outcome parse_metrics(struct arena *a, struct platform_call *call,
                                    const struct http_response *response, bool refreshes, bool batch)
{
    struct graph_response g;
    struct graph_insights tally = {0};
    struct str lists[OPERATIONS_MAX];
    size_t each = plan(a, call, batch, lists);
    items_reset(call);
    if (graph_response_open(&g, a, call, response, refreshes,
                            batch ? call->item_count * (each ? each : 1) : 0))
        for (size_t i = 0; i < call->item_count; i++)
            read_item(&g, each, lists, &call->items[i], &tally);
    struct outcome o = graph_response_outcome(&g);
    o.no_insights = o.kind == OUTCOME_OK && graph_lacks_insights(&tally);
    return o;
}

/* ---- build() and parse() of both logins ---- */

/* A call has more than one item only if the operator enabled batches. */
static bool is_batch(const struct platform_call *call)
{
    return call->item_count > 1;
}

static void build(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    build_metrics(a, call, is_batch(call), out);
}

static struct outcome parse(struct arena *a, struct platform_call *call, const struct http_response *response)
{
    return parse_metrics(a, call, response, true, is_batch(call));
}

static void build_facebook_login(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    build_metrics(a, call, true, out);
}

static struct outcome parse_facebook_login(struct arena *a, struct platform_call *call,
                                           const struct http_response *response)
{
    return parse_metrics(a, call, response, false, true);
}

/* ---- Instagram Login: tokens ---- */

/* Meta documents only GETs with the token, and in build_long() also the secret, in the URL [V]. */
static void build_refresh(struct arena *a, const struct platform_options *options,
                          const struct platform_app *app, const struct token_grant *have,
                          struct http_request *out)
{
    const struct url_field fields[] = {{"grant_type", STR("ig_refresh_token")},
                                       {"access_token", have->access_token}};
    (void)app;
    *out = (struct http_request){.origin = options->origins[ORIGIN_API], .method = "GET"};
    out->path = url_with_fields(a, STR("/refresh_access_token?"), fields, 2);
}

/* The access token is replaced; there is no refresh token. */
static struct outcome parse_refresh(struct arena *a, const struct http_response *response,
                                    struct token_grant *got)
{
    return graph_parse_grant(a, response, got);
}

/* ---- Instagram Login: linking ---- */

enum { STEP_CODE, STEP_LONG, STEP_ME, STEP_DONE };

static struct str authorize_path(struct arena *a, const struct platform_authorize *authorize)
{
    const struct str none = {NULL, 0};
    const struct url_field fields[] = {{"client_id", authorize->app.client_id},
                                       {"redirect_uri", authorize->redirect_uri},
                                       {"response_type", STR("code")},
                                       {"scope", str_from_cstr(instagram_desc.scopes)},
                                       {"state", authorize->state},
                                       {"force_reauth", authorize->again ? STR("true") : none}};
    return url_with_fields(a, STR("/oauth/authorize?"), fields, 6);
}

static void build_code(struct arena *a, const struct platform_link *link, struct http_request *out)
{
    struct str code;
    (void)str_cut(link->code, '#', &code); /* Instagram appends "#_" to the redirect URL [V] */
    const struct url_field fields[] = {{"client_id", link->app.client_id},
                                       {"client_secret", link->app.client_secret},
                                       {"grant_type", STR("authorization_code")},
                                       {"redirect_uri", link->redirect_uri},
                                       {"code", code}};
    request_set_form(a, link->options->origins[ORIGIN_TOKEN], STR("/oauth/access_token"), fields, 5, out);
}

static void build_long(struct arena *a, const struct platform_link *link, struct http_request *out)
{
    const struct url_field fields[] = {{"grant_type", STR("ig_exchange_token")},
                                       {"client_secret", link->app.client_secret},
                                       {"access_token", link->grant.access_token}};
    out->path = url_with_fields(a, STR("/access_token?"), fields, 3);
}

static bool link_build(struct arena *a, const struct platform_link *link, struct http_request *out)
{
    *out = (struct http_request){.origin = link->options->origins[ORIGIN_API], .method = "GET"};
    switch (link->step) {
    case STEP_CODE: build_code(a, link, out); return true;
    case STEP_LONG: build_long(a, link, out); return true;
    case STEP_ME:
        out->path = arena_printf(a, "/%s/me?fields=user_id,username", link->options->graph_version);
        request_add_bearer(a, out, link->grant.access_token);
        return true;
    default: return false;
    }
}

/* Returns the granted permissions of the token response, which are a comma-separated text or a list [P]. */
static struct str permissions(struct arena *a, struct yyjson_val *v)
{
    struct str all = jsonr_text(v);
    struct jsonr_iter it = jsonr_iterate(v);
    struct yyjson_val *one;
    while (jsonr_is_array(v) && jsonr_next(&it, NULL, &one)) {
        struct str name = jsonr_text(one);
        all = arena_printf(a, "%.*s%s%.*s", (int)all.len, all.p ? all.p : "", all.len ? "," : "",
                           (int)name.len, name.p ? name.p : "");
    }
    return all;
}

/* Parses the response to the exchange of the code. It is documented as a list with one element in `data`, but
 * other projects report an object without the list [P]. */
static struct outcome parse_code(struct arena *a, struct platform_link *link,
                                 const struct http_response *response)
{
    struct yyjson_val *root = jsonr_parse(a, response->body), *first = root;
    struct jsonr_iter it = jsonr_iterate(jsonr_get(root, "data"));
    (void)jsonr_next(&it, NULL, &first);
    if (response->status != 200 || !grant_parse(first, NULL, &link->grant))
        return graph_parse_grant_error(a, response, root);
    link->grant.scopes = permissions(a, jsonr_get(first, "permissions"));
    link->step = STEP_LONG;
    return outcome_make(OUTCOME_OK, SCOPE_CALL, STR("ok"));
}

static struct outcome parse_long(struct arena *a, struct platform_link *link,
                                 const struct http_response *response)
{
    struct token_grant got;
    struct outcome o = graph_parse_grant(a, response, &got);
    if (o.kind != OUTCOME_OK)
        return o;
    got.scopes = link->grant.scopes;
    link->grant = got;
    link->step = STEP_ME;
    return o;
}

/* Reads the account. `user_id` is the id of the professional account, which owns the media; `id` differs per
 * app. */
static struct outcome parse_me(struct arena *a, struct platform_link *link,
                               const struct http_response *response)
{
    struct graph_response g;
    if (graph_response_open(&g, a, NULL, response, false, 0)) {
        struct graph_result part = graph_response_next(&g);
        struct yyjson_val *me = part.body;
        struct jsonr_iter it = jsonr_iterate(jsonr_get(me, "data"));
        (void)jsonr_next(&it, NULL,
                         &me); /* documented as a list with one element [V], in practice an object */
        struct str id = jsonr_id(jsonr_get(me, "user_id"));
        if (part.kind == GRAPH_OK && platform_id_is_plain(id)) {
            struct str name = grant_display_name(a, jsonr_text(jsonr_get(me, "username")));
            link->grant.account_id = id;
            link->accounts[0] =
                (struct linked_account){.api = API_INSTAGRAM, .id = id, .name = name, .grant = link->grant};
            link->account_count = 1;
            link->step = STEP_DONE;
        } else if (part.kind == GRAPH_OK) {
            graph_set_malformed(&g, "me");
        }
    }
    return graph_response_outcome(&g);
}

static struct outcome link_parse(struct arena *a, struct platform_link *link,
                                 const struct http_response *response)
{
    CHECK(link->step < STEP_DONE);
    if (link->step == STEP_CODE)
        return parse_code(a, link, response);
    return link->step == STEP_LONG ? parse_long(a, link, response) : parse_me(a, link, response);
}

/* ---- descriptors ---- */

static const struct platform_permission permissions_of_instagram[] = {
    {"instagram_business_manage_insights", "read the insights of your account",
     "Without it, no numbers of this account can be read."},
    {0},
};

#define ALL_COUNTS                                                                                           \
    {                                                                                                        \
        true, true, true, true, true                                                                         \
    }

/* ---- the section [instagram] ---- */

static const struct config_key keys[] = {
    APP_KEYS(PLATFORM_INSTAGRAM, "instagram",
             "Your app for Instagram's own login. Empty: accounts are connected through Facebook only."),
    {"instagram", "batch", CONFIG_SWITCH, RELOADED(platform[PLATFORM_INSTAGRAM].batch), "off", NO_LIMIT,
     false, NULL,
     "Read several posts in one call of graph.instagram.com (a batch). Meta does not document that this "
     "host\n"
     "accepts batches. off: one post per call."},
    IN_FLIGHT_KEY(PLATFORM_INSTAGRAM, "instagram", "8", IN_FLIGHT_HELP),
    ORIGIN_KEY(PLATFORM_INSTAGRAM, "instagram", api_origin, "https://graph.instagram.com", API_ORIGIN_HELP),
    ORIGIN_KEY(PLATFORM_INSTAGRAM, "instagram", token_origin, "https://api.instagram.com", TOKEN_ORIGIN_HELP),
    ORIGIN_KEY(PLATFORM_INSTAGRAM, "instagram", consent_origin, "https://www.instagram.com",
               CONSENT_ORIGIN_HELP),
};
const struct config_section instagram_keys = CONFIG_SECTION(keys);

/* Meta allows 4800 calls a day for each impression of the account. Meta's headers report the usage of this
 * limit, so the descriptor contains no rate [V]. */
const struct platform_desc instagram_desc = {
    .api = API_INSTAGRAM,
    .platform = PLATFORM_INSTAGRAM,
    .section = PLATFORM_INSTAGRAM,
    .name = "instagram",
    .title = "Instagram",
    .scopes = "instagram_business_basic,instagram_business_manage_insights",
    .permissions = permissions_of_instagram,
    .links = true,
    .tiers = TIERS,
    .ids_per_call = {1, 1, 1},
    .measurable = ALL_COUNTS,
    .refresh_before_s = 30 * 86400,
    .refresh_min_age_s = 86400,
    .build = build,
    .parse = parse,
    .build_refresh = build_refresh,
    .parse_refresh = parse_refresh,
    .authorize_path = authorize_path,
    .link_build = link_build,
    .link_parse = link_parse,
};

const struct platform_desc instagram_facebook_desc = {
    .api = API_INSTAGRAM_FACEBOOK,
    .platform = PLATFORM_INSTAGRAM,
    .section = PLATFORM_FACEBOOK,
    .name = "instagram-facebook",
    .title = "Instagram (Facebook login)",
    .scopes = "",
    .permissions = instagram_facebook_permissions,
    .tiers = TIERS,
    .ids_per_call = {50, 16, 50},
    .measurable = ALL_COUNTS,
    .refresh_before_s = -1,
    .build = build_facebook_login,
    .parse = parse_facebook_login,
};
