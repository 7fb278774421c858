/* Tests Instagram with both logins: requests byte for byte, the documented samples, tiers, tokens, linking.
 *
 * Samples: developers.facebook.com, IG Media Insights (2026-06-18) [V], error codes [V] and their texts
 * [P], refresh_access_token and business login [V], read in November 2026. */
#include "lib/graph_rig.h"

#include "base/clock.h"

#define NONE COUNT_NONE

/* Meta's page "IG Media Insights" of 2026-06-18 [V]: all five metrics. */
#define INSIGHTS_OF(id)                                                                                      \
    "{'data':[{'name':'views','period':'lifetime','values':[{'value':1342}],'title':'Views','id':'" id       \
    "/insights/views/lifetime'},{'name':'likes','period':'lifetime','values':[{'value':8}],'id':'" id        \
    "/insights/likes/lifetime'},{'name':'comments','period':'lifetime','values':[{'value':2}]},"             \
    "{'name':'shares','period':'lifetime','values':[{'value':1}]},"                                          \
    "{'name':'saved','period':'lifetime','values':[{'value':4}]}]}"

static void init(struct graph_rig *r, const struct platform_desc *desc, const char *one, const char *two)
{
    const char *const ids[] = {one, two, NULL};
    graph_rig_init(r, desc, ids);
}

/* ---- requests ---- */

static void instagram_login_reads_one_post_per_call(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_desc, "17900000000000001", NULL);
    graph_rig_build(&r);
    assert_string_equal(r.request.origin, "https://api.example");
    assert_string_equal(r.request.method, "GET");
    assert_str(r.request.path, "/v26.0/17900000000000001/insights?metric=views,likes,comments,shares,saved");
    assert_int_equal(r.request.header_count, 1);
    assert_str(r.request.headers[0].name, "Authorization");
    assert_str(r.request.headers[0].value, "Bearer TOKEN");
    assert_null(r.request.body.p);
    graph_rig_fini(&r);
}

static void facebook_login_reads_a_batch(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_facebook_desc, "1791", "1792");
    r.options.graph_version = "v25.0";
    graph_rig_build(&r);
    assert_string_equal(r.request.origin, "https://api.example");
    assert_string_equal(r.request.method, "POST");
    assert_str(r.request.path, "/v25.0/");
    assert_str(r.request.content_type, "application/x-www-form-urlencoded");
    assert_str(graph_rig_field(&r, "include_headers"), "true");
    assert_str(
        graph_rig_field(&r, "batch"),
        "[{\"method\":\"GET\",\"relative_url\":\"v25.0/1791/insights?metric=views,likes,comments,shares,"
        "saved\"},{\"method\":\"GET\",\"relative_url\":\"v25.0/1792/insights?metric=views,likes,comments,"
        "shares,saved\"}]");
    assert_str(graph_rig_field(&r, "access_token"), "TOKEN");
    assert_int_equal(r.request.header_count, 0);
    /* Compares the whole body byte for byte. */
    r.call.item_count = 1;
    graph_rig_build(&r);
    assert_str(r.request.body,
               "access_token=TOKEN&include_headers=true&batch=%5B%7B%22method%22%3A%22GET%22,%22relative_"
               "url%22%3A%22"
               "v25.0%2F1791%2Finsights%3Fmetric%3Dviews,likes,comments,shares,saved%22%7D%5D");
    graph_rig_fini(&r);
}

static void request_form_depends_on_tier(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_desc, "1791", NULL);
    r.call.dropped = STR("shares,saved");
    graph_rig_build(&r);
    assert_str(r.request.path, "/v26.0/1791/insights?metric=views,likes,comments");
    r.call.dropped = STR("views,likes,comments,shares,saved");
    graph_rig_build(&r);
    assert_str(r.request.path, "/v26.0/1791?fields=like_count,comments_count");
    r.call.dropped = STR("");
    r.call.tier = 1;
    graph_rig_build(&r);
    assert_str(r.request.path, "/v26.0/1791/insights?metric=views,likes,comments");
    r.call.tier = 2;
    graph_rig_build(&r);
    assert_str(r.request.path, "/v26.0/1791?fields=like_count,comments_count");
    graph_rig_fini(&r);
}

static void second_form_of_a_batch_requests_shares_and_saves_separately(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_facebook_desc, "1791", NULL);
    r.call.tier = 1;
    graph_rig_build(&r);
    assert_str(graph_rig_field(&r, "batch"),
               "[{\"method\":\"GET\",\"relative_url\":\"v26.0/1791/insights?metric=views,likes,comments\"},"
               "{\"method\":\"GET\",\"relative_url\":\"v26.0/1791/insights?metric=shares\"},"
               "{\"method\":\"GET\",\"relative_url\":\"v26.0/1791/insights?metric=saved\"}]");
    struct str entries[] = {
        graph_rig_entry(&r, 200, "{'data':[{'name':'views','values':[{'value':5}]}]}"),
        graph_rig_entry(&r, 400, "{'error':{'message':'(#100) metric[0] must be one of','code':100}}"),
        graph_rig_entry(&r, 200, "{'data':[{'name':'saved','values':[{'value':7}]}]}"),
    };
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(r.items[0].state, ITEM_OK);
    assert_counts(&r.items[0], 5, NONE, NONE, NONE, 7);
    graph_rig_fini(&r);
}

static void largest_batches_fit(void **state)
{
    struct graph_rig r;
    (void)state;
    for (int tier = 0; tier < instagram_facebook_desc.tiers; tier++) {
        init(&r, &instagram_facebook_desc, "1", NULL);
        r.call.tier = tier;
        r.call.item_count = (size_t)instagram_facebook_desc.ids_per_call[tier];
        for (size_t i = 0; i < r.call.item_count; i++)
            r.items[i].id = STR("17900000000000001");
        graph_rig_build(&r);
        assert_true(graph_rig_field(&r, "batch").len > 1000);
        graph_rig_fini(&r);
    }
}

/* ---- responses ---- */

static void reads_all_five_counts(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_desc, "179", NULL);
    assert_outcome(graph_rig_parse_text(&r, 200, INSIGHTS_OF("179")), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(r.items[0].state, ITEM_OK);
    assert_counts(&r.items[0], 1342, 8, 2, 1, 4);
    assert_int_equal(r.items[0].views_source, VIEWS_SOURCE_NONE);
    graph_rig_fini(&r);
}

static void parses_values_of_all_kinds(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_desc, "179", NULL);
    /* [P] A metric has `total_value` instead of `values`; is present twice, with the periods day and
     * lifetime; or is present only with the period day. */
    graph_rig_parse_text(&r, 200,
                         "{'data':[{'name':'views','period':'day','values':[{'value':3}]},"
                         "{'name':'views','period':'lifetime','values':[{'value':300}]},"
                         "{'name':'likes','total_value':{'value':9}},"
                         "{'name':'shares','period':'day','values':[{'value':3}]},"
                         "{'name':'saved','period':'day','total_value':{'value':2}}]}");
    assert_counts(&r.items[0], 300, 9, NONE, NONE, 2);
    /* A value that is not a count is unknown. */
    static const char *const bad[] = {
        "-1", "1e3",  "'12 '", "18446744073709551616", "9007199254740992", "null", "true", "1.5", "[]",
        "{}", "'-0'", "' 1'"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct str text = arena_printf(
            &r.arena,
            "{'data':[{'name':'views','values':[{'value':%s}]},{'name':'likes','values':[{'value':1}]}]}",
            bad[i]);
        graph_rig_parse_text(&r, 200, text.p);
        assert_counts(&r.items[0], NONE, 1, NONE, NONE, NONE);
    }
    graph_rig_fini(&r);
}

static void empty_list_means_no_data_and_missing_list_is_malformed(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_desc, "179", NULL);
    assert_outcome(graph_rig_parse_text(&r, 200, "{'data':[]}"), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(r.items[0].state, ITEM_NO_DATA);
    assert_counts(&r.items[0], NONE, NONE, NONE, NONE, NONE);
    assert_outcome(graph_rig_parse_text(&r, 200, "{}"), OUTCOME_MALFORMED, SCOPE_CALL, "insights");
    assert_outcome(graph_rig_parse_text(&r, 200, "{'data':null}"), OUTCOME_MALFORMED, SCOPE_CALL, "insights");
    assert_outcome(graph_rig_parse_text(&r, 200, "{'data':[3]}"), OUTCOME_MALFORMED, SCOPE_CALL, "insights");
    /* The response contains an object that was not requested. */
    assert_outcome(graph_rig_parse_text(&r, 200, INSIGHTS_OF("180")), OUTCOME_MALFORMED, SCOPE_CALL,
                   "insights");
    assert_counts(&r.items[0], NONE, NONE, NONE, NONE, NONE);
    graph_rig_fini(&r);
}

static void errors_of_a_post_set_its_state(void **state)
{
    static const struct {
        const char *body;
        enum item_state item;
    } rows[] = {
        {"{'error':{'message':'Unsupported get request. Object with ID does not exist, cannot be loaded due "
         "to "
         "missing "
         "permissions','type':'GraphMethodException','code':100,'error_subcode':33,'fbtrace_id':'C'}}",
         ITEM_MISSING},
        {"{'error':{'message':'(#10) Not enough viewers for the media to show insights','code':10}}",
         ITEM_NO_DATA},
        {"{'error':{'message':'(#100) … Media posted before business account conversion','code':100,"
         "'error_subcode':2108006,'fbtrace_id':'E'}}",
         ITEM_PERMANENT},
    };
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        init(&r, &instagram_desc, "179", NULL);
        assert_outcome(graph_rig_parse_text(&r, 400, rows[i].body), OUTCOME_OK, SCOPE_CALL, "ok");
        assert_int_equal(r.items[0].state, rows[i].item);
        graph_rig_fini(&r);
    }
}

/* A rejected metric never fails the whole call. */
static void drops_rejected_metric(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_desc, "179", NULL);
    struct outcome o = graph_rig_parse_text(
        &r, 400,
        "{'error':{'message':'(#100) metric[3] must be one of the following values: reach, views, likes',"
        "'type':'OAuthException','code':100,'fbtrace_id':'A'}}");
    assert_outcome(o, OUTCOME_OTHER_FORM, SCOPE_CALL, "100");
    assert_str(o.dropped, "shares");
    assert_false(o.these_posts_only);
    assert_int_equal(r.items[0].state, ITEM_PENDING);
    o = graph_rig_parse_text(
        &r, 400,
        "{'error':{'message':'(#100) The Media Insights API does not support the views metric for "
        "this media product type.','type':'OAuthException','code':100,'fbtrace_id':'B'}}");
    assert_outcome(o, OUTCOME_OTHER_FORM, SCOPE_CALL, "100");
    assert_str(o.dropped, "views");
    assert_true(o.these_posts_only);
    /* If the error names no metric, the next request form is used. If this was the last form, the request is
     * at fault. */
    o = graph_rig_parse_text(
        &r, 400, "{'error':{'message':'(#100) The value must be a valid insights metric','code':100}}");
    assert_outcome(o, OUTCOME_OTHER_FORM, SCOPE_CALL, "100");
    assert_null(o.dropped.p);
    r.call.tier = 2;
    o = graph_rig_parse_text(
        &r, 400, "{'error':{'message':'(#100) Tried accessing nonexisting field (reposts)','code':100}}");
    assert_outcome(o, OUTCOME_BAD_REQUEST, SCOPE_CALL, "100");
    graph_rig_fini(&r);
}

static void reads_the_media_object(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_desc, "179", NULL);
    r.call.tier = 2;
    assert_outcome(graph_rig_parse_text(&r, 200, "{'like_count':7,'comments_count':0,'id':'179'}"),
                   OUTCOME_OK, SCOPE_CALL, "ok");
    assert_counts(&r.items[0], NONE, 7, 0, NONE, NONE);
    assert_int_equal(r.items[0].views_source, 0);
    /* like_count is left out when the owner hides likes [K] */
    graph_rig_parse_text(&r, 200, "{'comments_count':3,'id':'179'}");
    assert_counts(&r.items[0], NONE, NONE, 3, NONE, NONE);
    assert_outcome(graph_rig_parse_text(&r, 200, "{'comments_count':3,'id':'180'}"), OUTCOME_MALFORMED,
                   SCOPE_CALL, "id");
    graph_rig_fini(&r);
}

/* Each part of a batch has its own result. */
static void reads_a_batch_with_mixed_results(void **state)
{
    static const char *const ids[] = {"1", "2", "3", "4", "5", "6", NULL};
    struct graph_rig r;
    (void)state;
    graph_rig_init(&r, &instagram_facebook_desc, ids);
    struct str entries[] = {
        graph_rig_entry(&r, 200, INSIGHTS_OF("1")),
        graph_rig_entry(&r, 0, NULL),
        graph_rig_entry(&r, 400,
                        "{'error':{'message':'Unsupported get request','code':100,'error_subcode':33}}"),
        graph_rig_entry(&r, 500, "{'error':{'message':'An unknown error occurred','code':1}}"),
        graph_rig_entry(&r, 503, "<html>"),
        graph_rig_entry(&r, 200, "{'data':[]}"),
    };
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 6)), OUTCOME_OK, SCOPE_CALL, "ok");
    static const enum item_state want[] = {ITEM_OK,    ITEM_RETRY, ITEM_MISSING,
                                           ITEM_RETRY, ITEM_RETRY, ITEM_NO_DATA};
    for (int i = 0; i < 6; i++)
        assert_int_equal(r.items[i].state, want[i]);
    assert_counts(&r.items[0], 1342, 8, 2, 1, 4);
    graph_rig_fini(&r);
}

/* If one post of a batch needs another form, the results of the other posts are used, and only this post is
 * requested again. */
static void drops_rejected_metric_in_a_batch(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_facebook_desc, "1", "2");
    struct str entries[] = {
        graph_rig_entry(&r, 200, INSIGHTS_OF("1")),
        graph_rig_entry(
            &r, 400,
            "{'error':{'message':'(#100) The Media Insights API does not support the shares metric for this "
            "media product type.','code':100}}"),
    };
    struct outcome o = graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 2));
    assert_outcome(o, OUTCOME_OTHER_FORM, SCOPE_CALL, "100");
    assert_str(o.dropped, "shares");
    assert_true(o.these_posts_only);
    assert_int_equal(r.items[0].state, ITEM_OK);
    assert_int_equal(r.items[1].state, ITEM_PENDING);
    graph_rig_fini(&r);
}

/* A denied post is not missing: for a deleted post, Meta reports that the object does not exist. */
static void post_without_permission_is_denied_and_not_missing(void **state)
{
    static const char denied[] = "{'error':{'message':'(#10) permission','code':10}}";
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_facebook_desc, "1", "2");
    struct str entries[] = {graph_rig_entry(&r, 200, INSIGHTS_OF("1")), graph_rig_entry(&r, 400, denied)};
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 2)), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(r.items[0].state, ITEM_OK);
    assert_int_equal(r.items[1].state, ITEM_DENIED);
    assert_false(r.got.no_insights);
    entries[0] = graph_rig_entry(&r, 200, "{'data':[]}");
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 2)), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(r.items[0].state, ITEM_NO_DATA);
    assert_int_equal(r.items[1].state, ITEM_DENIED);
    entries[0] = entries[1];
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 2)), OUTCOME_RECONNECT,
                   SCOPE_ACCOUNT, "10");
    graph_rig_fini(&r);
}

/* A denied post shows that the permission is missing only if no other post proves the permission, and if
 * young posts that have no insights yet are not its only company. */
static void denied_post_beside_posts_without_data_is_no_missing_permission(void **state)
{
    static const char empty[] = "{'data':[]}";
    static const struct {
        int status;
        const char *other;
        int64_t age_days; /* of the denied post */
        bool lacks_insights;
    } rows[] = {
        {200, empty, 2, false},
        {200, empty, 4, true},
        {400, "{'error':{'message':'(#10) Not enough viewers for the media','code':10}}", 2, false},
        {400, "{'error':{'message':'(#10) Not enough viewers for the media','code':10}}", 4, false},
        {200, INSIGHTS_OF("1"), 4, false},
    };
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        init(&r, &instagram_facebook_desc, "1", "2");
        r.items[1].posted_at = r.call.now_ms - rows[i].age_days * DAY_MS;
        struct str entries[] = {
            graph_rig_entry(&r, rows[i].status, rows[i].other),
            graph_rig_entry(&r, 400, "{'error':{'message':'(#10) permission','code':10}}")};
        const struct outcome o = graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 2));
        assert_outcome(o, OUTCOME_OK, SCOPE_CALL, "ok");
        assert_int_equal(o.no_insights, rows[i].lacks_insights);
        graph_rig_fini(&r);
    }
}

/* ---- tokens ---- */

static struct outcome refresh(struct graph_rig *r, int status, const char *body, struct token_grant *got)
{
    struct http_response response = {status, graph_rig_json(r, body), NULL, 0};
    return instagram_desc.parse_refresh(&r->arena, &response, got);
}

static void refreshes_the_token(void **state)
{
    struct graph_rig r;
    struct token_grant have = {.access_token = STR("IGAA-OLD")}, got;
    (void)state;
    init(&r, &instagram_desc, "1", NULL);
    instagram_desc.build_refresh(&r.arena, &r.options, &(struct platform_app){0}, &have, &r.request);
    assert_string_equal(r.request.origin, "https://api.example");
    assert_string_equal(r.request.method, "GET");
    assert_str(r.request.path, "/refresh_access_token?grant_type=ig_refresh_token&access_token=IGAA-OLD");
    /* [V] the sample of refresh_access_token */
    assert_outcome(
        refresh(&r, 200, "{'access_token':'NEW','token_type':'bearer','expires_in':5183944}", &got),
        OUTCOME_OK, SCOPE_CALL, "ok");
    assert_str(got.access_token, "NEW");
    assert_int_equal(got.expires_in_s, 5183944);
    assert_int_equal(got.refresh_token.len, 0);
    assert_outcome(refresh(&r, 200, "{'access_token':'NEW'}", &got), OUTCOME_OK, SCOPE_CALL, "ok");
    assert_int_equal(got.expires_in_s, 0);
    static const struct {
        int status;
        const char *body;
        enum outcome_kind outcome;
        const char *code;
    } rows[] = {
        {400, "{'error':{'message':'Session has expired','code':190,'error_subcode':463}}", OUTCOME_RECONNECT,
         "190.463"},
        {400, "{'error':{'message':'Session key invalid','code':102}}", OUTCOME_RECONNECT, "102"},
        {400, "{'error':{'message':'Error validating client secret.','code':1}}", OUTCOME_APP_REJECTED, "1"},
        {400, "{'error':{'message':'Error validating application.','code':101}}", OUTCOME_APP_REJECTED,
         "101"},
        {500, "{'error':{'message':'An unknown error occurred','code':1}}", OUTCOME_RETRY, "1"},
        {400, "{'error':{'message':'(#4) Application request limit reached','code':4}}", OUTCOME_RETRY, "4"},
        {400, "{'error':{'message':'(#10) Application does not have permission','code':10}}",
         OUTCOME_BAD_REQUEST, "10"},
        {400, "{'error':{'message':'(#100) Invalid parameter','code':100}}", OUTCOME_BAD_REQUEST, "100"},
        {503, "<html>", OUTCOME_RETRY, "http.503"},
        {200, "<html>", OUTCOME_MALFORMED, "http.200"},
        {200, "{'access_token':''}", OUTCOME_MALFORMED, "grant"},
        {200, "{'access_token':'a\\r\\nb'}", OUTCOME_MALFORMED, "grant"},
        {200, "{}", OUTCOME_MALFORMED, "grant"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct outcome o = refresh(&r, rows[i].status, rows[i].body, &got);
        assert_string_equal(outcome_kind_name(o.kind), outcome_kind_name(rows[i].outcome));
        assert_str(o.code, rows[i].code);
    }
    graph_rig_fini(&r);
}

static struct outcome parse_link_response(struct graph_rig *r, struct platform_link *link, int status,
                                          const char *body)
{
    struct http_response response = {status, graph_rig_json(r, body), NULL, 0};
    return link->accounts[0].api == API_FACEBOOK ? facebook_desc.link_parse(&r->arena, link, &response)
                                                 : instagram_desc.link_parse(&r->arena, link, &response);
}

static struct platform_link link_begin(struct graph_rig *r)
{
    return (struct platform_link){.options = &r->options,
                                  .app = {STR("ID"), STR("SECRET")},
                                  .redirect_uri = STR("https://me.example/back?a=1"),
                                  .code = STR("AQ+C/1#_")};
}

static void links_an_account(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_desc, "1", NULL);
    struct platform_link link = link_begin(&r);
    struct platform_authorize authorize = {
        .options = &r.options, .app = link.app, .redirect_uri = link.redirect_uri, .state = STR("st")};
    struct str path = instagram_desc.authorize_path(&r.arena, &authorize);
    assert_str(
        path,
        "/oauth/authorize?client_id=ID&redirect_uri=https%3A%2F%2Fme.example%2Fback%3Fa%3D1&"
        "response_type=code&scope=instagram_business_basic,instagram_business_manage_insights&state=st");
    authorize.again = true;
    assert_non_null(
        strstr(instagram_desc.authorize_path(&r.arena, &authorize).p, "&state=st&force_reauth=true"));
    assert_true(instagram_desc.link_build(&r.arena, &link, &r.request));
    assert_string_equal(r.request.origin, "https://token.example");
    assert_string_equal(r.request.method, "POST");
    assert_str(r.request.path, "/oauth/access_token");
    assert_str(r.request.body, "client_id=ID&client_secret=SECRET&grant_type=authorization_code&redirect_uri="
                               "https%3A%2F%2Fme.example%2Fback%3Fa%3D1&code=AQ%2BC%2F1");
    /* [V] Business login returns the tokens in the list `data`. */
    assert_outcome(parse_link_response(&r, &link, 200,
                                       "{'data':[{'access_token':'SHORT','user_id':'1020','permissions':"
                                       "'instagram_business_basic,instagram_business_manage_insights'}]}"),
                   OUTCOME_OK, SCOPE_CALL, "ok");
    assert_true(instagram_desc.link_build(&r.arena, &link, &r.request));
    assert_string_equal(r.request.origin, "https://api.example");
    assert_str(r.request.path,
               "/access_token?grant_type=ig_exchange_token&client_secret=SECRET&access_token=SHORT");
    assert_outcome(parse_link_response(&r, &link, 200,
                                       "{'access_token':'LONG','token_type':'bearer','expires_in':5183944}"),
                   OUTCOME_OK, SCOPE_CALL, "ok");
    assert_true(instagram_desc.link_build(&r.arena, &link, &r.request));
    assert_str(r.request.path, "/v26.0/me?fields=user_id,username");
    assert_str(r.request.headers[0].value, "Bearer LONG");
    assert_outcome(
        parse_link_response(&r, &link, 200, "{'user_id':'17841400000','username':'acme','id':'999'}"),
        OUTCOME_OK, SCOPE_CALL, "ok");
    assert_false(instagram_desc.link_build(&r.arena, &link, &r.request));
    assert_int_equal(link.account_count, 1);
    assert_int_equal(link.accounts[0].api, API_INSTAGRAM);
    assert_str(link.accounts[0].id, "17841400000");
    assert_str(link.accounts[0].name, "acme");
    assert_str(link.accounts[0].grant.access_token, "LONG");
    assert_int_equal(link.accounts[0].grant.expires_in_s, 5183944);
    assert_str(link.accounts[0].grant.scopes, "instagram_business_basic,instagram_business_manage_insights");
    graph_rig_fini(&r);
}

static void each_failure_of_linking_has_its_outcome(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum outcome_kind outcome;
    } rows[] = {
        /* [P] errors of api.instagram.com have a form of their own */
        {400, "{'error_type':'OAuthException','code':400,'error_message':'Invalid platform app'}",
         OUTCOME_APP_REJECTED},
        {400, "{'error_type':'OAuthException','code':400,'error_message':'Invalid authorization code'}",
         OUTCOME_RECONNECT},
        {400, "{'error':{'message':'Error validating client secret.','code':1}}", OUTCOME_APP_REJECTED},
        {503, "", OUTCOME_RETRY},
        {429, "", OUTCOME_RETRY},
        {200, "[]", OUTCOME_MALFORMED},
        {200, "{'data':[]}", OUTCOME_MALFORMED},
    };
    struct graph_rig r;
    (void)state;
    init(&r, &instagram_desc, "1", NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct platform_link link = link_begin(&r);
        struct outcome o = parse_link_response(&r, &link, rows[i].status, rows[i].body);
        assert_string_equal(outcome_kind_name(o.kind), outcome_kind_name(rows[i].outcome));
        assert_int_equal(link.step, 0);
    }
    /* [P] The token response is an object without the list `data`, the user id is a number, and `permissions`
     * is a list. */
    struct platform_link link = link_begin(&r);
    assert_outcome(
        parse_link_response(&r, &link, 200,
                            "{'access_token':'SHORT','user_id':17841400000,'permissions':['a_b','c']}"),
        OUTCOME_OK, SCOPE_CALL, "ok");
    assert_str(link.grant.scopes, "a_b,c");
    parse_link_response(&r, &link, 200, "{'access_token':'LONG'}");
    assert_outcome(parse_link_response(&r, &link, 200, "{'username':'acme'}"), OUTCOME_MALFORMED, SCOPE_CALL,
                   "me");
    assert_outcome(
        parse_link_response(&r, &link, 400, "{'error':{'message':'x','code':190,'error_subcode':460}}"),
        OUTCOME_RECONNECT, SCOPE_CALL, "190.460");
    assert_outcome(parse_link_response(&r, &link, 200, "{'user_id':17841400000}"), OUTCOME_OK, SCOPE_CALL,
                   "ok");
    assert_str(link.accounts[0].id, "17841400000");
    assert_null(link.accounts[0].name.p);
    graph_rig_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instagram_login_reads_one_post_per_call),
        cmocka_unit_test(facebook_login_reads_a_batch),
        cmocka_unit_test(request_form_depends_on_tier),
        cmocka_unit_test(second_form_of_a_batch_requests_shares_and_saves_separately),
        cmocka_unit_test(largest_batches_fit),
        cmocka_unit_test(reads_all_five_counts),
        cmocka_unit_test(parses_values_of_all_kinds),
        cmocka_unit_test(empty_list_means_no_data_and_missing_list_is_malformed),
        cmocka_unit_test(errors_of_a_post_set_its_state),
        cmocka_unit_test(drops_rejected_metric),
        cmocka_unit_test(reads_the_media_object),
        cmocka_unit_test(reads_a_batch_with_mixed_results),
        cmocka_unit_test(drops_rejected_metric_in_a_batch),
        cmocka_unit_test(post_without_permission_is_denied_and_not_missing),
        cmocka_unit_test(denied_post_beside_posts_without_data_is_no_missing_permission),
        cmocka_unit_test(refreshes_the_token),
        cmocka_unit_test(links_an_account),
        cmocka_unit_test(each_failure_of_linking_has_its_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
