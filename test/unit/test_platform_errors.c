/* Tests every documented error of TikTok, YouTube and Pinterest. Fails if a connector's table has a row that
 * this test lacks. The sources are cited at each table. Messages of errors are never evaluated. */
#include "unit.h"

#include "base/clock.h"
#include "platforms/errors.h"
#include "platforms/grant.h"

#include <stdlib.h>

struct expected {
    const char *code;
    int status;
    enum outcome_kind outcome; /* outcome of a call that reads two posts with a token, in request form 0 */
    enum outcome_scope scope;
    int64_t wait_ms;
};

static struct arena arena;

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

static struct outcome read_two(const struct platform_desc *desc, int status, struct str body)
{
    struct platform_item items[2] = {{.id = STR("1")}, {.id = STR("2")}};
    const struct platform_options options = {
        .origins = {"https://api.example", "https://token.example", "https://consent.example"},
        .graph_version = "v26.0"};
    struct platform_call call = {.options = &options, .now_ms = HOUR_MS, .items = items, .item_count = 2};
    const struct http_response response = {.status = status, .body = body};
    struct outcome o = desc->parse(&arena, &call, &response);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(items[i].state, ITEM_PENDING);
        for (int k = 0; k < COUNT_KINDS; k++)
            assert_int_equal(items[i].counts[k], COUNT_NONE);
    }
    return o;
}

static void check(const struct expected *e, struct outcome o)
{
    if (o.kind != e->outcome || o.scope != e->scope || o.wait_ms != e->wait_ms)
        fail_msg("%d %s: %s, scope %d, wait %lld", e->status, e->code, outcome_kind_name(o.kind), o.scope,
                 (long long)o.wait_ms);
}

/* Fails unless `list` contains every row of the connector's table. */
static void check_complete(const struct error_row *rows, const struct expected *list, size_t count)
{
    size_t n = 0;
    for (; rows[n].code; n++) {
        bool known = false;
        for (size_t i = 0; i < count; i++)
            known |= strcmp(rows[n].code, list[i].code) == 0 &&
                     (!rows[n].status || rows[n].status == list[i].status);
        if (!known)
            fail_msg("the table of this test lacks the error %s", rows[n].code);
    }
    assert_true(n <= count);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* developers.tiktok.com, error handling (2026-08) [V]; reached_active_user_cap: documented for Direct Post */
static const struct expected tiktok[] = {
    {"access_token_invalid", 401, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},
    {"scope_not_authorized", 401, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"scope_permission_missed", 401, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"invalid_params", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"invalid_file_upload", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"rate_limit_exceeded", 429, OUTCOME_RETRY, SCOPE_APP, MINUTE_MS},
    {"internal_error", 500, OUTCOME_RETRY, SCOPE_CALL, 0},
    {"reached_active_user_cap", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    /* not documented: the status decides */
    {"something_new", 401, OUTCOME_TOKEN_REJECTED, SCOPE_CALL, 0},
    {"something_new", 403, OUTCOME_MALFORMED, SCOPE_CALL, 0},
    {"something_new", 400, OUTCOME_BAD_REQUEST, SCOPE_CALL, 0},
    {"something_new", 429, OUTCOME_RETRY, SCOPE_ACCOUNT, 0},
    {"something_new", 503, OUTCOME_RETRY, SCOPE_CALL, 0},
    {"something_new", 200, OUTCOME_MALFORMED, SCOPE_CALL, 0},
};

static void tiktok_errors_have_documented_outcomes(void **state)
{
    (void)state;
    check_complete(tiktok_errors, tiktok, COUNT(tiktok));
    for (size_t i = 0; i < COUNT(tiktok); i++) {
        struct str body = arena_printf(
            &arena, "{\"data\":{},\"error\":{\"code\":\"%s\",\"message\":\"\",\"log_id\":\"2022\"}}",
            tiktok[i].code);
        struct outcome o = read_two(&tiktok_desc, tiktok[i].status, body);
        check(&tiktok[i], o);
        assert_str(o.code, tiktok[i].code);
    }
}

/* The sources of these errors are in src/platforms/youtube_errors.c. */
static const struct expected youtube[] = {
    {"quotaExceeded", 403, OUTCOME_QUOTA_SPENT, SCOPE_APP, 0},
    {"dailyLimitExceeded", 403, OUTCOME_QUOTA_SPENT, SCOPE_APP, 0},
    {"rateLimitExceeded", 403, OUTCOME_RETRY, SCOPE_APP, 0},
    {"RATE_LIMIT_EXCEEDED", 429, OUTCOME_RETRY, SCOPE_APP, 0},
    {"RESOURCE_EXHAUSTED", 429, OUTCOME_RETRY, SCOPE_APP, 0},
    {"RESOURCE_QUOTA_EXCEEDED", 429, OUTCOME_RETRY, SCOPE_APP, 0},
    {"userRateLimitExceeded", 403, OUTCOME_RETRY, SCOPE_ACCOUNT, 0},
    {"authError", 401, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},
    {"UNAUTHENTICATED", 401, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},
    {"authorizationRequired", 401, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},
    {"ACCESS_TOKEN_EXPIRED", 401, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},
    {"ACCESS_TOKEN_TYPE_UNSUPPORTED", 401, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},
    {"forbidden", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"insufficientPermissions", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"insufficientCapabilities", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"ACCOUNT_STATE_INVALID", 401, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"USER_BLOCKED_BY_ADMIN", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"authenticatedUserAccountClosed", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"authenticatedUserAccountSuspended", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"authenticatedUserNotChannel", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"accountDelegationForbidden", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"channelClosed", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"channelSuspended", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"channelForbidden", 403, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"channelNotFound", 404, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"youtubeSignupRequired", 401, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"accessNotConfigured", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"SERVICE_DISABLED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"SERVICE_NOT_VISIBLE", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"BILLING_DISABLED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"keyInvalid", 400, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"keyExpired", 400, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"API_KEY_INVALID", 400, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"API_KEY_SERVICE_BLOCKED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"API_KEY_HTTP_REFERRER_BLOCKED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"API_KEY_IP_ADDRESS_BLOCKED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"API_KEY_ANDROID_APP_BLOCKED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"API_KEY_IOS_APP_BLOCKED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"ipRefererBlocked", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"CONSUMER_SUSPENDED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"CONSUMER_INVALID", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"GCP_SUSPENDED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"USER_PROJECT_DENIED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"RESOURCE_PROJECT_INVALID", 400, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"RESOURCE_USAGE_RESTRICTION_VIOLATED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"SECURITY_POLICY_VIOLATED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"ORG_RESTRICTION_VIOLATION", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"LOCATION_POLICY_VIOLATED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"LOCATION_TAX_POLICY_VIOLATED", 403, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"badRequest", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"invalidParameter", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"incompatibleParameters", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"invalidFilters", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"invalidPageToken", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"missingRequiredParameter", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"unexpectedParameter", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"unexpectedPart", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"unknownPart", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"unsupportedLanguageCode", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"unsupportedRegionCode", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"invalidCriteria", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"videoChartNotFound", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"cmsUserAccountNotFound", 403, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"contentOwnerAccountNotFound", 404, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"CREDENTIALS_MISSING", 401, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"SESSION_COOKIE_INVALID", 401, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"SYSTEM_PARAMETER_UNSUPPORTED", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"ORG_RESTRICTION_HEADER_INVALID", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"videoNotFound", 404, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"backendError", 503, OUTCOME_RETRY, SCOPE_CALL, 0},
    {"internalError", 500, OUTCOME_RETRY, SCOPE_CALL, 0},
    /* not documented */
    {"notFound", 404, OUTCOME_OTHER_FORM, SCOPE_CALL, 0},
    {"notImplemented", 501, OUTCOME_OTHER_FORM, SCOPE_CALL, 0},
    {"somethingNew", 403, OUTCOME_MALFORMED, SCOPE_CALL, 0},
    {"somethingNew", 500, OUTCOME_RETRY, SCOPE_CALL, 0},
};

static void youtube_errors_have_documented_outcomes(void **state)
{
    (void)state;
    static const char *const forms[] = {"{\"error\":{\"errors\":[{\"reason\":\"",
                                        "\"}]}}",
                                        "{\"error\":{\"details\":[{\"reason\":\"",
                                        "\"}]}}",
                                        "{\"error\":{\"status\":\"",
                                        "\"}}"};
    check_complete(youtube_errors, youtube, COUNT(youtube));
    for (size_t i = 0; i < 3 * COUNT(youtube); i++) {
        const struct expected *e = &youtube[i / 3];
        const char *const *form = &forms[i % 3 * 2];
        struct str body = arena_printf(&arena, "%s%s%s", form[0], e->code, form[1]);
        check(e, read_two(&youtube_desc, e->status, body));
    }
}

/* The status is looked up first, then the code. Source: OpenAPI 5.23.0 (2025-12-11) [V]; status 401 with code
 * 3 [P] */
static const struct expected pinterest[] = {
    {"400", 400, OUTCOME_OTHER_FORM, SCOPE_CALL, 0},
    {"1", 400, OUTCOME_OTHER_FORM, SCOPE_CALL, 0},
    {"2", 401, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},
    {"3", 401, OUTCOME_OTHER_FORM, SCOPE_APP, 0},
    {"7", 401, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"403", 403, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"29", 403, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"404", 404, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"50", 404, OUTCOME_SPLIT, SCOPE_CALL, 0},
    {"8", 429, OUTCOME_RETRY, SCOPE_ACCOUNT, MINUTE_MS},
    /* the same code with another status is a different error */
    {"2", 500, OUTCOME_RETRY, SCOPE_CALL, 0},
    {"3", 403, OUTCOME_MALFORMED, SCOPE_CALL, 0},
    {"0", 500, OUTCOME_RETRY, SCOPE_CALL, 0},
    {"-1", 401, OUTCOME_TOKEN_REJECTED, SCOPE_CALL, 0},
};

static void pinterest_errors_have_documented_outcomes(void **state)
{
    (void)state;
    check_complete(pinterest_errors, pinterest, COUNT(pinterest));
    for (size_t i = 0; i < COUNT(pinterest); i++)
        check(&pinterest[i],
              read_two(&pinterest_desc, pinterest[i].status,
                       arena_printf(&arena, "{\"code\":%s,\"message\":\"x\"}", pinterest[i].code)));
}

/* RFC 6749, 5.2, and errors that the platforms document in addition */
static const struct expected grants[] = {
    {"invalid_grant", 400, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"access_denied", 400, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"invalid_client", 401, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"unauthorized_client", 400, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"deleted_client", 401, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"disabled_client", 401, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"invalid_scope", 400, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"redirect_uri_mismatch", 400, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"invalid_request", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"unsupported_grant_type", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"unsupported_response_type", 400, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"server_error", 500, OUTCOME_RETRY, SCOPE_CALL, 0},
    {"temporarily_unavailable", 503, OUTCOME_RETRY, SCOPE_CALL, 0},
    /* unknown errors never affect an account */
    {"something_new", 401, OUTCOME_MALFORMED, SCOPE_CALL, 0},
    {"something_new", 403, OUTCOME_MALFORMED, SCOPE_CALL, 0},
    {"something_new", 503, OUTCOME_RETRY, SCOPE_CALL, 0},
};

static void token_endpoint_errors_have_documented_outcomes(void **state)
{
    (void)state;
    static const struct platform_desc *const descs[] = {&tiktok_desc, &youtube_desc, &pinterest_desc};
    check_complete(grant_errors, grants, COUNT(grants));
    for (size_t i = 0; i < 3 * COUNT(grants); i++) {
        const struct expected *e = &grants[i / 3];
        struct str body = arena_printf(&arena, "{\"error\":\"%s\",\"error_description\":\"x\"}", e->code);
        const struct http_response response = {.status = e->status, .body = body};
        struct token_grant got = {.access_token = STR("left")};
        check(e, descs[i % 3]->parse_refresh(&arena, &response, &got));
        assert_null(got.access_token.p);
    }
}

/* Codes that are unsuitable for logs and metrics are replaced. */
static void malformed_error_codes_are_replaced_by_other(void **state)
{
    (void)state;
    static const char *const words[] = {"two words", "", "a\\nb", "caf\\u00e9",
                                        "a_code_that_is_so_long_that_it_might_be_something_else"};
    for (size_t i = 0; i < COUNT(words); i++) {
        struct str body = arena_printf(&arena, "{\"error\":{\"code\":\"%s\"}}", words[i]);
        assert_str(read_two(&tiktok_desc, 400, body).code, "other");
    }
}

/* ---- common to all platforms ---- */

static void retry_after_is_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t now_ms, wait_ms;
    } rows[] = {
        {"17", 0, 17000},
        {" 0 ", 0, 0},
        {"-1", 0, 0},
        {"1.5", 0, 0},
        {"soon", 1000, 0},
        {"4294967295", 0, DAY_MS},
        {"99999999999999999999", 0, 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT", INT64_C(784111770000), 7000},
        {"Sun, 06 Nov 1994 08:49:37 GMT", INT64_C(784111777000), 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT", INT64_C(784111778000), 0},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 0, 0},
        {"Sun, 06 Nov 1994 08:49:37 UTC", INT64_C(784111770000), 0},
        {"Sun, 06 Nvm 1994 08:49:37 GMT", INT64_C(784111770000), 0},
        {"Sunday, 06-Nov-94 08:49:37 GMT", INT64_C(784111770000), 0},
        {"Fri, 01 Jan 2100 00:00:00 GMT", INT64_C(784111770000), DAY_MS},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct http_header headers[] = {{STR("Content-Type"), STR("text/html")},
                                              {STR("rEtry-aFter"), str_from_cstr(rows[i].text)}};
        const struct http_response response = {.headers = headers, .header_count = 2};
        if (response_retry_after_ms(&response, rows[i].now_ms) != rows[i].wait_ms)
            fail_msg("%s", rows[i].text);
    }
    const struct http_response none = {.status = 200};
    assert_int_equal(response_retry_after_ms(&none, 1), 0);
    assert_null(response_header(&none, STR("x")).p);
}

static void scopes_and_names_are_parsed(void **state)
{
    (void)state;
    const struct token_grant commas = {.scopes = STR("user.info.basic,video.list")};
    const struct token_grant spaces = {.scopes = STR("boards:read pins:read")},
                             unsaid = {.scopes = {NULL, 0}};
    assert_true(grant_has_scope(commas.scopes, STR("video.list")));
    assert_true(grant_has_scope(spaces.scopes, STR("pins:read")));
    assert_true(grant_has_scope(unsaid.scopes, STR("anything")));
    assert_false(grant_has_scope(commas.scopes, STR("video")));
    assert_false(grant_has_scope(spaces.scopes, STR("pins:read boards:read")));
    assert_str(grant_display_name(&arena, STR("A\r\nB\x7f\xc3\xa9")), "AB\xc3\xa9");
    assert_null(grant_display_name(&arena, STR("\n")).p);
    assert_null(grant_display_name(&arena, STR("")).p);
    assert_false(grant_token_fits_header(STR("")));
    assert_false(grant_token_fits_header(STR("a b")));
    assert_false(grant_token_fits_header(STR("a\r\nb")));
    assert_true(grant_token_fits_header(STR("1//0g-_~.x")));
}

static void ids_with_special_characters_or_too_many_bytes_are_not_plain(void **state)
{
    (void)state;
    static const char *const good[] = {"7077642457847994444", "Ks-_Mh1QhMc", "v_pub_url~v2-1.123", "1_2",
                                       "-"};
    static const char *const bad[] = {"",    ".",   "..",    "~",        "a/b",  "a,b",
                                      "a b", "a?b", "a%2Fb", "\xc3\xa9", "a\"b", "a\nb"};
    char longest[PLATFORM_ID_MAX + 2];
    memset(longest, 'a', sizeof longest);
    for (size_t i = 0; i < COUNT(good); i++)
        assert_true(platform_id_is_plain(str_from_cstr(good[i])));
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(platform_id_is_plain(str_from_cstr(bad[i])));
    assert_true(platform_id_is_plain(str_make(longest, PLATFORM_ID_MAX)));
    assert_false(platform_id_is_plain(str_make(longest, PLATFORM_ID_MAX + 1)));
    assert_true(tiktok_desc.is_readable(STR("7077642457847994444")));
    assert_false(tiktok_desc.is_readable(STR("v_pub_url~v2-1.123")));
    assert_false(tiktok_desc.is_readable(STR("99999999999999999999")));
}

static void descriptors_are_found_by_name(void **state)
{
    (void)state;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const struct platform_desc *desc = platform_desc((enum platform_api)api);
        assert_int_equal(desc->api, api);
        assert_ptr_equal(platform_desc_by_name(str_from_cstr(desc->name)), desc);
        assert_in_range(desc->tiers, 1, PLATFORM_TIERS);
        for (int tier = 0; tier < desc->tiers; tier++)
            assert_in_range(desc->ids_per_call[tier], 1, 100);
        assert_int_equal(desc->refresh_before_s < 0, desc->build_refresh == NULL);
        assert_int_equal(desc->build_refresh == NULL, desc->parse_refresh == NULL);
    }
    assert_null(platform_desc_by_name(STR("tik")));
    assert_null(platform_desc_by_name(STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiktok_errors_have_documented_outcomes),
        cmocka_unit_test(youtube_errors_have_documented_outcomes),
        cmocka_unit_test(pinterest_errors_have_documented_outcomes),
        cmocka_unit_test(token_endpoint_errors_have_documented_outcomes),
        cmocka_unit_test(malformed_error_codes_are_replaced_by_other),
        cmocka_unit_test(retry_after_is_parsed),
        cmocka_unit_test(scopes_and_names_are_parsed),
        cmocka_unit_test(ids_with_special_characters_or_too_many_bytes_are_not_plain),
        cmocka_unit_test(descriptors_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
