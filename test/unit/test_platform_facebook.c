/* Tests Facebook: two operations per post, choice of the views source, comments and shares.
 *
 * Samples: developers.facebook.com, video_insights (v25.0) and Page Insights [V]. The counts of the object
 * itself and the contents of post_video_social_actions are reported by several projects [P], which disagree
 * about these contents. All sources were read in November 2026. */
#include "lib/graph_rig.h"

#include "base/clock.h"

#include <stdlib.h>

#define NONE       COUNT_NONE
#define NO_OBJECT  "{'error':{'message':'(#10) Object does not exist, cannot be loaded due to','code':10}}"
#define BAD_METRIC "{'error':{'message':'(#100) The value must be a valid insights metric','code':100}}"

enum { REEL = 1, VIDEO, NODE, POST, REEL_TOTAL };

/* [P] */
#define NODE_OF(id)                                                                                          \
    "{'views':1700,'likes':{'data':[],'summary':{'total_count':58}},'comments':{'data':[],'summary':{'"      \
    "order'"                                                                                                 \
    ":'ranked','total_count':6}},'id':'" id "'}"
#define POST_NODE(id, shares)                                                                                \
    "{'reactions':{'data':[],'summary':{'total_count':58,'viewer_reaction':'NONE'}},'comments':{'data':[],"  \
    "'summary':{'total_count':6}}" shares ",'id':'" id "'}"
/* [V], names of reactions [K] */
#define REEL_OF(id, actions)                                                                                 \
    "{'data':[{'name':'blue_reels_play_count','period':'lifetime','values':[{'value':1614}],'id':'" id       \
    "/video_insights/blue_reels_play_count/lifetime'},{'name':'post_video_likes_by_reaction_type','period':" \
    "'lifetime','values':[{'value':{'REACTION_LIKE':41,'REACTION_LOVE':12}}]},{'name':"                      \
    "'post_video_social_actions','period':'lifetime','values':[{'value':" actions "}]}]}"
#define UPPER "{'COMMENT':9,'SHARE':3}"

static void init(struct graph_rig *r, const char *one, const char *two)
{
    const char *const ids[] = {one, two, NULL};
    graph_rig_init(r, &facebook_desc, ids);
}

/* Parses the response for one post. It contains the post's object (status 200) and, unless `insights` is NULL
 * (not requested), its insights with the status `status`. */
static struct outcome parse_response(struct graph_rig *r, const char *node, int status, const char *insights)
{
    struct str entries[] = {graph_rig_entry(r, 200, node), {0}};
    if (insights)
        entries[1] = graph_rig_entry(r, status, insights);
    return graph_rig_parse(r, 200, graph_rig_batch(r, entries, insights ? 2 : 1));
}

/* ---- requests ---- */

#define OP(path) "{\"method\":\"GET\",\"relative_url\":\"v26.0/" path "\"}"
#define VIDEO_NODE_URL(id)                                                                                   \
    OP(id "?fields=views,likes.summary(true).limit(0),comments.filter(stream).summary(true).limit(0)")
#define POST_NODE_URL(id)                                                                                    \
    OP(id "?fields=shares,reactions.summary(true).limit(0),comments.filter(stream).summary(true).limit(0)")

static void expect_batch(struct graph_rig *r, const char *expected)
{
    graph_rig_build(r);
    assert_str(graph_rig_field(r, "batch"), expected);
}

static void requests_have_two_operations_per_post(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, "3237", "10_20");
    expect_batch(&r,
                 "[" VIDEO_NODE_URL("3237") "," OP(
                     "3237/video_insights?metric=fb_reels_total_plays,blue_reels_play_count,"
                     "post_video_likes_by_reaction_type,"
                     "post_video_social_actions") "," POST_NODE_URL("10_20") "," OP("10_20/"
                                                                                    "insights?metric=post_"
                                                                                    "media_view,post_"
                                                                                    "reactions_by_type_"
                                                                                    "total") "]");
    assert_string_equal(r.request.origin, "https://api.example");
    assert_str(r.request.path, "/v26.0/");
    assert_str(graph_rig_field(&r, "access_token"), "TOKEN");
    graph_rig_fini(&r);
}

static void requests_depend_on_views_source_and_tier(void **state)
{
    static const struct {
        int source, tier;
        const char *dropped, *path;
    } rows[] = {
        {0, 1, "", "?metric=total_video_views,total_video_reactions_by_type_total"},
        {0, 2, "", ""},
        {VIDEO, 0, "", "?metric=total_video_views,total_video_reactions_by_type_total"},
        {VIDEO, 1, "", "?metric=total_video_views"},
        {REEL, 0, "post_video_social_actions",
         "?metric=blue_reels_play_count,post_video_likes_by_reaction_type"},
        {REEL, 1, "", "?metric=blue_reels_play_count"},
        {REEL_TOTAL, 0, "",
         "?metric=fb_reels_total_plays,post_video_likes_by_reaction_type,"
         "post_video_social_actions"},
        {REEL_TOTAL, 1, "", "?metric=fb_reels_total_plays"},
        {0, 0, "fb_reels_total_plays",
         "?metric=blue_reels_play_count,post_video_likes_by_reaction_type,"
         "post_video_social_actions"},
        {REEL, 2, "", ""},
        {NODE, 0, "blue_reels_play_count,post_video_likes_by_reaction_type",
         "?metric=post_video_social_actions"},
    };
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        init(&r, "3237", NULL);
        r.items[0].views_source = rows[i].source;
        r.call.tier = rows[i].tier;
        r.call.dropped = str_from_cstr(rows[i].dropped);
        struct str all = arena_printf(
            &r.arena, "[" VIDEO_NODE_URL("3237") "," OP("3237/video_insights%s") "]", rows[i].path);
        expect_batch(&r, all.p);
        graph_rig_fini(&r);
    }
    init(&r, "3237", NULL);
    r.call.tier = 3;
    expect_batch(&r, "[" VIDEO_NODE_URL("3237") "]");
    graph_rig_fini(&r);
}

static void largest_batches_fit(void **state)
{
    struct graph_rig r;
    (void)state;
    for (int tier = 0; tier < facebook_desc.tiers; tier++) {
        init(&r, "1", NULL);
        r.call.tier = tier;
        r.call.item_count = (size_t)facebook_desc.ids_per_call[tier];
        for (size_t i = 0; i < r.call.item_count; i++)
            r.items[i].id = STR("17900000000000001");
        graph_rig_build(&r);
        assert_true(graph_rig_field(&r, "batch").len > 1000);
        graph_rig_fini(&r);
    }
}

/* ---- views ---- */

static void reads_a_reel(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, "3237", NULL);
    assert_outcome(parse_response(&r, NODE_OF("3237"), 200, REEL_OF("3237", UPPER)), OUTCOME_OK, SCOPE_CALL,
                   "ok");
    assert_int_equal(r.items[0].state, ITEM_OK);
    assert_int_equal(r.items[0].views_source, REEL);
    assert_counts(&r.items[0], 1614, 53, 6, 3, NONE);
    graph_rig_fini(&r);
}

/* Once chosen, the views source of a post never changes, because counts from another source would not be
 * comparable. */
static void chosen_views_source_never_changes(void **state)
{
    static const struct {
        int source;
        int64_t views;
    } rows[] = {{REEL, 1614}, {VIDEO, NONE}, {NODE, 1700}, {POST, NONE}};
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        init(&r, "3237", NULL);
        r.items[0].views_source = rows[i].source;
        assert_outcome(parse_response(&r, NODE_OF("3237"), 200, REEL_OF("3237", UPPER)), OUTCOME_OK,
                       SCOPE_CALL, "ok");
        assert_counts(&r.items[0], rows[i].views, 53, 6, 3, NONE);
        assert_int_equal(r.items[0].views_source, rows[i].source);
        parse_response(&r, NODE_OF("3237"), 200, "{'data':[]}");
        assert_counts(&r.items[0], rows[i].source == NODE ? 1700 : NONE, 58, 6, NONE, NONE);
        graph_rig_fini(&r);
    }
}

/* A classic video among Reels is requested again by itself in another form, which is not stored for the
 * account. */
static void classic_video_is_requested_again_in_another_form(void **state)
{
    static const char *const refusals[] = {
        BAD_METRIC,
        "{'error':{'message':'(#100) metric[0] must be one of the following values: "
        "total_video_views','code':100}}",
        "{'data':[]}", /* [P] 200 and an empty list */
    };
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        init(&r, "1", "2");
        struct str entries[] = {
            graph_rig_entry(&r, 200, NODE_OF("1")), graph_rig_entry(&r, 200, REEL_OF("1", UPPER)),
            graph_rig_entry(&r, 200, NODE_OF("2")), graph_rig_entry(&r, i == 2 ? 200 : 400, refusals[i])};
        struct outcome o = graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 4));
        assert_outcome(o, OUTCOME_OTHER_FORM, SCOPE_CALL, "100");
        assert_true(o.these_posts_only);
        assert_null(o.dropped.p);
        assert_int_equal(r.items[0].state, ITEM_OK);
        assert_int_equal(r.items[1].state, ITEM_PENDING);
        graph_rig_fini(&r);
    }
    init(&r, "2", NULL);
    r.call.tier = 1;
    parse_response(
        &r, NODE_OF("2"), 200,
        "{'data':[{'name':'total_video_views','period':'lifetime','values':[{'value':88}]},{'name':"
        "'total_video_reactions_by_type_total','values':[{'value':{'like':3,'wow':1}}]}]}");
    assert_int_equal(r.items[0].views_source, VIDEO);
    assert_counts(&r.items[0], 88, 4, 6, NONE, NONE);
    graph_rig_fini(&r);
}

static void reads_default_metrics(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, "2", NULL);
    r.call.tier = 1;
    assert_outcome(parse_response(&r, NODE_OF("2"), 400, BAD_METRIC), OUTCOME_OTHER_FORM, SCOPE_CALL, "100");
    r.call.tier = 2;
    assert_outcome(parse_response(&r, NODE_OF("2"), 200, REEL_OF("2", UPPER)), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(r.items[0].views_source, REEL);
    /* If the response has no insights, the object becomes the views source of the post. */
    r.items[0].views_source = 0;
    assert_outcome(parse_response(&r, NODE_OF("2"), 200, "{'data':[]}"), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(r.items[0].views_source, NODE);
    assert_counts(&r.items[0], 1700, 58, 6, NONE, NONE);
    r.items[0].views_source = 0;
    r.call.tier = 3;
    assert_outcome(parse_response(&r, NODE_OF("2"), 200, NULL), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(r.items[0].views_source, NODE);
    /* A post whose views source is its object needs no insights. */
    r.call.tier = 0;
    assert_outcome(parse_response(&r, NODE_OF("2"), 400, BAD_METRIC), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_counts(&r.items[0], 1700, 58, 6, NONE, NONE);
    graph_rig_fini(&r);
}

/* If a metric is rejected for a post known to be a Reel, the platform has removed the metric. */
static void drops_rejected_metric(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, "2", NULL);
    r.items[0].views_source = REEL;
    struct outcome o = parse_response(
        &r, NODE_OF("2"), 400,
        "{'error':{'message':'(#100) metric[2] must be one of the following values: x','code':100}}");
    assert_outcome(o, OUTCOME_OTHER_FORM, SCOPE_CALL, "100");
    assert_str(o.dropped, "post_video_social_actions");
    assert_false(o.these_posts_only);
    o = parse_response(&r, NODE_OF("2"), 400, BAD_METRIC);
    assert_outcome(o, OUTCOME_OTHER_FORM, SCOPE_CALL, "100");
    assert_null(o.dropped.p);
    assert_false(o.these_posts_only);
    /* In later request forms, a rejected metric of a new post means that the form does not fit the kind of
     * the post. */
    r.items[0].views_source = 0;
    r.call.tier = 1;
    o = parse_response(
        &r, NODE_OF("2"), 400,
        "{'error':{'message':'(#100) metric[1] must be one of the following values: x','code':100}}");
    assert_null(o.dropped.p);
    assert_true(o.these_posts_only);
    r.call.tier = 0;
    /* A rejected metric that does not count views is dropped even if the post is new. */
    r.items[0].views_source = 0;
    o = parse_response(
        &r, NODE_OF("2"), 400,
        "{'error':{'message':'(#100) metric[2] must be one of the following values: x','code':100}}");
    assert_str(o.dropped, "post_video_likes_by_reaction_type");
    assert_false(o.these_posts_only);
    /* If the message lists other Reel metrics, the post is a Reel, so the platform has removed the metric. */
    o = parse_response(&r, NODE_OF("2"), 400,
                       "{'error':{'message':'(#100) metric[0] must be one of the following values: "
                       "blue_reels_play_count, post_video_social_actions','code':100}}");
    assert_str(o.dropped, "fb_reels_total_plays");
    assert_false(o.these_posts_only);
    graph_rig_fini(&r);
}

/* The name of the rejected metric does not show that the object is a Reel. */
static void message_with_only_the_rejected_reel_metric_does_not_drop_it(void **state)
{
    static const char *const refusals[] = {
        "{'error':{'message':'(#100) Metric fb_reels_total_plays is not valid for this object','code':100}}",
        "{'error':{'message':'(#100) metric[0] must be one of the following values: total_video_views "
        "(fb_reels_total_plays given)','code':100}}",
    };
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        init(&r, "2", NULL);
        struct outcome o = parse_response(&r, NODE_OF("2"), 400, refusals[i]);
        assert_outcome(o, OUTCOME_OTHER_FORM, SCOPE_CALL, "100");
        assert_null(o.dropped.p);
        assert_true(o.these_posts_only);
        graph_rig_fini(&r);
    }
}

/* ---- comments, shares, likes ---- */

static void parses_social_actions(void **state)
{
    static const struct {
        const char *actions;
        int64_t comments, shares;
    } rows[] = {
        {"{'COMMENT':9,'SHARE':3}", 9, 3},
        {"{'comment':9,'share':3}", 9, 3},
        {"{'Comments':9,'shares':3}", 9, 3},
        {"12", NONE, NONE},
        {"{}", NONE, NONE},
        {"null", NONE, NONE},
        {"{'SHARE':-3}", NONE, NONE},
        {"{'reshare':3}", NONE, NONE},
        {"[9,3]", NONE, NONE},
    };
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        init(&r, "3237", NULL);
        struct str insights =
            arena_printf(&r.arena, "{'data':[{'name':'post_video_social_actions','values':[{'value':%s}]}]}",
                         rows[i].actions);
        parse_response(&r, "{'views':5,'id':'3237'}", 200, insights.p);
        assert_int_equal(r.items[0].counts[COUNT_COMMENTS], rows[i].comments);
        assert_int_equal(r.items[0].counts[COUNT_SHARES], rows[i].shares);
        graph_rig_fini(&r);
    }
}

static void reads_a_page_post(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, "10_20", NULL);
    parse_response(
        &r, POST_NODE("10_20", ",'shares':{'count':3}"), 200,
        "{'data':[{'name':'post_media_view','period':'day','values':[{'value':7}]},{'name':'post_media_view',"
        "'period':'lifetime','values':[{'value':700}],'id':'10_20/insights/post_media_view/lifetime'},"
        "{'name':'post_reactions_by_type_total','values':[{'value':{'like':60}}]}]}");
    assert_int_equal(r.items[0].views_source, POST);
    assert_counts(&r.items[0], 700, 60, 6, 3, NONE);
    /* Shares are the only count whose absence means 0, and only for a post that can be read. */
    assert_outcome(parse_response(&r, POST_NODE("10_20", ""), 200, "{'data':[]}"), OUTCOME_OK, SCOPE_CALL,
                   "ok");
    assert_counts(&r.items[0], NONE, 58, 6, 0, NONE);
    parse_response(&r, POST_NODE("10_20", ",'shares':{}"), 200, "{'data':[]}");
    assert_counts(&r.items[0], NONE, 58, 6, NONE, NONE);
    /* Comments and likes without permission are unknown, not 0. */
    parse_response(&r, "{'id':'10_20'}", 200, "{'data':[]}");
    assert_counts(&r.items[0], NONE, NONE, NONE, 0, NONE);
    graph_rig_fini(&r);
}

/* ---- posts without counts ---- */

static void empty_and_missing_lists_result_in_no_counts(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, "3237", NULL);
    r.items[0].views_source = REEL;
    assert_outcome(parse_response(&r, "{'id':'3237'}", 200, "{'data':[]}"), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(r.items[0].state, ITEM_NO_DATA);
    assert_outcome(parse_response(&r, NODE_OF("3237"), 200, "{}"), OUTCOME_MALFORMED, SCOPE_CALL, "insights");
    assert_int_equal(r.items[0].state, ITEM_RETRY);
    assert_counts(&r.items[0], NONE, NONE, NONE, NONE, NONE);
    /* The response contains another object than the requested one. */
    assert_outcome(parse_response(&r, NODE_OF("3238"), 200, REEL_OF("3237", UPPER)), OUTCOME_MALFORMED,
                   SCOPE_CALL, "id");
    assert_outcome(parse_response(&r, NODE_OF("3237"), 200, REEL_OF("3238", UPPER)), OUTCOME_MALFORMED,
                   SCOPE_CALL, "insights");
    graph_rig_fini(&r);
}

static void error_of_one_post_sets_its_state(void **state)
{
    static const struct {
        int node_status, insights_status;
        const char *node, *insights;
        enum outcome_kind outcome;
        enum item_state item;
    } rows[] = {
        {400, 400, "{'error':{'message':'gone','code':100,'error_subcode':33}}",
         "{'error':{'message':'gone','code':100,'error_subcode':33}}", OUTCOME_OK, ITEM_MISSING},
        {200, 400, NODE_OF("1"), "{'error':{'message':'?','code':100,'error_subcode':33}}", OUTCOME_OK,
         ITEM_OK},
        {0, 200, NULL, REEL_OF("1", UPPER), OUTCOME_OK, ITEM_RETRY},
        {200, 0, NODE_OF("1"), NULL, OUTCOME_OK, ITEM_RETRY},
        {200, 500, NODE_OF("1"), "{'error':{'message':'?','code':2}}", OUTCOME_OK, ITEM_RETRY},
        {200, 400, NODE_OF("1"), "{'error':{'message':'?','code':190,'error_subcode':460}}",
         OUTCOME_RECONNECT, ITEM_PENDING},
        {200, 400, NODE_OF("1"), "{'error':{'message':'?','code':80001}}", OUTCOME_RETRY, ITEM_PENDING},
        /* Object and insights need different permissions: if one of them is denied, the counts of the other
           are still used. */
        {200, 400, NODE_OF("1"), "{'error':{'message':'(#10) permission','code':10}}", OUTCOME_OK, ITEM_OK},
        {400, 200, "{'error':{'message':'(#200) permission','code':200}}", REEL_OF("1", UPPER), OUTCOME_OK,
         ITEM_OK},
        {400, 400, "{'error':{'message':'(#200) permission','code':200}}",
         "{'error':{'message':'(#10) permission','code':10}}", OUTCOME_RECONNECT, ITEM_DENIED},
        {400, 400, NO_OBJECT, NO_OBJECT, OUTCOME_OTHER_FORM, ITEM_PENDING},
        {400, 400, "{'error':{'message':'(#10) permission','code':10}}", NO_OBJECT, OUTCOME_OTHER_FORM,
         ITEM_PENDING},
        {400, 200, NO_OBJECT, REEL_OF("1", UPPER), OUTCOME_OK, ITEM_OK},
        {400, 400, NO_OBJECT, "{'error':{'message':'gone','code':100,'error_subcode':33}}",
         OUTCOME_OTHER_FORM, ITEM_MISSING},
        {400, 0, NO_OBJECT, NULL, OUTCOME_OTHER_FORM, ITEM_RETRY},
        {400, 200, "{'error':{'message':'Tried accessing nonexisting field (views)','code':100}}",
         REEL_OF("1", UPPER), OUTCOME_OK, ITEM_OK},
    };
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        init(&r, "1", NULL);
        struct str entries[] = {graph_rig_entry(&r, rows[i].node_status, rows[i].node),
                                graph_rig_entry(&r, rows[i].insights_status, rows[i].insights)};
        struct outcome o = graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 2));
        assert_string_equal(outcome_kind_name(o.kind), outcome_kind_name(rows[i].outcome));
        assert_int_equal(r.items[0].state, rows[i].item);
        if (rows[i].outcome == OUTCOME_RECONNECT)
            assert_int_equal(r.items[0].views_source, 0);
        graph_rig_fini(&r);
    }
}

/* A page may lack the permission for the fields of its posts. If Meta has removed every metric of a request,
 * only the fields are requested, and their denial does not show that the whole grant is lost. */
static void denied_fields_alone_do_not_revoke_the_grant(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, "10_20", NULL);
    r.call.dropped = STR("post_media_view,post_reactions_by_type_total");
    struct str entry = graph_rig_entry(&r, 400, "{'error':{'message':'(#10) user content','code':10}}");
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, &entry, 1)), OUTCOME_OK, SCOPE_ACCOUNT, "ok");
    assert_int_equal(r.items[0].state, ITEM_NO_DATA);
    entry = graph_rig_entry(&r, 400, NO_OBJECT);
    assert_true(graph_rig_parse(&r, 200, graph_rig_batch(&r, &entry, 1)).with_account);
    graph_rig_fini(&r);
}

/* A page lacks both permissions. Silent insights of a page post, or the page itself, are operations that
 * succeed nevertheless. */
static void post_without_permissions_is_denied_and_not_missing(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, "10_20", "3237");
    const struct str denied = graph_rig_entry(&r, 400, "{'error':{'message':'(#10) permission','code':10}}"),
                     gone = graph_rig_entry(&r, 400, NO_OBJECT);
    struct str silent[] = {denied, graph_rig_entry(&r, 200, "{'data':[]}"), denied, denied};
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, silent, 4)), OUTCOME_OK, SCOPE_ACCOUNT, "ok");
    assert_true(r.got.no_insights);
    assert_int_equal(r.items[0].state, ITEM_NO_DATA);
    assert_int_equal(r.items[1].state, ITEM_DENIED);
    struct str entries[] = {graph_rig_entry(&r, 200, "{'id':'17841400000000000'}"), gone, gone, denied,
                            denied};
    assert_true(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries + 1, 4)).with_account);
    r.call.with_account = true;
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 5)), OUTCOME_OK, SCOPE_ACCOUNT,
                   "ok");
    assert_true(r.got.no_insights);
    assert_int_equal(r.items[0].state, ITEM_PENDING);
    assert_int_equal(r.items[1].state, ITEM_DENIED);
    graph_rig_fini(&r);
}

/* The insights of one post are denied. The other post has no data: a video, whose empty insights prove the
 * permission, or a post. */
static void denied_post_beside_posts_without_data_is_no_missing_permission(void **state)
{
    static const struct {
        const char *other;
        int64_t age_days; /* of the denied post */
        bool lacks_insights;
    } rows[] = {{"10_20", 2, false}, {"10_20", 4, true}, {"3237", 2, false}, {"3237", 4, false}};
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        init(&r, "10_30", rows[i].other);
        r.items[0].posted_at = r.call.now_ms - rows[i].age_days * DAY_MS;
        r.items[1].views_source = strchr(rows[i].other, '_') ? 0 : REEL;
        struct str entries[] = {
            graph_rig_entry(&r, 200, "{'id':'10_30'}"),
            graph_rig_entry(&r, 400, "{'error':{'message':'(#200) permission','code':200}}"),
            graph_rig_entry(&r, 200, arena_printf(&r.arena, "{'id':'%s'}", rows[i].other).p),
            graph_rig_entry(&r, 200, "{'data':[]}")};
        const struct outcome o = graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 4));
        assert_outcome(o, OUTCOME_OK, SCOPE_ACCOUNT, "ok");
        assert_int_equal(o.no_insights, rows[i].lacks_insights);
        graph_rig_fini(&r);
    }
}

/* Denied insights are reported, and so are empty insights of a post that should have counts. The views stay
 * unknown. */
static void missing_insights_are_reported(void **state)
{
    static const struct {
        const char *id, *insights;
        int status;
        int64_t age_days;
        bool reports_no_insights;
    } rows[] = {
        {"10_20", "{'data':[]}", 200, 4, true},
        {"10_20", "{'data':[]}", 200, 2,
         false}, /* empty insights of a new post, which are not available yet */
        {"3237", "{'error':{'message':'(#200) read_insights permission missing','code':200}}", 400, 0, true},
        {"3237", REEL_OF("3237", UPPER), 200, 4, false},
    };
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        init(&r, rows[i].id, NULL);
        r.items[0].posted_at = r.call.now_ms - rows[i].age_days * DAY_MS;
        struct str node = arena_printf(&r.arena, "{'id':'%s'}", rows[i].id);
        struct outcome o = parse_response(&r, node.p, rows[i].status, rows[i].insights);
        assert_outcome(o, OUTCOME_OK, SCOPE_ACCOUNT, "ok");
        assert_true(o.no_insights == rows[i].reports_no_insights);
        graph_rig_fini(&r);
    }
    /* If one post of the batch has insights, the permission exists. */
    init(&r, "3237", "10_20");
    r.items[0].posted_at = r.items[1].posted_at = r.call.now_ms - 9 * DAY_MS;
    struct str entries[] = {
        graph_rig_entry(&r, 200, NODE_OF("3237")), graph_rig_entry(&r, 200, REEL_OF("3237", UPPER)),
        graph_rig_entry(&r, 200, "{'id':'10_20'}"), graph_rig_entry(&r, 200, "{'data':[]}")};
    assert_false(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 4)).no_insights);
    graph_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_have_two_operations_per_post),
        cmocka_unit_test(requests_depend_on_views_source_and_tier),
        cmocka_unit_test(largest_batches_fit),
        cmocka_unit_test(reads_a_reel),
        cmocka_unit_test(chosen_views_source_never_changes),
        cmocka_unit_test(classic_video_is_requested_again_in_another_form),
        cmocka_unit_test(reads_default_metrics),
        cmocka_unit_test(drops_rejected_metric),
        cmocka_unit_test(message_with_only_the_rejected_reel_metric_does_not_drop_it),
        cmocka_unit_test(parses_social_actions),
        cmocka_unit_test(reads_a_page_post),
        cmocka_unit_test(empty_and_missing_lists_result_in_no_counts),
        cmocka_unit_test(error_of_one_post_sets_its_state),
        cmocka_unit_test(denied_fields_alone_do_not_revoke_the_grant),
        cmocka_unit_test(post_without_permissions_is_denied_and_not_missing),
        cmocka_unit_test(missing_insights_are_reported),
        cmocka_unit_test(denied_post_beside_posts_without_data_is_no_missing_permission),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
