/* Links Facebook pages and the Instagram accounts connected to them. Both are read with the page's token,
 * which does not expire while the person keeps their role on the page [V]. */
#include "base/check.h"
#include "base/urlencode.h"
#include "platforms/facebook.h"
#include "platforms/graph.h"
#include "platforms/grant.h"

/* At most four responses with Facebook pages are read, and at most four with portfolios. */
enum {
    STEP_CODE,
    STEP_LONG,
    STEP_PAGES,
    STEP_PERMISSIONS = STEP_PAGES + 4,
    STEP_PORTFOLIOS,
    STEP_DONE = STEP_PORTFOLIOS + 4,
};

#define PORTFOLIO_SCOPE "business_management"
#define PAGE_FIELDS     "id,name,access_token,instagram_business_account{id,username}"

const struct platform_permission facebook_permissions[] = {
    {"pages_read_engagement", "read your pages", "Without it, no numbers of this page can be read."},
    {"read_insights", "read the insights of your pages", "Without it, views stay empty."},
    {"pages_read_user_content", "read the comments and reactions on your pages",
     "Without it, likes, comments and shares stay empty for some posts."},
    {0},
};

const struct platform_permission instagram_facebook_permissions[] = {
    {"instagram_basic", "see your Instagram account", "Without it, no numbers of this account can be read."},
    {"instagram_manage_insights", "read the insights of your Instagram account",
     "Without it, no numbers of this account can be read."},
    {"pages_read_engagement", "read your pages",
     "Without it, the Instagram accounts of your pages cannot be read."},
    {0},
};

/* ---- requests ---- */

/* A configuration of Facebook Login for Business lists the permissions, so `scope` is omitted. Without
 * auth_type=rerequest the consent page never offers a declined permission again [V]. */
struct str facebook_authorize_path(struct arena *a, const struct platform_authorize *authorize)
{
    const struct platform_options *options = authorize->options;
    const char *more = options->more_scopes ? options->more_scopes : "";
    const bool configured = options->config_id && *options->config_id;
    const struct str none = {NULL, 0};
    struct str scopes = arena_printf(a, "%s%s%s", facebook_desc.scopes, *more ? "," : "", more);
    const struct url_field fields[] = {
        {"client_id", authorize->app.client_id},
        {"redirect_uri", authorize->redirect_uri},
        {"state", authorize->state},
        {"response_type", STR("code")},
        {"scope", configured ? none : scopes},
        {"config_id", configured ? str_from_cstr(options->config_id) : none},
        {"auth_type", authorize->again ? STR("rerequest") : none},
    };
    return url_with_fields(a, arena_printf(a, "/%s/dialog/oauth?", options->graph_version), fields,
                           sizeof fields / sizeof fields[0]);
}

/* Meta documents both token requests as GETs with the secret in the URL [V]. */
static void build_token(struct arena *a, const struct platform_link *link, struct http_request *out)
{
    const struct url_field code[] = {{"client_id", link->app.client_id},
                                     {"redirect_uri", link->redirect_uri},
                                     {"client_secret", link->app.client_secret},
                                     {"code", link->code}};
    const struct url_field exchange[] = {{"grant_type", STR("fb_exchange_token")},
                                         {"client_id", link->app.client_id},
                                         {"client_secret", link->app.client_secret},
                                         {"fb_exchange_token", link->grant.access_token}};
    struct str before = arena_printf(a, "/%s/oauth/access_token?", link->options->graph_version);
    out->path = url_with_fields(a, before, link->step == STEP_CODE ? code : exchange, 4);
}

/* Paging uses the cursor; an address in a response is never used. */
static void build_list(struct arena *a, const struct platform_link *link, const char *edge, const char *names,
                       const char *limit, struct http_request *out)
{
    const struct url_field fields[] = {
        {"fields", str_from_cstr(names)}, {"limit", str_from_cstr(limit)}, {"after", link->cursor}};
    struct str before = arena_printf(a, "/%s/me/%s?", link->options->graph_version, edge);
    out->path = url_with_fields(a, before, fields, 3);
    request_add_bearer(a, out, link->grant.access_token);
}

bool facebook_link_build(struct arena *a, const struct platform_link *link, struct http_request *out)
{
    *out = (struct http_request){.origin = link->options->origins[ORIGIN_API], .method = "GET"};
    if (link->step >= STEP_DONE)
        return false;
    if (link->step < STEP_PAGES) {
        build_token(a, link, out);
    } else if (link->step < STEP_PERMISSIONS) {
        build_list(a, link, "accounts", PAGE_FIELDS, "50", out);
    } else if (link->step == STEP_PERMISSIONS) {
        out->path = arena_printf(a, "/%s/me/permissions", link->options->graph_version);
        request_add_bearer(a, out, link->grant.access_token);
    } else {
        build_list(a, link, "businesses",
                   "owned_pages.limit(50){" PAGE_FIELDS "},client_pages.limit(50){" PAGE_FIELDS "}", "10",
                   out);
    }
    return true;
}

/* ---- responses ---- */

static bool is_known(const struct platform_link *link, enum platform_api api, struct str id)
{
    for (size_t i = 0; i < link->account_count; i++)
        if (link->accounts[i].api == api && str_eq(link->accounts[i].id, id))
            return true;
    return false;
}

static void add_account(struct arena *a, struct platform_link *link, enum platform_api api,
                        struct yyjson_val *account, const char *name, struct str token)
{
    struct str id = jsonr_id(jsonr_get(account, "id"));
    if (!platform_id_is_plain(id) || is_known(link, api, id) || link->account_count == LINK_ACCOUNTS_MAX)
        return;
    link->accounts[link->account_count++] = (struct linked_account){
        .api = api,
        .id = id,
        .name = grant_display_name(a, jsonr_text(jsonr_get(account, name))),
        .grant = {.access_token = token, .scopes = link->grant.scopes, .account_id = id, .expires_in_s = -1},
    };
}

/* Adds a page and its Instagram account. Ignores a page without a token, because the person has no permission
 * to read it. */
static void add_page(struct arena *a, struct platform_link *link, struct yyjson_val *page)
{
    struct str token = jsonr_text(jsonr_get(page, "access_token"));
    if (!grant_token_fits_header(token))
        return;
    add_account(a, link, API_FACEBOOK, page, "name", token);
    add_account(a, link, API_INSTAGRAM_FACEBOOK, jsonr_get(page, "instagram_business_account"), "username",
                token);
}

static void add_pages(struct arena *a, struct platform_link *link, struct yyjson_val *list)
{
    struct jsonr_iter it = jsonr_iterate(jsonr_get(list, "data"));
    struct yyjson_val *page;
    while (jsonr_next(&it, NULL, &page))
        add_page(a, link, page);
}

/* Sets the step that follows a response. The platform sends a list in parts. If there are more, the next step
 * requests the next part. After the last part, or if the steps for parts are used up, it is `after_list`. */
static void next_step(struct platform_link *link, struct yyjson_val *list, int after_list)
{
    struct yyjson_val *paging = jsonr_get(list, "paging");
    link->cursor = jsonr_text(jsonr_get(jsonr_get(paging, "cursors"), "after"));
    if (jsonr_get(paging, "next") && link->cursor.len && link->step + 1 < after_list) {
        link->step++;
        return;
    }
    link->step = after_list;
    link->cursor = (struct str){NULL, 0};
}

static void read_portfolios(struct arena *a, struct platform_link *link, struct yyjson_val *list)
{
    struct jsonr_iter it = jsonr_iterate(jsonr_get(list, "data"));
    struct yyjson_val *portfolio;
    while (jsonr_next(&it, NULL, &portfolio)) {
        add_pages(a, link, jsonr_get(portfolio, "owned_pages"));
        add_pages(a, link, jsonr_get(portfolio, "client_pages"));
    }
    next_step(link, list, STEP_DONE);
}

/* Returns which of facebook_desc.scopes and PORTFOLIO_SCOPE were granted, comma-separated; "" if none was.
 * Other permissions of more_scopes are omitted. */
static struct str granted_scopes(struct arena *a, struct yyjson_val *list)
{
    struct str requested = arena_printf(a, "%s,%s", facebook_desc.scopes, PORTFOLIO_SCOPE);
    struct str granted = STR("");
    struct jsonr_iter it = jsonr_iterate(jsonr_get(list, "data"));
    struct yyjson_val *row;
    while (jsonr_next(&it, NULL, &row)) {
        struct str name = jsonr_text(jsonr_get(row, "permission"));
        if (name.len && str_eq(jsonr_text(jsonr_get(row, "status")), STR("granted")) &&
            graph_has_name(requested, name) && !graph_has_name(granted, name))
            granted = arena_printf(a, "%.*s%s%.*s", (int)granted.len, granted.p, granted.len ? "," : "",
                                   (int)name.len, name.p);
    }
    return granted;
}

static void read_permissions(struct arena *a, struct platform_link *link, struct yyjson_val *list)
{
    struct str scopes = link->grant.scopes = granted_scopes(a, list);
    for (size_t i = 0; i < link->account_count; i++)
        link->accounts[i].grant.scopes = scopes;
    link->step = scopes.len && grant_has_scope(scopes, STR(PORTFOLIO_SCOPE)) ? STEP_PORTFOLIOS : STEP_DONE;
}

static struct outcome parse_token(struct arena *a, struct platform_link *link,
                                  const struct http_response *response)
{
    struct token_grant got;
    struct outcome o = graph_parse_grant(a, response, &got);
    if (o.kind == OUTCOME_OK) {
        link->grant = got;
        link->step++;
    }
    return o;
}

struct outcome facebook_link_parse(struct arena *a, struct platform_link *link,
                                   const struct http_response *response)
{
    struct graph_response g;
    const int step = link->step;
    CHECK(step < STEP_DONE);
    if (step < STEP_PAGES)
        return parse_token(a, link, response);
    struct graph_result part = {.kind = GRAPH_CALL};
    if (graph_response_open(&g, a, NULL, response, false, 0))
        part = graph_response_next(&g);
    if (part.kind == GRAPH_OK && !jsonr_is_array(jsonr_get(part.body, "data")))
        graph_set_malformed(&g, step < STEP_PERMISSIONS ? "pages" : "list");
    struct outcome o = graph_response_outcome(&g);
    if (step >= STEP_PERMISSIONS && o.kind != OUTCOME_OK) {
        link->step = STEP_DONE; /* Link the accounts found so far even if these lists are rejected. */
        return outcome_make(OUTCOME_OK, SCOPE_CALL, o.code);
    }
    if (o.kind != OUTCOME_OK)
        return o;
    if (step == STEP_PERMISSIONS) {
        read_permissions(a, link, part.body);
    } else if (step < STEP_PERMISSIONS) {
        add_pages(a, link, part.body);
        next_step(link, part.body, STEP_PERMISSIONS);
    } else {
        read_portfolios(a, link, part.body);
    }
    return o;
}
