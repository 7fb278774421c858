/* Tests the requests to TikTok, YouTube and Pinterest byte by byte. Sources: the documentation of each
 * platform (2026-08 to 2026-11). Marks such as [V] are explained in platform.h. */
#include "unit.h"

#include "base/clock.h"
#include "platforms/platform.h"

#define NOW                                                                                                  \
    INT64_C(                                                                                                 \
        1795262400000) /* 2026-11-21T12:00:00Z, an hour in which Pinterest calls request views and saves */

static struct arena arena;
static struct http_request request;
static const struct platform_options options = {
    .origins = {"https://api.example", "https://token.example", "https://consent.example"},
    .graph_version = "v26.0"};
static const struct platform_app app = {{"CK/1", 4}, {"C&S", 3}};

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 4096);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static bool combined; /* value of platform_call.combined in the next request */

static void build(const struct platform_desc *desc, enum call_kind kind, int tier, bool by_key,
                  int64_t now_ms, const char *first, const char *second)
{
    struct platform_item items[2] = {{.id = str_from_cstr(first), .posted_at = NOW - 3 * DAY_MS},
                                     {.id = str_from_cstr(second), .posted_at = NOW - 20 * DAY_MS}};
    const struct platform_call call = {.kind = kind,
                                       .options = &options,
                                       .account_id = STR("A"),
                                       .access_token = STR("act.TOKEN"),
                                       .by_key = by_key,
                                       .tier = tier,
                                       .combined = combined,
                                       .now_ms = now_ms,
                                       .items = items,
                                       .item_count = second ? 2 : 1};
    memset(&request, 0xAA, sizeof request);
    desc->build(&arena, &call, &request);
}

static void assert_request(enum platform_origin origin, const char *method, const char *path,
                           const char *type, const char *body)
{
    assert_string_equal(request.origin, options.origins[origin]);
    assert_string_equal(request.method, method);
    assert_str(request.path, path);
    if (!type) {
        assert_null(request.content_type.p);
        return;
    }
    assert_str(request.content_type, type);
    assert_str(request.body, body);
}

static void assert_only_header(const char *value)
{
    assert_int_equal(request.header_count, 1);
    assert_str(request.headers[0].name, "Authorization");
    assert_str(request.headers[0].value, value);
}

#define FORM "application/x-www-form-urlencoded"

/* ---- TikTok [V] ---- */

static void tiktok_requests_videos(void **state)
{
    (void)state;
    build(&tiktok_desc, CALL_READ, 0, false, NOW, "7077642457847994444", "7080217258529732386");
    assert_request(ORIGIN_API, "POST",
                   "/v2/video/query/?fields=id,view_count,like_count,comment_count,share_count",
                   "application/json",
                   "{\"filters\":{\"video_ids\":[\"7077642457847994444\",\"7080217258529732386\"]}}");
    assert_only_header("Bearer act.TOKEN");
}

static void tiktok_resolves_publish_id(void **state)
{
    (void)state;
    build(&tiktok_desc, CALL_RESOLVE, 0, false, NOW, "v_pub_url~v2.123456789", NULL);
    assert_request(ORIGIN_API, "POST", "/v2/post/publish/status/fetch/", "application/json",
                   "{\"publish_id\":\"v_pub_url~v2.123456789\"}");
    assert_only_header("Bearer act.TOKEN");
}

static void refresh(const struct platform_desc *desc)
{
    const struct token_grant have = {.access_token = STR("OLD"), .refresh_token = STR("rft.OLD*!4123.x")};
    memset(&request, 0xAA, sizeof request);
    desc->build_refresh(&arena, &options, &app, &have, &request);
}

static void tiktok_refreshes_token(void **state)
{
    (void)state;
    refresh(&tiktok_desc);
    assert_request(
        ORIGIN_API, "POST", "/v2/oauth/token/", FORM,
        "client_key=CK%2F1&client_secret=C%26S&grant_type=refresh_token&refresh_token=rft.OLD%2A%214123.x");
    assert_int_equal(request.header_count, 0);
}

static struct platform_link link;

static bool link_step(const struct platform_desc *desc, int step)
{
    link = (struct platform_link){.options = &options,
                                  .app = app,
                                  .redirect_uri = STR("https://a.example/linked"),
                                  .code = STR("a*0!6410"),
                                  .verifier = desc->uses_pkce ? STR("VERIFIER") : (struct str){NULL, 0},
                                  .step = step,
                                  .grant = {.access_token = STR("act.TOKEN")}};
    memset(&request, 0xAA, sizeof request);
    return desc->link_build(&arena, &link, &request);
}

static struct str authorize(const struct platform_desc *desc, bool again)
{
    const struct platform_authorize authorize = {.options = &options,
                                                 .app = app,
                                                 .redirect_uri = STR("https://a.example/linked"),
                                                 .state = STR("STATE"),
                                                 .challenge = desc->uses_pkce ? STR("CHALLENGE")
                                                                              : (struct str){NULL, 0},
                                                 .again = again};
    return desc->authorize_path(&arena, &authorize);
}

static void tiktok_links_account(void **state)
{
    (void)state;
    assert_str(authorize(&tiktok_desc, false),
               "/v2/auth/authorize/?client_key=CK%2F1&response_type=code&scope=user.info.basic,video.list"
               "&redirect_uri=https%3A%2F%2Fa.example%2Flinked&state=STATE&disable_auto_auth=1");
    assert_true(link_step(&tiktok_desc, 0));
    assert_request(ORIGIN_API, "POST", "/v2/oauth/token/", FORM,
                   "client_key=CK%2F1&client_secret=C%26S&code=a%2A0%216410&grant_type=authorization_code"
                   "&redirect_uri=https%3A%2F%2Fa.example%2Flinked");
    assert_true(link_step(&tiktok_desc, 1));
    assert_request(ORIGIN_API, "GET", "/v2/user/info/?fields=open_id,display_name", NULL, NULL);
    assert_only_header("Bearer act.TOKEN");
    assert_false(link_step(&tiktok_desc, 2));
}

/* ---- YouTube [V] ---- */

static void youtube_requests_videos_with_a_token(void **state)
{
    (void)state;
    build(&youtube_desc, CALL_READ, 0, false, NOW, "Ks-_Mh1QhMc", "dQw4w9WgXcQ");
    assert_request(ORIGIN_API, "GET",
                   "/youtube/v3/videos:batchGetStats?part=id,statistics&id=Ks-_Mh1QhMc,dQw4w9WgXcQ", NULL,
                   NULL);
    assert_only_header("Bearer act.TOKEN");
    build(&youtube_desc, CALL_READ, 1, false, NOW, "Ks-_Mh1QhMc", "dQw4w9WgXcQ");
    assert_request(ORIGIN_API, "GET", "/youtube/v3/videos?part=statistics&id=Ks-_Mh1QhMc,dQw4w9WgXcQ", NULL,
                   NULL);
}

static void youtube_requests_videos_with_an_api_key(void **state)
{
    (void)state;
    build(&youtube_desc, CALL_READ, 0, true, NOW, "Ks-_Mh1QhMc", "dQw4w9WgXcQ");
    assert_request(
        ORIGIN_API, "GET",
        "/youtube/v3/videos:batchGetStats?part=id,statistics&id=Ks-_Mh1QhMc,dQw4w9WgXcQ&key=act.TOKEN", NULL,
        NULL);
    assert_int_equal(request.header_count, 0);
}

static void youtube_refreshes_token(void **state)
{
    (void)state;
    refresh(&youtube_desc);
    assert_request(
        ORIGIN_TOKEN, "POST", "/token", FORM,
        "client_id=CK%2F1&client_secret=C%26S&refresh_token=rft.OLD%2A%214123.x&grant_type=refresh_token");
    assert_int_equal(request.header_count, 0);
}

static void youtube_links_channels(void **state)
{
    (void)state;
    assert_str(
        authorize(&youtube_desc, false),
        "/o/oauth2/v2/auth?client_id=CK%2F1&redirect_uri=https%3A%2F%2Fa.example%2Flinked&response_type=code"
        "&scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fyoutube.readonly&access_type=offline&prompt=consent"
        "&state=STATE&code_challenge=CHALLENGE&code_challenge_method=S256");
    struct str again = authorize(&youtube_desc, true);
    assert_true(again.len && strstr(again.p, "&prompt=consent%20select_account&"));
    assert_true(link_step(&youtube_desc, 0));
    assert_request(ORIGIN_TOKEN, "POST", "/token", FORM,
                   "client_id=CK%2F1&client_secret=C%26S&code=a%2A0%216410&code_verifier=VERIFIER"
                   "&grant_type=authorization_code&redirect_uri=https%3A%2F%2Fa.example%2Flinked");
    assert_true(link_step(&youtube_desc, 1));
    assert_request(ORIGIN_API, "GET", "/youtube/v3/channels?part=id,snippet&mine=true", NULL, NULL);
    assert_only_header("Bearer act.TOKEN");
    assert_false(link_step(&youtube_desc, 2));
}

/* ---- Pinterest [V] ---- */

/* Unless the app may combine them, a request asks for only one of the two kinds of metrics, depending on the
 * hour. At NOW, these are views and saves. */
static void pinterest_requests_many_pins(void **state)
{
    (void)state;
    build(&pinterest_desc, CALL_READ, 0, false, NOW, "1", "3");
    assert_request(ORIGIN_API, "GET",
                   "/v5/pins/analytics?pin_ids=1,3&start_date=2026-10-31&end_date=2026-11-21"
                   "&metric_types=VIDEO_MRC_VIEW,SAVE",
                   NULL, NULL);
    assert_only_header("Bearer act.TOKEN");
    combined = true;
    build(&pinterest_desc, CALL_READ, 0, false, NOW, "1", "3");
    combined = false;
    assert_request(ORIGIN_API, "GET",
                   "/v5/pins/analytics?pin_ids=1,3&start_date=2026-10-31&end_date=2026-11-21"
                   "&metric_types=VIDEO_MRC_VIEW,SAVE,TOTAL_REACTIONS,TOTAL_COMMENTS",
                   NULL, NULL);
}

static void pinterest_requests_one_pin(void **state)
{
    (void)state;
    build(&pinterest_desc, CALL_READ, 1, false, NOW, "813744226420795884", NULL);
    assert_request(ORIGIN_API, "GET",
                   "/v5/pins/813744226420795884/analytics?start_date=2026-11-17&end_date=2026-11-21"
                   "&metric_types=VIDEO_MRC_VIEW,SAVE&app_types=ALL&split_field=NO_SPLIT",
                   NULL, NULL);
    build(&pinterest_desc, CALL_READ, 2, false, NOW, "a/../b?", NULL);
    assert_request(ORIGIN_API, "GET",
                   "/v5/pins/a%2F..%2Fb%3F/analytics?start_date=2026-11-17&end_date=2026-11-21"
                   "&metric_types=TOTAL_REACTIONS,TOTAL_COMMENTS&app_types=ALL&split_field=NO_SPLIT",
                   NULL, NULL);
}

static struct str metrics_at(int64_t now_ms)
{
    struct str head, rest;
    build(&pinterest_desc, CALL_READ, 1, false, now_ms, "1", NULL);
    rest = str_cut(request.path, '&', &head); /* start_date */
    rest = str_cut(rest, '&', &head);
    (void)str_cut(rest, '&', &head);
    return head;
}

/* Whatever the read interval of a post, views are requested at least at every third reading, and reactions at
 * least at every ninth and on average at every fourth. */
static void pinterest_requests_one_kind_of_metrics_depending_on_the_hour(void **state)
{
    static const int intervals_h[] = {1, 6, 24};
    (void)state;
    for (size_t i = 0; i < sizeof intervals_h / sizeof intervals_h[0]; i++) {
        int lifetime = 0, run_of_lifetime = 0, run_of_views = 0;
        for (int n = 0; n < 240; n++) {
            arena_reset(&arena);
            struct str metrics = metrics_at(NOW + n * intervals_h[i] * HOUR_MS);
            if (str_eq(metrics, STR("metric_types=TOTAL_REACTIONS,TOTAL_COMMENTS"))) {
                lifetime++;
                run_of_lifetime++;
                run_of_views = 0;
            } else {
                assert_str(metrics, "metric_types=VIDEO_MRC_VIEW,SAVE");
                run_of_views++;
                run_of_lifetime = 0;
            }
            assert_true(run_of_lifetime <= 2 && run_of_views <= 8);
        }
        assert_in_range(lifetime, 50, 70);
    }
}

/* The requested period has at most ninety days and does not begin in the future. */
static void pinterest_requests_at_most_ninety_days(void **state)
{
    (void)state;
    static const struct {
        int64_t posted_at;
        const char *first;
    } rows[] = {
        {NOW, "2026-11-20"},       {NOW + 5 * DAY_MS, "2026-11-20"},  {0, "2026-11-20"},
        {TIME_NONE, "2026-11-20"}, {NOW - 88 * DAY_MS, "2026-08-24"}, {NOW - 1000 * DAY_MS, "2026-08-24"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct platform_item item = {.id = STR("1"), .posted_at = rows[i].posted_at};
        const struct platform_call call = {.options = &options,
                                           .access_token = STR("T"),
                                           .tier = 1,
                                           .now_ms = NOW,
                                           .items = &item,
                                           .item_count = 1};
        pinterest_desc.build(&arena, &call, &request);
        struct str head = str_make(request.path.p + strlen("/v5/pins/1/analytics?start_date="), 10);
        assert_str(head, rows[i].first);
    }
}

static void pinterest_refreshes_token(void **state)
{
    (void)state;
    refresh(&pinterest_desc);
    assert_request(ORIGIN_API, "POST", "/v5/oauth/token", FORM,
                   "grant_type=refresh_token&refresh_token=rft.OLD%2A%214123.x");
    assert_only_header("Basic Q0svMTpDJlM=");
}

static void pinterest_links_account(void **state)
{
    (void)state;
    assert_str(authorize(&pinterest_desc, false),
               "/oauth/?client_id=CK%2F1&redirect_uri=https%3A%2F%2Fa.example%2Flinked&response_type=code"
               "&scope=boards%3Aread,pins%3Aread,user_accounts%3Aread&state=STATE");
    assert_true(link_step(&pinterest_desc, 0));
    assert_request(
        ORIGIN_API, "POST", "/v5/oauth/token", FORM,
        "grant_type=authorization_code&code=a%2A0%216410&redirect_uri=https%3A%2F%2Fa.example%2Flinked"
        "&continuous_refresh=true");
    assert_only_header("Basic Q0svMTpDJlM=");
    assert_true(link_step(&pinterest_desc, 1));
    assert_request(ORIGIN_API, "GET", "/v5/user_account", NULL, NULL);
    assert_only_header("Bearer act.TOKEN");
    assert_false(link_step(&pinterest_desc, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiktok_requests_videos),
        cmocka_unit_test(tiktok_resolves_publish_id),
        cmocka_unit_test(tiktok_refreshes_token),
        cmocka_unit_test(tiktok_links_account),
        cmocka_unit_test(youtube_requests_videos_with_a_token),
        cmocka_unit_test(youtube_requests_videos_with_an_api_key),
        cmocka_unit_test(youtube_refreshes_token),
        cmocka_unit_test(youtube_links_channels),
        cmocka_unit_test(pinterest_requests_many_pins),
        cmocka_unit_test(pinterest_requests_one_pin),
        cmocka_unit_test(pinterest_requests_one_kind_of_metrics_depending_on_the_hour),
        cmocka_unit_test(pinterest_requests_at_most_ninety_days),
        cmocka_unit_test(pinterest_refreshes_token),
        cmocka_unit_test(pinterest_links_account),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
