/* YouTube: Data API v3. Request form 0 is videos:batchGetStats (2026-06-03) [V], form 1 is videos.list [V];
 * each form has its own daily quota. Both work with an author's token or with the API key, which reads public
 * videos of any author, so that one call can read videos of several authors.
 *
 * Counts are strings of digits; a hidden or disabled count is absent. `favoriteCount` is always "0" and
 * meaningless. There are no shares and no saves. */
#include "base/urlencode.h"
#include "platforms/errors.h"
#include "platforms/grant.h"
#include "platforms/platform_keys.h"

#define SCOPE STR("https://www.googleapis.com/auth/youtube.readonly")

#define TOKEN_PATH STR("/token")

enum { IDS_MAX = 50 };
enum { TIER_BATCH, TIER_LIST };

/* ---- requests ---- */

static void build(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    const bool batch = call->tier == TIER_BATCH;
    const struct url_field fields[] = {
        {"part", batch ? STR("id,statistics") : STR("statistics")},
        {"id", items_join_ids(a, call)},
        {"key", call->by_key ? call->access_token : (struct str){NULL, 0}},
    };
    *out = (struct http_request){.origin = call->options->origins[ORIGIN_API], .method = "GET"};
    out->path =
        url_with_fields(a, batch ? STR("/youtube/v3/videos:batchGetStats?") : STR("/youtube/v3/videos?"),
                        fields, sizeof fields / sizeof fields[0]);
    if (!call->by_key)
        request_add_bearer(a, out, call->access_token);
}

/* ---- reading errors ---- */

static bool is_unspecific_reason(struct str reason)
{
    const struct error_row *row = error_row_find(youtube_errors, reason, 0);
    return !row || row->outcome == OUTCOME_BAD_REQUEST || row->outcome == OUTCOME_RECONNECT ||
           row->outcome == OUTCOME_TOKEN_REJECTED;
}

/* Returns true if a rate limit error means that the daily quota is spent. Since 2026, errors of short-term
 * limits and of the daily quota have the same reason; only the unit differs, such as "1/d/{project}" for a
 * day [live]. */
static bool is_daily_limit(struct yyjson_val *error)
{
    struct jsonr_iter it = jsonr_iterate(jsonr_get(error, "details"));
    struct yyjson_val *detail;
    while (jsonr_next(&it, NULL, &detail)) {
        struct yyjson_val *metadata = jsonr_get(detail, "metadata");
        if (str_starts_with(jsonr_text(jsonr_get(metadata, "quota_unit")), STR("1/d/")))
            return true;
    }
    return false;
}

/* Returns the reason of an error: errors[0].reason if it is specific. If it is general, the first documented
 * reason in details[] takes precedence. If it is absent, returns the first reason in details[] or, if
 * details[] contains no reason, `status`. */
static struct str error_reason(struct yyjson_val *error)
{
    struct yyjson_val *v = NULL;
    struct jsonr_iter it = jsonr_iterate(jsonr_get(error, "errors"));
    (void)jsonr_next(&it, NULL, &v);
    struct str reason = jsonr_text(jsonr_get(v, "reason"));
    if (reason.len && !is_unspecific_reason(reason))
        return reason;
    it = jsonr_iterate(jsonr_get(error, "details"));
    while (jsonr_next(&it, NULL, &v)) {
        struct str detail = jsonr_text(jsonr_get(v, "reason"));
        if (detail.len && (!reason.len || error_row_find(youtube_errors, detail, 0)))
            return detail;
    }
    return reason.len ? reason : jsonr_text(jsonr_get(error, "status"));
}

static struct outcome read_error(struct arena *a, struct platform_call *call, struct yyjson_val *error,
                                 const struct http_response *r)
{
    struct str reason = error_reason(error);
    const bool known = error_row_find(youtube_errors, reason, 0);
    /* The server does not have the newer method: use the older one. */
    if (!known && call->tier == TIER_BATCH && (r->status == 404 || r->status == 405 || r->status == 501))
        return (struct outcome){.kind = OUTCOME_OTHER_FORM, .code = STR("no_batch")};
    if (!jsonr_is_object(error))
        return outcome_unreadable(a, r, call->now_ms);
    struct outcome o = outcome_from_error(a, youtube_errors, reason, r, call->now_ms);
    if (o.kind == OUTCOME_RETRY && is_daily_limit(error))
        o = outcome_make(OUTCOME_QUOTA_SPENT, SCOPE_APP, STR("dailyLimit"));
    if (o.kind == OUTCOME_SPLIT && call->item_count == 1) {
        call->items[0].state = ITEM_MISSING;
        o.kind = OUTCOME_OK;
    }
    if (call->by_key && (o.kind == OUTCOME_TOKEN_REJECTED || o.kind == OUTCOME_RECONNECT)) {
        o.kind = OUTCOME_APP_REJECTED; /* no account is involved in a call with the API key */
        o.scope = SCOPE_APP;
    }
    return o;
}

/* ---- responses ---- */

static bool read_video(struct platform_call *call, struct yyjson_val *video)
{
    struct yyjson_val *statistics = jsonr_get(video, "statistics");
    struct platform_item *item = item_find_pending(call, jsonr_text(jsonr_get(video, "id")));
    if (!item)
        return false;
    item->counts[COUNT_VIEWS] = jsonr_count(jsonr_get(statistics, "viewCount"));
    item->counts[COUNT_LIKES] = jsonr_count(jsonr_get(statistics, "likeCount"));
    item->counts[COUNT_COMMENTS] = jsonr_count(jsonr_get(statistics, "commentCount"));
    item_set_state(item);
    return true;
}

/* Reads the list of failed ids, which is absent if the response has no `summary` [P]. Ids that are neither in
 * this list nor in the list of results stay ITEM_PENDING. */
static bool read_failed(struct platform_call *call, struct yyjson_val *ids)
{
    struct yyjson_val *id;
    struct jsonr_iter it = jsonr_iterate(ids);
    while (jsonr_next(&it, NULL, &id)) {
        struct platform_item *item = item_find_pending(call, jsonr_text(id));
        if (!item)
            return false;
        item->state = ITEM_MISSING;
    }
    return true;
}

static bool is_list_or_absent(struct yyjson_val *v)
{
    return !v || jsonr_is_array(v);
}

static bool read_videos(struct platform_call *call, struct yyjson_val *root)
{
    struct yyjson_val *items = jsonr_get(root, "items"), *summary = jsonr_get(root, "summary"), *video;
    struct yyjson_val *failed = jsonr_get(summary, "failedVideoIds");
    /* An empty `items` may be omitted if `kind` identifies the response. */
    if (!is_list_or_absent(items) || !is_list_or_absent(failed) ||
        (!items && !jsonr_text(jsonr_get(root, "kind")).len))
        return false;
    struct jsonr_iter it = jsonr_iterate(items);
    while (jsonr_next(&it, NULL, &video))
        if (!read_video(call, video))
            return false;
    return read_failed(call, failed);
}

static struct outcome parse(struct arena *a, struct platform_call *call, const struct http_response *r)
{
    items_reset(call);
    struct yyjson_val *root = jsonr_parse(a, r->body), *error = jsonr_get(root, "error");
    if (error || r->status != 200)
        return read_error(a, call, error, r);
    if (read_videos(call, root))
        return outcome_make(OUTCOME_OK, SCOPE_CALL, STR("ok"));
    items_reset(call);
    return outcome_make(OUTCOME_MALFORMED, SCOPE_CALL, STR("shape"));
}

/* ---- tokens ---- */

static void build_refresh(struct arena *a, const struct platform_options *options,
                          const struct platform_app *app, const struct token_grant *have,
                          struct http_request *out)
{
    const struct url_field fields[] = {
        {"client_id", app->client_id},
        {"client_secret", app->client_secret},
        {"refresh_token", have->refresh_token},
        {"grant_type", STR("refresh_token")},
    };
    request_set_form(a, options->origins[ORIGIN_TOKEN], TOKEN_PATH, fields, sizeof fields / sizeof fields[0],
                     out);
}

/* The response usually contains no refresh token; the current one remains valid [V]. */
static struct outcome parse_refresh(struct arena *a, const struct http_response *r, struct token_grant *got)
{
    struct yyjson_val *root = jsonr_parse(a, r->body);
    if (r->status == 200 && !jsonr_get(root, "error") && grant_parse(root, "refresh_token_expires_in", got))
        return outcome_make(OUTCOME_OK, SCOPE_CALL, STR("ok"));
    *got = (struct token_grant){0};
    return grant_parse_error(a, root, r);
}

/* ---- linking ---- */

/* access_type=offline requests a refresh token. With prompt=consent, Google returns one even if the author
 * has consented before. */
static struct str authorize_path(struct arena *a, const struct platform_authorize *authorize)
{
    const struct url_field fields[] = {
        {"client_id", authorize->app.client_id},
        {"redirect_uri", authorize->redirect_uri},
        {"response_type", STR("code")},
        {"scope", SCOPE},
        {"access_type", STR("offline")},
        {"prompt", authorize->again ? STR("consent select_account") : STR("consent")},
        {"state", authorize->state},
        {"code_challenge", authorize->challenge},
        {"code_challenge_method", authorize->challenge.p ? STR("S256") : (struct str){NULL, 0}},
    };
    return url_with_fields(a, STR("/o/oauth2/v2/auth?"), fields, sizeof fields / sizeof fields[0]);
}

enum { LINK_TOKEN, LINK_CHANNELS, LINK_DONE };

static bool link_build(struct arena *a, const struct platform_link *link, struct http_request *out)
{
    const struct url_field fields[] = {
        {"client_id", link->app.client_id},
        {"client_secret", link->app.client_secret},
        {"code", link->code},
        {"code_verifier", link->verifier.len ? link->verifier : (struct str){NULL, 0}},
        {"grant_type", STR("authorization_code")},
        {"redirect_uri", link->redirect_uri},
    };
    if (link->step == LINK_TOKEN)
        request_set_form(a, link->options->origins[ORIGIN_TOKEN], TOKEN_PATH, fields,
                         sizeof fields / sizeof fields[0], out);
    if (link->step == LINK_CHANNELS) {
        *out = (struct http_request){.origin = link->options->origins[ORIGIN_API], .method = "GET"};
        out->path = STR("/youtube/v3/channels?part=id,snippet&mine=true");
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
    if (!grant_has_scope(link->grant.scopes, SCOPE))
        return outcome_make(OUTCOME_RECONNECT, SCOPE_ACCOUNT,
                            STR("scope_missing")); /* declined by the author */
    link->step = LINK_CHANNELS;
    return o;
}

/* The author has selected a channel during sign-in, so the list usually has one entry. */
static struct outcome read_channels(struct arena *a, struct platform_link *link,
                                    const struct http_response *r)
{
    struct yyjson_val *root = jsonr_parse(a, r->body), *error = jsonr_get(root, "error"), *channel;
    if (error || r->status != 200) {
        struct platform_call call = {.tier = TIER_LIST};
        return read_error(a, &call, error, r);
    }
    if (!jsonr_is_object(root) || !is_list_or_absent(jsonr_get(root, "items")))
        return outcome_make(OUTCOME_MALFORMED, SCOPE_CALL, STR("shape"));
    struct jsonr_iter it = jsonr_iterate(jsonr_get(root, "items"));
    while (link->account_count < LINK_ACCOUNTS_MAX && jsonr_next(&it, NULL, &channel)) {
        struct str id = jsonr_text(jsonr_get(channel, "id"));
        if (!platform_id_is_plain(id))
            return outcome_make(OUTCOME_MALFORMED, SCOPE_CALL, STR("shape"));
        struct linked_account *account = &link->accounts[link->account_count++];
        *account = (struct linked_account){.api = API_YOUTUBE, .id = id, .grant = link->grant};
        account->name = grant_display_name(a, jsonr_text(jsonr_get(jsonr_get(channel, "snippet"), "title")));
    }
    link->step = LINK_DONE;
    return outcome_make(OUTCOME_OK, SCOPE_CALL, STR("ok"));
}

static struct outcome link_parse(struct arena *a, struct platform_link *link, const struct http_response *r)
{
    return link->step == LINK_TOKEN ? read_token(a, link, r) : read_channels(a, link, r);
}

/* ---- the section [youtube] ---- */

static const struct config_key keys[] = {
    APP_KEYS(PLATFORM_YOUTUBE, "youtube",
             "The OAuth client of your project at Google. Empty: authors cannot connect channels."),
    {"youtube", "api_key", CONFIG_TEXT, KEY(platform[PLATFORM_YOUTUBE].api_key), "", TEXT_LIMIT(200), true,
     NULL,
     "An API key of the project. With it, one call reads videos of several authors, which saves most of the "
     "quota."},
    {"youtube", "units_per_day", CONFIG_INTEGER, RELOADED(platform[PLATFORM_YOUTUBE].units_per_day), "10000",
     1, 100000000, false, NULL,
     "The daily quota of your project, in calls, for each of two methods: videos:batchGetStats and, after "
     "its\n"
     "quota is used up, videos.list. A day begins at midnight in Los Angeles."},
    {"youtube", "reserve_percent", CONFIG_INTEGER, RELOADED(platform[PLATFORM_YOUTUBE].reserve_percent), "15",
     0, 90, false, NULL, "Share of the daily quota, in percent, that is reserved for the end of the day."},
    {"youtube", "ids_per_call", CONFIG_INTEGER, RELOADED(platform[PLATFORM_YOUTUBE].ids_per_call), "50", 1,
     50, false, NULL, "Maximum number of videos per call."},
    IN_FLIGHT_KEY(PLATFORM_YOUTUBE, "youtube", "4", IN_FLIGHT_HELP),
    ORIGIN_KEY(PLATFORM_YOUTUBE, "youtube", api_origin, "https://www.googleapis.com", API_ORIGIN_HELP),
    ORIGIN_KEY(PLATFORM_YOUTUBE, "youtube", token_origin, "https://oauth2.googleapis.com", TOKEN_ORIGIN_HELP),
    ORIGIN_KEY(PLATFORM_YOUTUBE, "youtube", consent_origin, "https://accounts.google.com",
               CONSENT_ORIGIN_HELP),
};
const struct config_section youtube_keys = CONFIG_SECTION(keys);

const struct platform_desc youtube_desc = {
    .api = API_YOUTUBE,
    .platform = PLATFORM_YOUTUBE,
    .section = PLATFORM_YOUTUBE,
    .name = "youtube",
    .title = "YouTube",
    .scopes = "https://www.googleapis.com/auth/youtube.readonly",
    .uses_pkce = true,
    .links = true,
    .tiers = 2,
    .ids_per_call = {IDS_MAX, IDS_MAX},
    .measurable = {true, true, true, false, false},
    .quota_by_tier = true,
    .refresh_before_s = 5 * 60,
    .build = build,
    .parse = parse,
    .build_refresh = build_refresh,
    .parse_refresh = parse_refresh,
    .authorize_path = authorize_path,
    .link_build = link_build,
    .link_parse = link_parse,
};
