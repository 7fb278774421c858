/* Facebook pages. A batch has at most two operations per post: one reads the object, which has current
 * comments and reactions [P]; the other reads the insights of the object, which are up to a day late [V].
 * Facebook does not provide saves [V].
 *
 * Meta counts views under several names with different meanings, and each kind of object has only some of
 * these counts. For each post, the first of `preferred` that a response contains is used from then on,
 * because switching to another count would look like gained or lost views. A post id is the id of a video, or
 * {page}_{post}. Insights of {page}_{post} are 0 for a Reel, so a CALL_RESOLVE looks up whether the post is a
 * Reel, and then the id of the video is used. Request forms for the id of a video: 0 assumes a Reel, 1
 * assumes a classic video, unless the views source of the post is known; 2 requests the default metrics.
 * Forms 1 and 2 request only the views of a {page}_{post}. Form 3 requests no insights.
 *
 * The object and its insights need different permissions, so their errors are evaluated separately: the
 * counts of the object are used even if the insights are rejected, and vice versa. */
#include "base/check.h"
#include "base/clock.h"
#include "platforms/facebook.h"
#include "platforms/graph.h"
#include "platforms/platform_keys.h"
#include "platforms/response_reader.h"

enum { TIER_FIRST, TIER_SECOND, TIER_DEFAULT, TIER_NODE, TIERS };

/* Stored in the database for each post: never renumber. */
enum views_source { VIEWS_REEL = 1, VIEWS_VIDEO, VIEWS_NODE, VIEWS_POST, VIEWS_REEL_TOTAL };

/* Plays including replays match the view counts of other platforms, so they come first. */
static const enum views_source preferred[] = {VIEWS_REEL_TOTAL, VIEWS_REEL, VIEWS_VIDEO, VIEWS_NODE,
                                              VIEWS_POST};

#define REEL_TOTAL  "fb_reels_total_plays"  /* plays and replays */
#define REEL_VIEWS  "blue_reels_play_count" /* plays without replays */
#define VIDEO_VIEWS "total_video_views"     /* views of 3 seconds and more */
#define POST_VIEWS  "post_media_view"
#define REEL_OTHERS ",post_video_likes_by_reaction_type,post_video_social_actions"
#define VIDEO_SET   VIDEO_VIEWS ",total_video_reactions_by_type_total"
#define POST_SET    POST_VIEWS ",post_reactions_by_type_total"

/* Without filter(stream) replies to comments are not counted [V]. */
#define COMMENTS     "comments.filter(stream).summary(true).limit(0)"
#define VIDEO_FIELDS "views,likes.summary(true).limit(0)," COMMENTS
#define POST_FIELDS  "shares,reactions.summary(true).limit(0)," COMMENTS

static bool is_post(struct str id)
{
    return id.len && memchr(id.p, '_', id.len);
}

/* ---- requests ---- */

/* Which insights of a post a call requests. */
struct insights_form {
    bool requested;   /* false: no insights are requested */
    struct str names; /* "": Meta's default set [V] */
};

static const char *names_of_post(int tier)
{
    return tier == TIER_FIRST ? POST_SET : POST_VIEWS;
}

static const char *names_of_video(int tier, int source)
{
    const bool all = tier == TIER_FIRST;
    switch (source) {
    case VIEWS_REEL_TOTAL: return all ? REEL_TOTAL REEL_OTHERS : REEL_TOTAL;
    case VIEWS_REEL: return all ? REEL_VIEWS REEL_OTHERS : REEL_VIEWS;
    case VIEWS_VIDEO: return all ? VIDEO_SET : VIDEO_VIEWS;
    case VIEWS_NODE: return REEL_VIEWS REEL_OTHERS;
    default: return all ? REEL_TOTAL "," REEL_VIEWS REEL_OTHERS : VIDEO_SET;
    }
}

static struct insights_form insights_form_of(struct arena *a, const struct platform_call *call,
                                             const struct platform_item *item)
{
    struct insights_form f = {.names = STR("")};
    if (call->tier >= TIER_NODE)
        return f;
    f.requested = true;
    if (call->tier == TIER_DEFAULT && !is_post(item->id))
        return f;
    f.names =
        graph_remove_names(a,
                           str_from_cstr(is_post(item->id) ? names_of_post(call->tier)
                                                           : names_of_video(call->tier, item->views_source)),
                           call->dropped);
    f.requested = f.names.len > 0;
    return f;
}

static struct str node_path(struct arena *a, const struct platform_item *item)
{
    return arena_printf(a, "%.*s?fields=%s", (int)item->id.len, item->id.p,
                        is_post(item->id) ? POST_FIELDS : VIDEO_FIELDS);
}

static struct str insights_path(struct arena *a, const struct platform_item *item, struct str names)
{
    return arena_printf(a, "%.*s/%s%s%.*s", (int)item->id.len, item->id.p,
                        is_post(item->id) ? "insights" : "video_insights", names.len ? "?metric=" : "",
                        (int)names.len, names.p);
}

static void build_read(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    struct str paths[GRAPH_BATCH_MAX];
    size_t n = 0;
    CHECK(2 * call->item_count <= GRAPH_BATCH_MAX);
    for (size_t i = 0; i < call->item_count; i++) {
        struct insights_form form = insights_form_of(a, call, &call->items[i]);
        paths[n++] = node_path(a, &call->items[i]);
        if (form.requested)
            paths[n++] = insights_path(a, &call->items[i], form.names);
    }
    graph_build_batch(a, call, paths, n, out);
}

/* ---- reading one post ---- */

static int64_t summary_count(struct yyjson_val *node, const char *edge)
{
    return jsonr_count(jsonr_get(jsonr_get(jsonr_get(node, edge), "summary"), "total_count"));
}

static int64_t first_of(int64_t one, int64_t other)
{
    return one != COUNT_NONE ? one : other;
}

/* Returns the value of the member of post_video_social_actions with one of the two names, ignoring case. A
 * plain number is the sum of comments and shares [P], so it cannot be used. */
static int64_t social_action(struct yyjson_val *actions, struct str singular, struct str plural)
{
    struct jsonr_iter it = jsonr_iterate(actions);
    struct str name;
    struct yyjson_val *v;
    while (jsonr_next(&it, &name, &v)) /* a number has no members */
        if (str_eq_nocase(name, singular) || str_eq_nocase(name, plural))
            return jsonr_count(v);
    return COUNT_NONE;
}

/* Returns the shares of a post. This is the only count that is 0 if it is absent: a post without shares omits
 * the field [P]. */
static int64_t node_shares(struct yyjson_val *node)
{
    struct yyjson_val *shares = jsonr_get(node, "shares");
    return shares ? jsonr_count(jsonr_get(shares, "count")) : 0;
}

static int64_t views_by(enum views_source source, struct yyjson_val *node, struct yyjson_val *insights)
{
    switch (source) {
    case VIEWS_REEL: return jsonr_count(graph_find_insight(insights, REEL_VIEWS));
    case VIEWS_VIDEO: return jsonr_count(graph_find_insight(insights, VIDEO_VIEWS));
    case VIEWS_NODE: return jsonr_count(jsonr_get(node, "views"));
    case VIEWS_POST: return jsonr_count(graph_find_insight(insights, POST_VIEWS));
    case VIEWS_REEL_TOTAL: return jsonr_count(graph_find_insight(insights, REEL_TOTAL));
    }
    return COUNT_NONE;
}

/* Reads the views. `may_choose` is false if insights were requested, but denied. In that case, no views
 * source may be chosen for the post, because without insights the choice could be wrong. */
static void read_views(struct platform_item *item, struct yyjson_val *node, struct yyjson_val *insights,
                       bool may_choose)
{
    int64_t *views = &item->counts[COUNT_VIEWS];
    if (item->views_source != VIEWS_SOURCE_NONE) {
        *views = views_by((enum views_source)item->views_source, node, insights);
        return;
    }
    for (size_t i = 0; may_choose && *views == COUNT_NONE && i < sizeof preferred / sizeof preferred[0];
         i++) {
        *views = views_by(preferred[i], node, insights);
        if (*views != COUNT_NONE)
            item->views_source = preferred[i];
    }
}

static void read_counts(struct platform_item *item, struct yyjson_val *node, struct yyjson_val *insights,
                        bool may_choose)
{
    static const char *const reactions[] = {"post_video_likes_by_reaction_type",
                                            "total_video_reactions_by_type_total",
                                            "post_reactions_by_type_total"};
    struct yyjson_val *actions = graph_find_insight(insights, "post_video_social_actions");
    bool post = is_post(item->id);
    int64_t likes = COUNT_NONE;
    for (size_t i = 0; i < sizeof reactions / sizeof reactions[0]; i++)
        likes = first_of(likes, graph_sum_counts(graph_find_insight(insights, reactions[i])));
    item->counts[COUNT_LIKES] = first_of(likes, summary_count(node, post ? "reactions" : "likes"));
    item->counts[COUNT_COMMENTS] =
        first_of(summary_count(node, "comments"), social_action(actions, STR("comment"), STR("comments")));
    item->counts[COUNT_SHARES] = first_of(post && node ? node_shares(node) : COUNT_NONE,
                                          social_action(actions, STR("share"), STR("shares")));
    read_views(item, node, insights, may_choose);
    item_set_state(item);
}

/* ---- responses ---- */

static bool is_consistent(struct graph_response *g, const struct platform_item *item, struct yyjson_val *node,
                          struct yyjson_val *insights)
{
    struct str id = jsonr_id(jsonr_get(node, "id"));
    if (id.p && !str_eq(id, item->id))
        graph_set_malformed(g, "id");
    else if (insights && !graph_is_insights(insights, item->id))
        graph_set_malformed(g, "insights");
    else
        return true;
    return false;
}

static bool is_empty(struct yyjson_val *insights)
{
    return jsonr_iterate(jsonr_get(insights, "data")).left == 0;
}

static bool names_other_reel_metric(struct str message, struct str rejected)
{
    const char *at;
    while ((at = memmem(message.p, message.len, rejected.p, rejected.len))) {
        const size_t before = (size_t)(at - message.p), end = before + rejected.len;
        if (graph_contains_nocase(str_make(message.p, before), STR("_reels_")))
            return true;
        message = str_make(message.p + end, message.len - end);
    }
    return graph_contains_nocase(message, STR("_reels_"));
}

/* Returns true if the metric `rejected` is assumed to have been removed by Meta, and false if it may only be
 * missing for this kind of object. A view metric of Reels is assumed to be removed only if the message
 * contains the name of another Reel metric, which shows that the object is a Reel. Any other metric is always
 * assumed to be removed. */
static bool is_removed_metric(struct str rejected, struct str message)
{
    return !(str_eq(rejected, STR(REEL_TOTAL)) || str_eq(rejected, STR(REEL_VIEWS))) ||
           names_other_reel_metric(message, rejected);
}

/* Returns true if the item must be read in another form, because the insights were rejected or empty: either
 * the object is of another kind, or a metric has been removed. If the kind of the object is unknown,
 * is_removed_metric() decides in form 0 which of the two applies; in later forms, another kind is assumed. */
static bool needs_other_form(struct graph_response *g, const struct platform_item *item,
                             struct insights_form form, struct graph_result part)
{
    const int tier = g->call->tier;
    bool unchosen = item->views_source == VIEWS_SOURCE_NONE && !is_post(item->id);
    bool refused = part.kind == GRAPH_METRIC, empty = part.kind == GRAPH_OK && is_empty(part.body);
    if (item->views_source == VIEWS_NODE || (!refused && !(unchosen && empty && tier < TIER_DEFAULT)))
        return false;
    struct str none = {NULL, 0},
               rejected = refused ? graph_find_rejected_metric(part.message, form.names) : none;
    if (unchosen && (!rejected.p || tier > TIER_FIRST || !is_removed_metric(rejected, part.message)))
        return graph_retry_in_other_form(g, none, true, TIERS);
    return graph_retry_in_other_form(g, rejected, false, TIERS);
}

static bool is_denied(struct graph_result part)
{
    return part.kind == GRAPH_DENIED || part.kind == GRAPH_GONE_OR_DENIED;
}

/* Returns true if the account lacks the permissions for both operations. This does not show that the post was
 * deleted: for a deleted post, Meta reports that the object does not exist. */
static bool lacks_permissions(struct graph_result node, struct graph_result insights)
{
    return node.kind == GRAPH_DENIED && insights.kind == GRAPH_DENIED;
}

/* Without the permission, the insights of a {page}_{post} are empty [live], and those of a video are denied.
 * So empty insights of a video prove the permission. */
static void tally_insights(struct graph_insights *t, bool is_expected, const struct platform_item *item,
                           struct graph_result node, struct graph_result insights)
{
    const bool empty = insights.kind == GRAPH_OK && is_post(item->id) && is_empty(insights.body);
    const bool denied = node.kind == GRAPH_DENIED ? empty || insights.kind == GRAPH_DENIED
                                                  : node.kind == GRAPH_OK && is_denied(insights);
    t->proven += insights.kind == GRAPH_OK && !empty;
    t->denied += denied;
    t->lacking += is_expected && (denied || empty);
    t->silent += !is_expected && empty && !denied;
}

/* If both operations were denied and the post may have been deleted, the item stays ITEM_PENDING:
 * graph_response_outcome() decides whether the post was deleted or the permission lost. */
static void read_item(struct graph_response *g, struct insights_form form, struct platform_item *item,
                      struct graph_insights *tally)
{
    struct graph_result node = graph_response_next(g), insights = {.kind = GRAPH_DENIED};
    if (form.requested) {
        insights = graph_response_next(g);
        tally_insights(tally, graph_expects_insights(g->call, item), item, node, insights);
    } else if (node.kind == GRAPH_DENIED) {
        g->denied--; /* the fields need a permission of their own, so the rest of the grant may be valid */
        item->state = ITEM_NO_DATA;
        return;
    }
    if (node.kind == GRAPH_CALL || insights.kind == GRAPH_CALL)
        return;
    if (is_denied(node) && is_denied(insights))
        item->state = lacks_permissions(node, insights) ? ITEM_DENIED : ITEM_PENDING;
    else if (node.kind == GRAPH_ITEM)
        item->state = node.state;
    else if (insights.kind == GRAPH_ITEM && (insights.state == ITEM_RETRY || node.kind != GRAPH_OK))
        item->state = insights.state;
    else if (!is_consistent(g, item, node.body, insights.body))
        item->state = ITEM_RETRY;
    else if (!needs_other_form(g, item, form, insights))
        read_counts(item, node.body, insights.body, !is_denied(insights) || !form.requested);
}

static struct outcome parse_read(struct arena *a, struct platform_call *call,
                                 const struct http_response *response)
{
    struct graph_response g;
    struct insights_form forms[GRAPH_BATCH_MAX];
    struct graph_insights tally = {0};
    size_t operations = 0;
    CHECK(2 * call->item_count <= GRAPH_BATCH_MAX);
    items_reset(call);
    for (size_t i = 0; i < call->item_count; i++) {
        forms[i] = insights_form_of(a, call, &call->items[i]);
        operations += forms[i].requested ? 2 : 1;
    }
    if (graph_response_open(&g, a, call, response, false, operations))
        for (size_t i = 0; i < call->item_count; i++)
            read_item(&g, forms[i], &call->items[i], &tally);
    struct outcome o = graph_response_outcome(&g);
    o.no_insights = o.kind == OUTCOME_OK && graph_lacks_insights(&tally);
    return o;
}

/* ---- resolving {page}_{post} to the id of the Reel ---- */

static bool is_readable(struct str id)
{
    return !is_post(id);
}

static void build_resolve(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    struct str paths[GRAPH_BATCH_MAX];
    CHECK(call->item_count <= GRAPH_BATCH_MAX);
    for (size_t i = 0; i < call->item_count; i++)
        paths[i] = arena_printf(a, "%.*s?fields=attachments%%7Bmedia_type,type,target%%7Bid,url%%7D%%7D",
                                (int)call->items[i].id.len, call->items[i].id.p);
    graph_build_batch(a, call, paths, call->item_count, out);
}

/* Returns the id of the Reel in the post. `p` of the result is NULL if the post is not a Reel. A classic
 * video is read as a post, because only the post has its shares. */
static struct str reel_of(struct yyjson_val *post)
{
    struct jsonr_iter it = jsonr_iterate(jsonr_get(jsonr_get(post, "attachments"), "data"));
    struct yyjson_val *attachment;
    if (!jsonr_next(&it, NULL, &attachment))
        return (struct str){NULL, 0};
    struct yyjson_val *target = jsonr_get(attachment, "target");
    struct str type = jsonr_text(jsonr_get(attachment, "type")), url = jsonr_text(jsonr_get(target, "url"));
    struct str id = jsonr_id(jsonr_get(target, "id"));
    const bool video = str_eq_nocase(jsonr_text(jsonr_get(attachment, "media_type")), STR("video")) ||
                       graph_contains_nocase(type, STR("video"));
    const bool reel = graph_contains_nocase(type, STR("reel")) || graph_contains_nocase(url, STR("/reel/")) ||
                      (video && !graph_contains_nocase(url, STR("/videos/")));
    return reel && platform_id_is_plain(id) && !is_post(id) ? id : (struct str){NULL, 0};
}

/* Parses the response of a CALL_RESOLVE. A post that cannot be read is resolved to itself for now; reading it
 * will show whether the post was deleted or the permission lost. */
static struct outcome parse_resolve(struct arena *a, struct platform_call *call,
                                    const struct http_response *response)
{
    struct graph_response g;
    items_reset(call);
    if (!graph_response_open(&g, a, call, response, false, call->item_count))
        return graph_response_outcome(&g);
    for (size_t i = 0; i < call->item_count; i++) {
        struct platform_item *item = &call->items[i];
        struct graph_result part = graph_response_next(&g);
        if (part.kind == GRAPH_CALL)
            continue;
        struct str reel = reel_of(part.body);
        item->state = part.kind == GRAPH_OK ? ITEM_OK : ITEM_NO_DATA;
        if (part.kind == GRAPH_ITEM && part.state == ITEM_RETRY)
            item->state = ITEM_RETRY;
        else
            item->resolved = reel.p ? reel : item->id;
    }
    graph_ignore_denials(&g);
    return graph_response_outcome(&g);
}

static void build(struct arena *a, const struct platform_call *call, struct http_request *out)
{
    if (call->kind == CALL_RESOLVE)
        build_resolve(a, call, out);
    else
        build_read(a, call, out);
}

static struct outcome parse(struct arena *a, struct platform_call *call, const struct http_response *response)
{
    return call->kind == CALL_RESOLVE ? parse_resolve(a, call, response) : parse_read(a, call, response);
}

/* ---- the section [facebook] ---- */

static bool is_valid_graph_version(struct str value)
{
    if (value.len < 4 || value.len > 8 || value.p[0] != 'v')
        return false;
    size_t dots = 0;
    for (size_t i = 1; i < value.len; i++) {
        if (value.p[i] == '.')
            dots++;
        else if (value.p[i] < '0' || value.p[i] > '9')
            return false;
    }
    return dots == 1 && value.p[1] != '.' && value.p[value.len - 1] != '.';
}

static enum err check_graph_version(struct str value, struct error *error)
{
    return config_rule(is_valid_graph_version(value), "must be a version of the Graph API such as v26.0",
                       error);
}

static bool are_valid_scopes(struct str value)
{
    for (size_t i = 0; i < value.len; i++)
        if (!((value.p[i] >= 'a' && value.p[i] <= 'z') || value.p[i] == '_' || (value.p[i] == ',' && i)))
            return false;
    return value.len == 0 || value.p[value.len - 1] != ',';
}

static enum err check_scopes(struct str value, struct error *error)
{
    return config_rule(
        are_valid_scopes(value),
        "must be a comma-separated list of permissions without spaces, for example business_management",
        error);
}

static const struct config_key keys[] = {
    APP_KEYS(PLATFORM_FACEBOOK, "facebook",
             "Your app at Meta, for Facebook pages and the Instagram accounts linked to them. Empty: neither "
             "is used."),
    {"facebook", "graph_version", CONFIG_TEXT, KEY(platform[PLATFORM_FACEBOOK].graph_version), "v26.0",
     TEXT_LIMIT(8), false, check_graph_version,
     "The version of Meta's Graph API, also for [instagram]. If this version has expired, Meta uses a "
     "newer one without reporting an error."},
    {"facebook", "more_scopes", CONFIG_TEXT, KEY(platform[PLATFORM_FACEBOOK].more_scopes),
     "business_management", TEXT_LIMIT(500), false, check_scopes,
     "More permissions to request when an author connects, comma separated. business_management finds the "
     "pages that\n"
     "belong to a business portfolio. Remove it if Facebook shows authors \"Invalid Scopes\"."},
    {"facebook", "config_id", CONFIG_TEXT, KEY(platform[PLATFORM_FACEBOOK].config_id), "", TEXT_LIMIT(100),
     false, NULL,
     "The configuration id of your app if it uses Facebook Login for Business. That configuration then lists "
     "the\n"
     "permissions, and more_scopes is ignored. Empty: plain Facebook Login."},
    IN_FLIGHT_KEY(
        PLATFORM_FACEBOOK, "facebook", "8",
        "Maximum number of concurrent calls for pages, and the same number for Instagram accounts."),
    ORIGIN_KEY(PLATFORM_FACEBOOK, "facebook", api_origin, "https://graph.facebook.com", API_ORIGIN_HELP),
    ORIGIN_KEY(PLATFORM_FACEBOOK, "facebook", consent_origin, "https://www.facebook.com",
               CONSENT_ORIGIN_HELP),
};
const struct config_section facebook_keys = CONFIG_SECTION(keys);

/* The rate limit grows with the page's engaged users, and headers report its usage [V]. pages_show_list is
 * needed for the list of pages, pages_read_user_content for likes, comments and shares [P, live in 2026].
 * instagram_basic also requires pages_read_user_content [V]. */
const struct platform_desc facebook_desc = {
    .api = API_FACEBOOK,
    .platform = PLATFORM_FACEBOOK,
    .section = PLATFORM_FACEBOOK,
    .name = "facebook",
    .title = "Facebook",
    .scopes = "pages_show_list,pages_read_engagement,pages_read_user_content,read_insights,instagram_basic,"
              "instagram_manage_insights",
    .permissions = facebook_permissions,
    .links = true,
    .tiers = TIERS,
    .ids_per_call = {25, 25, 10, 25},
    .ids_per_resolve = GRAPH_BATCH_MAX,
    .is_readable = is_readable,
    .measurable = {true, true, true, true, false},
    .refresh_before_s = -1,
    .build = build,
    .parse = parse,
    .authorize_path = facebook_authorize_path,
    .link_build = facebook_link_build,
    .link_parse = facebook_link_parse,
};
