/* TikTok: Display API v2. POST /v2/video/query/ returns the counts of up to twenty videos of one account [V]
 * (see platform.h for this mark); videos that the response lacks are deleted, private or of another account.
 * Ids from the Content Posting API (publish ids) are resolved first. TikTok does not provide saves [V].
 *
 * Errors are identified by `error.code` alone, also with status 200; their messages vary. */
#include "base/json.h"
#include "base/urlencode.h"
#include "platforms/errors.h"
#include "platforms/grant.h"
#include "platforms/platform_keys.h"

#define OK_CODE STR("ok")

#define TOKEN_PATH STR("/v2/oauth/token/")

enum { IDS_MAX = 20, BODY_MAX = 64 << 10 };

/* [E] developers.tiktok.com, "Error Handling" (API v2), all of its codes; [R] "Rate Limits" (2026-08-04);
 * [D] "Direct Post". In this table, these letters replace the marks of platform.h. The codes of the post
 * status are in `resolve_errors`. */
const struct error_row tiktok_errors[] = {
    {"access_token_invalid", 0, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0}, /* [E] */
    {"scope_not_authorized", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},      /* [E] */
    {"scope_permission_missed", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},   /* [E] */
    {"invalid_params", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},              /* [E] */
    {"invalid_file_upload", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},         /* [E] */
    /* [R] 600 calls per sliding minute. Whether per app or per user is undocumented: assume per app. */
    {"rate_limit_exceeded", 0, OUTCOME_RETRY, SCOPE_APP, 60000},
    {"internal_error", 0, OUTCOME_RETRY, SCOPE_CALL, 0},                /* [E] */
    {"reached_active_user_cap", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0}, /* [D] the app was not audited */
    {0},
};

static bool is_readable(struct str post_id)
{
    unsigned long long n;
    return str_to_u64(post_id, INT64_MAX, &n);
}

/* ---- requests and responses ---- */

static void build_read(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    struct buf b;
    buf_init(&b, BODY_MAX);
    json_open(&b, '{');
    JSON_KEY(&b, "filters");
    json_open(&b, '{');
    JSON_KEY(&b, "video_ids");
    json_open(&b, '[');
    for (size_t i = 0; i < call->item_count; i++)
        json_str(&b, call->items[i].id);
    buf_append(&b, STR("]}}"));
    out->path = STR("/v2/video/query/?fields=id,view_count,like_count,comment_count,share_count");
    out->body = arena_copy(a, buf_str(&b));
    buf_fini(&b);
}

static void build_resolve(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    struct buf b;
    buf_init(&b, BODY_MAX);
    json_open(&b, '{');
    JSON_STR(&b, "publish_id", call->items[0].id);
    json_close(&b, '}');
    out->path = STR("/v2/post/publish/status/fetch/");
    out->body = arena_copy(a, buf_str(&b));
    buf_fini(&b);
}

static void build(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    *out = (struct http_request){.origin = call->options->origins[ORIGIN_API], .method = "POST"};
    out->content_type = STR("application/json");
    request_add_bearer(a, out, call->access_token);
    if (call->kind == CALL_RESOLVE)
        build_resolve(a, call, out);
    else
        build_read(a, call, out);
}

static bool read_video(struct platform_call *call, struct yyjson_val *video)
{
    struct platform_item *item = item_find_pending(call, jsonr_id(jsonr_get(video, "id")));
    if (!item)
        return false;
    item->counts[COUNT_VIEWS] = jsonr_count(jsonr_get(video, "view_count"));
    item->counts[COUNT_LIKES] = jsonr_count(jsonr_get(video, "like_count"));
    item->counts[COUNT_COMMENTS] = jsonr_count(jsonr_get(video, "comment_count"));
    item->counts[COUNT_SHARES] = jsonr_count(jsonr_get(video, "share_count"));
    item_set_state(item);
    return true;
}

/* If a response has no `videos`, none of the requested videos exists. */
static bool read_videos(struct platform_call *call, struct yyjson_val *data)
{
    struct yyjson_val *videos = jsonr_get(data, "videos"), *video;
    if (!jsonr_is_object(data) || (videos && !jsonr_is_null(videos) && !jsonr_is_array(videos)))
        return false;
    struct jsonr_iter it = jsonr_iterate(videos);
    while (jsonr_next(&it, NULL, &video))
        if (!read_video(call, video))
            return false;
    return true;
}

static struct str read_published_id(struct yyjson_val *data, const char *name)
{
    struct jsonr_iter it = jsonr_iterate(jsonr_get(data, name));
    struct yyjson_val *first = NULL;
    (void)jsonr_next(&it, NULL, &first);
    return jsonr_id(first);
}

/* Reads the id of a published post. Returns false if the response has another shape than documented. The id
 * appears after a public post has passed moderation, usually within a minute, sometimes after hours; a
 * private post never gets an id [V]. The field is a list of 64-bit integers. */
static bool read_published(struct platform_item *item, struct yyjson_val *data)
{
    struct str status = jsonr_text(jsonr_get(data, "status"));
    if (!status.p)
        return false;
    struct str id = read_published_id(data, "publicaly_available_post_id"); /* sic, as documented [V] */
    if (!id.p)
        id = read_published_id(data, "publicly_available_post_id"); /* [P] */
    item->state = str_eq(status, STR("FAILED")) ? ITEM_PERMANENT : ITEM_NO_DATA;
    if (is_readable(id)) {
        item->state = ITEM_OK;
        item->resolved = id;
    }
    return true;
}

/* Errors of the status call that concern only the post. Reading a status needs an OAuth scope that permits
 * publishing [V], which linking does not request. Without this scope the post stays unresolved, and the
 * account is unaffected. */
static const struct {
    const char *code;
    enum item_state state;
} resolve_errors[] = {
    {"invalid_publish_id", ITEM_MISSING},
    {"token_not_authorized_for_specified_publish_id", ITEM_MISSING},
    {"scope_not_authorized", ITEM_NO_DATA},
    {"scope_permission_missed", ITEM_NO_DATA},
};

static bool apply_post_error(struct platform_call *call, struct str code, struct outcome *o)
{
    for (size_t i = 0; i < sizeof resolve_errors / sizeof resolve_errors[0]; i++) {
        struct str row = str_from_cstr(resolve_errors[i].code);
        if (call->kind != CALL_RESOLVE || !str_eq(row, code))
            continue;
        for (size_t k = 0; k < call->item_count; k++)
            call->items[k].state = resolve_errors[i].state;
        *o = outcome_make(OUTCOME_OK, SCOPE_CALL, row);
        return true;
    }
    return false;
}

/* Returns the error code of a response, or a string whose `p` is NULL if the response has no code. */
static struct str error_code(struct yyjson_val *root)
{
    struct yyjson_val *error = jsonr_get(root, "error");
    struct str code = jsonr_text(jsonr_get(error, "code"));
    return code.p ? code : jsonr_text(error); /* the token endpoint sends "error" as a string [P] */
}

static struct outcome parse(struct arena *a, struct platform_call *call, const struct http_response *r)
{
    items_reset(call);
    struct yyjson_val *root = jsonr_parse(a, r->body), *data = jsonr_get(root, "data");
    struct str code = error_code(root);
    struct outcome o;
    if (!code.p)
        return outcome_unreadable(a, r, call->now_ms);
    if (!str_eq(code, OK_CODE))
        return apply_post_error(call, code, &o) ? o
                                                : outcome_from_error(a, tiktok_errors, code, r, call->now_ms);
    if (r->status != 200)
        return outcome_unreadable(a, r, call->now_ms);
    if (call->kind == CALL_RESOLVE ? read_published(&call->items[0], data) : read_videos(call, data))
        return outcome_make(OUTCOME_OK, SCOPE_CALL, OK_CODE);
    items_reset(call);
    return outcome_make(OUTCOME_MALFORMED, SCOPE_CALL, STR("shape"));
}

/* ---- tokens ---- */

/* Documented lifetimes differ (access token: 24 h, now 2 h), so only the lifetime in the response is used.
 * Refresh tokens rotate [V]. */
static void build_refresh(struct arena *a, const struct platform_options *options,
                          const struct platform_app *app, const struct token_grant *have,
                          struct http_request *out)
{
    const struct url_field fields[] = {
        {"client_key", app->client_id},
        {"client_secret", app->client_secret},
        {"grant_type", STR("refresh_token")},
        {"refresh_token", have->refresh_token},
    };
    request_set_form(a, options->origins[ORIGIN_API], TOKEN_PATH, fields, sizeof fields / sizeof fields[0],
                     out);
}

static struct outcome parse_refresh(struct arena *a, const struct http_response *r, struct token_grant *got)
{
    struct yyjson_val *root = jsonr_parse(a, r->body);
    *got = (struct token_grant){0};
    if (r->status != 200 || jsonr_text(jsonr_get(root, "error")).len)
        return grant_parse_error(a, root, r);
    struct str open_id = jsonr_text(jsonr_get(root, "open_id"));
    if (!grant_parse(root, "refresh_expires_in", got) || (open_id.len && !platform_id_is_plain(open_id))) {
        *got = (struct token_grant){0};
        return grant_parse_error(a, root, r);
    }
    if (open_id.len)
        got->account_id = open_id;
    return outcome_make(OUTCOME_OK, SCOPE_CALL, OK_CODE);
}

/* ---- linking ---- */

/* Login Kit for Web: client_key, scopes with commas, no PKCE [V]. With disable_auto_auth the consent page
 * appears even if the person has already consented; otherwise they could never change the account or a
 * declined permission [P]. */
static struct str authorize_path(struct arena *a, const struct platform_authorize *authorize)
{
    const struct url_field fields[] = {
        {"client_key", authorize->app.client_id},
        {"response_type", STR("code")},
        {"scope", str_from_cstr(tiktok_desc.scopes)},
        {"redirect_uri", authorize->redirect_uri},
        {"state", authorize->state},
        {"disable_auto_auth", STR("1")},
    };
    return url_with_fields(a, STR("/v2/auth/authorize/?"), fields, sizeof fields / sizeof fields[0]);
}

enum { LINK_TOKEN, LINK_NAME, LINK_DONE };

static bool link_build(struct arena *a, const struct platform_link *link, struct http_request *out)
{
    const struct url_field fields[] = {
        {"client_key", link->app.client_id},
        {"client_secret", link->app.client_secret},
        {"code", link->code},
        {"grant_type", STR("authorization_code")},
        {"redirect_uri", link->redirect_uri},
    };
    if (link->step == LINK_TOKEN)
        request_set_form(a, link->options->origins[ORIGIN_API], TOKEN_PATH, fields,
                         sizeof fields / sizeof fields[0], out);
    if (link->step == LINK_NAME) {
        *out = (struct http_request){.origin = link->options->origins[ORIGIN_API], .method = "GET"};
        out->path = STR("/v2/user/info/?fields=open_id,display_name");
        request_add_bearer(a, out, link->grant.access_token);
    }
    return link->step < LINK_DONE;
}

static struct outcome read_token(struct arena *a, struct platform_link *link, const struct http_response *r)
{
    struct outcome o = parse_refresh(a, r, &link->grant);
    if (o.kind != OUTCOME_OK)
        return o;
    if (!link->grant.account_id.p || !link->grant.refresh_token.len)
        return outcome_make(OUTCOME_MALFORMED, SCOPE_CALL, STR("shape"));
    if (!grant_has_scope(link->grant.scopes, STR("video.list")))
        return outcome_make(OUTCOME_RECONNECT, SCOPE_ACCOUNT,
                            STR("scope_missing")); /* declined by the author */
    link->accounts[0] =
        (struct linked_account){.api = API_TIKTOK, .id = link->grant.account_id, .grant = link->grant};
    link->account_count = 1;
    link->step = LINK_NAME;
    return o;
}

static struct outcome link_parse(struct arena *a, struct platform_link *link, const struct http_response *r)
{
    if (link->step == LINK_TOKEN)
        return read_token(a, link, r);
    /* The name is only for display: link the account even without it. */
    struct yyjson_val *user = jsonr_get(jsonr_get(jsonr_parse(a, r->body), "data"), "user");
    link->accounts[0].name = grant_display_name(a, jsonr_text(jsonr_get(user, "display_name")));
    link->step = LINK_DONE;
    return outcome_make(OUTCOME_OK, SCOPE_CALL, OK_CODE);
}

/* ---- the section [tiktok] ---- */

static const struct config_key keys[] = {
    APP_KEYS(PLATFORM_TIKTOK, "tiktok",
             "Your app at TikTok; TikTok calls its id the client key. Empty: TikTok is not used."),
    {"tiktok", "calls_per_minute", CONFIG_INTEGER, RELOADED(platform[PLATFORM_TIKTOK].calls_per_minute),
     "600", 1, 1000000, false, NULL, "Calls per minute for the whole app. TikTok allows 600."},
    IN_FLIGHT_KEY(PLATFORM_TIKTOK, "tiktok", "8", IN_FLIGHT_HELP),
    ORIGIN_KEY(PLATFORM_TIKTOK, "tiktok", api_origin, "https://open.tiktokapis.com", API_ORIGIN_HELP),
    ORIGIN_KEY(PLATFORM_TIKTOK, "tiktok", consent_origin, "https://www.tiktok.com", CONSENT_ORIGIN_HELP),
};
const struct config_section tiktok_keys = CONFIG_SECTION(keys);

const struct platform_desc tiktok_desc = {
    .api = API_TIKTOK,
    .platform = PLATFORM_TIKTOK,
    .section = PLATFORM_TIKTOK,
    .name = "tiktok",
    .title = "TikTok",
    .scopes = "user.info.basic,video.list",
    .links = true,
    .tiers = 1,
    .ids_per_call = {IDS_MAX},
    .ids_per_resolve = 1,
    .measurable = {true, true, true, true, false},
    .app_rate = {600, 20},
    .account_rate = {30, 10}, /* the limit of the status call [V]; reads stay far below it */
    .refresh_before_s = 15 * 60,
    .is_readable = is_readable,
    .build = build,
    .parse = parse,
    .build_refresh = build_refresh,
    .parse_refresh = parse_refresh,
    .authorize_path = authorize_path,
    .link_build = link_build,
    .link_parse = link_parse,
};
