/* Tests what Meta's APIs have in common: every row of the table of errors, batches, usage headers, rejected
 * metrics. Uses Instagram with Facebook login, whose batches have one operation per post, and Instagram
 * Login, which sends no batches.
 *
 * Sources: developers.facebook.com, Handling Errors, Batch Requests, Rate Limits [V], read November 2026. */
#include "lib/graph_rig.h"

#include "base/clock.h"

static const char *const one_id[] = {"1", NULL};
static const char *const three_ids[] = {"1", "2", "3", NULL};

#define GOOD "{'data':[{'name':'views','period':'lifetime','values':[{'value':10}]}]}"

static const char *error(struct graph_rig *r, int code, int subcode, const char *text, const char *more)
{
    return arena_printf(&r->arena,
                        "{'error':{'message':'%s','type':'OAuthException','code':%d,'error_subcode':%d%s,"
                        "'fbtrace_id':'EJplcsCHuLu'}}",
                        text, code, subcode, more)
        .p;
}

/* ---- errors and their outcomes ---- */

static const struct {
    int code, subcode;
    const char *text, *more;
    enum outcome_kind single,
        refreshed; /* outcome for an API without token refresh, and for an API with it */
    enum outcome_scope scope;
    int64_t wait_ms;
    const char *name;
    enum item_state item; /* state of the affected post in a batch of several posts */
} errors[] = {
    {1, 0, "An unknown error occurred", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_CALL, 0, "1", ITEM_RETRY},
    {2, 0, "Service temporarily unavailable", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_CALL, 0, "2",
     ITEM_RETRY},
    {999, 0, "Please retry", ",'is_transient':true", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_CALL, 0, "999",
     ITEM_RETRY},
    {4, 0, "(#4) Application request limit reached", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_APP, HOUR_MS,
     "4", ITEM_PENDING},
    {4, 0, "(#4) limit", ",'is_transient':true", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_APP, HOUR_MS, "4",
     ITEM_PENDING},
    {17, 0, "(#17) User request limit reached", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_ACCOUNT, HOUR_MS,
     "17", ITEM_PENDING},
    {32, 0, "(#32) Page request limit reached", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_ACCOUNT, HOUR_MS,
     "32", ITEM_PENDING},
    {341, 0, "(#341) Application limit reached", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_APP, HOUR_MS, "341",
     ITEM_PENDING},
    {613, 0, "(#613) Calls to this api", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_ACCOUNT, HOUR_MS, "613",
     ITEM_PENDING},
    {613, 1996, "(#613) spike", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_ACCOUNT, HOUR_MS, "613.1996",
     ITEM_PENDING},
    {80001, 0, "(#80001) too many", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_ACCOUNT, HOUR_MS, "80001",
     ITEM_PENDING},
    {80002, 0, "(#80002) too many", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_ACCOUNT, HOUR_MS, "80002",
     ITEM_PENDING},
    {80003, 0, "(#80003) too many", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_ACCOUNT, HOUR_MS, "80003",
     ITEM_PENDING},
    {368, 0, "(#368) blocked", "", OUTCOME_RETRY, OUTCOME_RETRY, SCOPE_ACCOUNT, DAY_MS, "368", ITEM_PENDING},
    {102, 0, "Session key invalid", "", OUTCOME_RECONNECT, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0, "102",
     ITEM_PENDING},
    {190, 0, "Invalid OAuth access token", "", OUTCOME_RECONNECT, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0,
     "190", ITEM_PENDING},
    {190, 458, "not authorized", "", OUTCOME_RECONNECT, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0, "190.458",
     ITEM_PENDING},
    {190, 459, "checkpoint", "", OUTCOME_RECONNECT, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0, "190.459",
     ITEM_PENDING},
    {190, 460, "password", "", OUTCOME_RECONNECT, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0, "190.460",
     ITEM_PENDING},
    {190, 463, "expired", "", OUTCOME_RECONNECT, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0, "190.463",
     ITEM_PENDING},
    {190, 464, "unconfirmed", "", OUTCOME_RECONNECT, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0, "190.464",
     ITEM_PENDING},
    {190, 467, "invalid", "", OUTCOME_RECONNECT, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0, "190.467",
     ITEM_PENDING},
    {190, 492, "session", "", OUTCOME_RECONNECT, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0, "190.492",
     ITEM_PENDING},
    {3, 0, "(#3) capability", "", OUTCOME_RECONNECT, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0, "3", ITEM_DENIED},
    {10, 0, "(#10) permission", "", OUTCOME_RECONNECT, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0, "10",
     ITEM_DENIED},
    {200, 0, "(#200) Requires", "", OUTCOME_RECONNECT, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0, "200",
     ITEM_DENIED},
    {299, 0, "(#299) Requires", "", OUTCOME_RECONNECT, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0, "299",
     ITEM_DENIED},
    {10, 0, "(#10) Not enough viewers for the media", "", OUTCOME_OK, OUTCOME_OK, SCOPE_CALL, 0, "ok",
     ITEM_NO_DATA},
    {100, 33, "Unsupported get request", "", OUTCOME_OK, OUTCOME_OK, SCOPE_CALL, 0, "ok", ITEM_MISSING},
    {803, 0, "(#803) Some of the aliases", "", OUTCOME_OK, OUTCOME_OK, SCOPE_CALL, 0, "ok", ITEM_MISSING},
    {100, 2108006, "posted before business", "", OUTCOME_OK, OUTCOME_OK, SCOPE_CALL, 0, "ok", ITEM_PERMANENT},
    {100, 0, "(#100) an insights metric", "", OUTCOME_OTHER_FORM, OUTCOME_OTHER_FORM, SCOPE_CALL, 0, "100",
     ITEM_PENDING},
    {100, 0, "Tried accessing nonexisting field (x)", "", OUTCOME_OTHER_FORM, OUTCOME_OTHER_FORM, SCOPE_CALL,
     0, "100", ITEM_PENDING},
    {100, 0, "requires an appsecret_proof", "", OUTCOME_APP_REJECTED, OUTCOME_APP_REJECTED, SCOPE_APP, 0,
     "100", ITEM_PENDING},
    {101, 0, "Error validating application", "", OUTCOME_APP_REJECTED, OUTCOME_APP_REJECTED, SCOPE_APP, 0,
     "101", ITEM_PENDING},
    {1, 0, "Error validating client secret.", "", OUTCOME_APP_REJECTED, OUTCOME_APP_REJECTED, SCOPE_APP, 0,
     "1", ITEM_PENDING},
    {100, 0, "(#100) Invalid parameter", "", OUTCOME_BAD_REQUEST, OUTCOME_BAD_REQUEST, SCOPE_CALL, 0, "100",
     ITEM_RETRY},
    {12345, 678, "who knows", "", OUTCOME_BAD_REQUEST, OUTCOME_BAD_REQUEST, SCOPE_CALL, 0, "12345.678",
     ITEM_RETRY},
};

static void every_error_of_a_single_call_has_its_outcome(void **state)
{
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        graph_rig_init(&r, &instagram_desc, one_id);
        const char *body = error(&r, errors[i].code, errors[i].subcode, errors[i].text, errors[i].more);
        /* The code in the body determines the outcome, whatever the status is [K: usually 400]. */
        for (int status = 400; status <= 403; status += 3) {
            struct outcome o = graph_rig_parse_text(&r, status, body);
            assert_outcome(o, errors[i].refreshed, errors[i].scope, errors[i].name);
            assert_int_equal(o.wait_ms, errors[i].wait_ms);
            bool of_post = errors[i].refreshed == OUTCOME_OK;
            if (of_post || errors[i].item == ITEM_PENDING || errors[i].item == ITEM_DENIED)
                assert_int_equal(r.items[0].state, errors[i].item);
        }
        graph_rig_fini(&r);
    }
}

/* Each error is returned for a whole batch. */
static void every_error_of_a_whole_batch_has_its_outcome(void **state)
{
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].single == OUTCOME_OK || errors[i].single == OUTCOME_OTHER_FORM)
            continue; /* an error of a post is malformed as the error of a whole batch */
        graph_rig_init(&r, &instagram_facebook_desc, three_ids);
        struct outcome o = graph_rig_parse_text(
            &r, 400, error(&r, errors[i].code, errors[i].subcode, errors[i].text, errors[i].more));
        assert_outcome(o, errors[i].single, errors[i].scope, errors[i].name);
        for (int k = 0; k < 3; k++)
            assert_int_equal(r.items[k].state, ITEM_PENDING);
        graph_rig_fini(&r);
    }
}

/* Each error is returned for one post of a batch. The results of the other posts are used, whatever the
 * outcome of the call is. */
static void every_error_of_one_post_in_a_batch_sets_its_state(void **state)
{
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        graph_rig_init(&r, &instagram_facebook_desc, three_ids);
        struct str entries[] = {
            graph_rig_entry(&r, 200, GOOD),
            graph_rig_entry(&r, 400,
                            error(&r, errors[i].code, errors[i].subcode, errors[i].text, errors[i].more)),
            graph_rig_entry(&r, 200, "{'data':[]}"),
        };
        struct outcome o = graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3));
        /* If a permission is missing for one post or its error is unknown, the call still succeeds for the
         * other posts. */
        bool alone = errors[i].item == ITEM_RETRY || (errors[i].code != 190 && errors[i].code != 102 &&
                                                      errors[i].single == OUTCOME_RECONNECT);
        assert_string_equal(outcome_kind_name(o.kind),
                            outcome_kind_name(alone ? OUTCOME_OK : errors[i].single));
        assert_int_equal(r.items[0].state, ITEM_OK);
        assert_int_equal(r.items[1].state, errors[i].item);
        assert_int_equal(r.items[2].state, ITEM_NO_DATA);
        graph_rig_fini(&r);
    }
}

static void most_serious_error_of_a_batch_becomes_its_outcome(void **state)
{
    struct graph_rig r;
    (void)state;
    graph_rig_init(&r, &instagram_facebook_desc, three_ids);
    struct str entries[] = {
        graph_rig_entry(&r, 400, error(&r, 100, 0, "a metric", "")),
        graph_rig_entry(&r, 400, error(&r, 190, 460, "password", "")),
        graph_rig_entry(&r, 400, error(&r, 4, 0, "limit", "")),
    };
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_RECONNECT,
                   SCOPE_ACCOUNT, "190.460");
    entries[1] = graph_rig_entry(&r, 400, error(&r, 17, 0, "limit", ""));
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_RETRY, SCOPE_APP, "4");
    for (int i = 0; i < 3; i++)
        entries[i] = graph_rig_entry(&r, 400, error(&r, 10, 0, "permission", ""));
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_RECONNECT,
                   SCOPE_ACCOUNT, "10");
    graph_rig_fini(&r);
}

/* A batch of which no operation was understood shows neither that the platform works nor that the grant is
 * lost, if one of its operations failed temporarily. */
static void temporary_failure_is_the_outcome_of_a_batch_without_results(void **state)
{
    struct graph_rig r;
    (void)state;
    graph_rig_init(&r, &instagram_facebook_desc, three_ids);
    const struct str denied = graph_rig_entry(&r, 400, error(&r, 10, 0, "permission", ""));
    const struct {
        struct str entry;
        const char *code;
    } failures[] = {
        {STR("null"), "batch-null"},
        {graph_rig_entry(&r, 500, "<html>"), "http.500"},
        {graph_rig_entry(&r, 500, error(&r, 2, 0, "Service temporarily unavailable", "")), "2"},
    };
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        struct str entries[] = {failures[i].entry, failures[i].entry, failures[i].entry};
        assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_RETRY, SCOPE_CALL,
                       failures[i].code);
        assert_int_equal(r.items[2].state, ITEM_RETRY);
        entries[0] = denied;
        assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_RETRY, SCOPE_CALL,
                       failures[i].code);
        entries[1] = graph_rig_entry(&r, 200, GOOD);
        assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_OK, SCOPE_CALL,
                       "ok");
        assert_int_equal(r.items[2].state, ITEM_RETRY);
    }
    graph_rig_fini(&r);
}

static void denials_beside_another_error_do_not_revoke_the_grant(void **state)
{
    struct graph_rig r;
    (void)state;
    graph_rig_init(&r, &instagram_facebook_desc, three_ids);
    const struct str denied = graph_rig_entry(&r, 400, error(&r, 10, 0, "permission", ""));
    struct str entries[] = {denied, denied, graph_rig_entry(&r, 400, error(&r, 100, 0, "a metric", ""))};
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_OTHER_FORM, SCOPE_CALL,
                   "100");
    entries[2] = graph_rig_entry(&r, 400, error(&r, 12345, 0, "who knows", ""));
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_BAD_REQUEST, SCOPE_CALL,
                   "12345");
    graph_rig_fini(&r);
}

/* A deleted post is understood, but does not show that the account may read the denied post. */
static void denied_post_is_not_missing_because_another_is_deleted(void **state)
{
    struct graph_rig r;
    (void)state;
    graph_rig_init(&r, &instagram_facebook_desc, three_ids);
    struct str entries[] = {graph_rig_entry(&r, 400, error(&r, 100, 33, "gone", "")),
                            graph_rig_entry(&r, 400, error(&r, 10, 0, "permission", "")), STR("null")};
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_RETRY, SCOPE_CALL,
                   "batch-null");
    assert_int_equal(r.items[0].state, ITEM_MISSING);
    entries[2] = graph_rig_entry(&r, 400, error(&r, 12345, 0, "who knows", ""));
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)), OUTCOME_BAD_REQUEST, SCOPE_CALL,
                   "12345");
    assert_int_equal(r.items[0].state, ITEM_MISSING);
    graph_rig_fini(&r);
}

/* ---- batches ---- */

static void malformed_batches_are_rejected(void **state)
{
    struct graph_rig r;
    (void)state;
    graph_rig_init(&r, &instagram_facebook_desc, three_ids);
    struct str good = graph_rig_entry(&r, 200, GOOD), entries[] = {good, good, good, good};
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 2)), OUTCOME_MALFORMED, SCOPE_CALL,
                   "batch-length");
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 4)), OUTCOME_MALFORMED, SCOPE_CALL,
                   "batch-length");
    for (int i = 0; i < 3; i++)
        assert_int_equal(r.items[i].state, ITEM_PENDING);
    assert_outcome(graph_rig_parse(&r, 200, STR("[]")), OUTCOME_MALFORMED, SCOPE_CALL, "batch-length");
    assert_outcome(graph_rig_parse(&r, 200, STR("{}")), OUTCOME_MALFORMED, SCOPE_CALL, "batch-shape");
    assert_outcome(graph_rig_parse(&r, 200, STR("7")), OUTCOME_MALFORMED, SCOPE_CALL, "shape");
    assert_outcome(graph_rig_parse(&r, 302, STR("")), OUTCOME_MALFORMED, SCOPE_CALL, "http.302");
    assert_outcome(graph_rig_parse(&r, 502, STR("<html>")), OUTCOME_RETRY, SCOPE_CALL, "http.502");
    assert_outcome(graph_rig_parse(&r, 500, STR("{}")), OUTCOME_RETRY, SCOPE_CALL, "http.500");
    assert_outcome(graph_rig_parse(&r, 200, STR("[null,null")), OUTCOME_MALFORMED, SCOPE_CALL, "http.200");
    graph_rig_fini(&r);
}

static void malformed_operations_are_rejected(void **state)
{
    static const char *const bad[] = {"3",
                                      "{}",
                                      "{\"code\":200}",
                                      "{\"body\":\"{}\"}",
                                      "{\"code\":200,\"body\":{}}",
                                      "{\"code\":200,\"body\":\"{\"}",
                                      "{\"code\":200,\"body\":\"[]\"}",
                                      "{\"code\":200,\"body\":\"\"}",
                                      "{\"code\":404,\"body\":\"{}\"}",
                                      "{\"code\":\"200\",\"body\":\"{}\"}",
                                      "{\"code\":400,\"body\":\"{\\\"error\\\":{}}\"}",
                                      "{\"code\":200,\"body\":\"{\\\"data\\\":[],\\\"data\\\":[]}\"}"};
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        graph_rig_init(&r, &instagram_facebook_desc, three_ids);
        struct str good = graph_rig_entry(&r, 200, GOOD), entries[] = {good, str_from_cstr(bad[i]), good};
        assert_int_equal(graph_rig_parse(&r, 200, graph_rig_batch(&r, entries, 3)).kind, OUTCOME_MALFORMED);
        assert_int_equal(r.items[0].state, ITEM_OK);
        assert_int_equal(r.items[1].state, ITEM_RETRY);
        assert_int_equal(r.items[2].state, ITEM_OK);
        graph_rig_fini(&r);
    }
}

/* A batch contains the response for each post as JSON in a string. The limits of depth and size apply to this
 * JSON separately. */
static void deep_and_large_bodies_are_rejected(void **state)
{
    struct graph_rig r;
    struct buf deep, large;
    (void)state;
    graph_rig_init(&r, &instagram_facebook_desc, one_id);
    buf_init(&deep, 1 << 20);
    buf_init(&large, 1 << 20);
    buf_append(&deep, STR("{'data':"));
    for (int i = 0; i < 1000; i++)
        buf_append_char(&deep, '[');
    for (int i = 0; i < 1000; i++)
        buf_append_char(&deep, ']');
    buf_append(&deep, STR("}"));
    buf_append_char(&deep, '\0');
    buf_append(&large, STR("{'data':[],'x':'"));
    for (int i = 0; i < 300 << 10; i++)
        buf_append_char(&large, 'x');
    buf_append(&large, STR("'}"));
    buf_append_char(&large, '\0');
    struct str entry = graph_rig_entry(&r, 200, deep.p);
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, &entry, 1)), OUTCOME_MALFORMED, SCOPE_CALL,
                   "batch-body");
    entry = graph_rig_entry(&r, 200, large.p);
    assert_outcome(graph_rig_parse(&r, 200, graph_rig_batch(&r, &entry, 1)), OUTCOME_MALFORMED, SCOPE_CALL,
                   "batch-body");
    buf_fini(&deep);
    buf_fini(&large);
    graph_rig_fini(&r);
}

/* ---- rate headers ---- */

static void usage_headers_set_scope_and_wait(void **state)
{
    struct graph_rig r;
    (void)state;
    graph_rig_init(&r, &instagram_desc, one_id);
    graph_rig_header(&r, "x-app-usage", "{\"call_count\":28,\"total_time\":25,\"total_cputime\":29}");
    struct outcome o = graph_rig_parse_text(&r, 200, GOOD);
    assert_int_equal(o.usage_percent, 29);
    assert_int_equal(o.scope, SCOPE_APP);
    assert_int_equal(o.wait_ms, 0);
    graph_rig_header(
        &r, "X-Business-Use-Case-Usage",
        "{\"17841400000000000\":[{\"type\":\"instagram\",\"call_count\":97,\"total_cputime\":23,"
        "\"total_time\":23,\"estimated_time_to_regain_access\":0},{\"type\":\"pages\",\"call_count\":100,"
        "\"total_cputime\":23,\"total_time\":23,\"estimated_time_to_regain_access\":19}]}");
    o = graph_rig_parse_text(&r, 200, GOOD);
    assert_int_equal(o.usage_percent, 100);
    assert_int_equal(o.scope, SCOPE_ACCOUNT);
    assert_int_equal(o.wait_ms, 19 * MINUTE_MS);
    /* Retry-After takes precedence over the usage header, and the usage header over the default of the
     * table. */
    o = graph_rig_parse_text(&r, 400, error(&r, 80002, 0, "too many", ""));
    assert_outcome(o, OUTCOME_RETRY, SCOPE_ACCOUNT, "80002");
    assert_int_equal(o.wait_ms, 19 * MINUTE_MS);
    graph_rig_header(&r, "Retry-After", "90");
    o = graph_rig_parse_text(&r, 400, error(&r, 80002, 0, "too many", ""));
    assert_int_equal(o.wait_ms, 90 * SECOND_MS);
    o = graph_rig_parse_text(&r, 400, error(&r, 190, 460, "password", ""));
    assert_int_equal(o.wait_ms, 0);
    graph_rig_fini(&r);
}

static void malformed_usage_headers_are_ignored(void **state)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "[]",
                                      "{\"a\":1}",
                                      "{\"a\":[1]}",
                                      "{\"a\":[{\"call_count\":-5}]}",
                                      "{\"call_count\":\"\",\"total_time\":null}"};
    struct graph_rig r;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        graph_rig_init(&r, &instagram_desc, one_id);
        graph_rig_header(&r, "X-App-Usage", bad[i]);
        graph_rig_header(&r, "X-Business-Use-Case-Usage", bad[i]);
        struct outcome o = graph_rig_parse_text(&r, 200, GOOD);
        assert_outcome(o, OUTCOME_OK, SCOPE_ACCOUNT, "ok");
        assert_int_equal(o.usage_percent, 0);
        assert_int_equal(o.wait_ms, 0);
        graph_rig_fini(&r);
    }
    graph_rig_init(&r, &instagram_desc, one_id);
    graph_rig_header(&r, "X-App-Usage", "{\"call_count\":9007199254740991}");
    graph_rig_header(&r, "X-Business-Use-Case-Usage",
                     "{\"1\":[{\"estimated_time_to_regain_access\":9007199254740991}]}");
    struct outcome o = graph_rig_parse_text(&r, 200, GOOD);
    assert_int_equal(o.usage_percent, 1000);
    assert_int_equal(o.wait_ms, DAY_MS);
    graph_rig_fini(&r);
}

/* ---- names ---- */

static void rejected_metric_is_found_in_the_message(void **state)
{
    static const struct {
        const char *message, *rejected;
    } rows[] = {
        {"(#100) metric[0] must be one of the following values: reach, likes", "views"},
        {"(#100) metric[2] must be one of the following values: reach, views", "saved"},
        {"(#100) metric[3] must be one of the following values: reach", NULL},
        {"(#100) metric[] must be", NULL},
        {"(#100) metric[0", NULL},
        {"must be one of the following values: views, reach", NULL},
        {"does not support the saved metric for this media product type", "saved"},
        {"the likes metric, or the saved one", NULL},
        {"unsaved likeslikes _views views_", NULL},
        {"likes", "likes"},
        {"likeslikes likes", "likes"},
        {"(views)", "views"},
        {"The value must be a valid insights metric", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str got = graph_find_rejected_metric(str_from_cstr(rows[i].message), STR("views,likes,saved"));
        if (rows[i].rejected)
            assert_str(got, rows[i].rejected);
        else
            assert_null(got.p);
    }
}

static void dropped_metrics_are_removed_from_a_list_of_metrics(void **state)
{
    struct arena a;
    (void)state;
    arena_init(&a, 1024);
    assert_str(graph_remove_names(&a, STR("a,b,c"), STR("")), "a,b,c");
    assert_str(graph_remove_names(&a, STR("a,b,c"), STR("b")), "a,c");
    assert_str(graph_remove_names(&a, STR("a,b,c"), STR("c, a")), "b");
    assert_str(graph_remove_names(&a, STR("a,b,c"), STR("c,b,a,d")), "");
    assert_str(graph_remove_names(&a, STR("ab,b"), STR("a")), "ab,b");
    arena_fini(&a);
}

static void sums_reactions(void **state)
{
    static const struct {
        const char *json;
        int64_t sum;
    } rows[] = {
        {"{\"like\":41,\"REACTION_LOVE\":12}", 53},
        {"{\"like\":41,\"x\":\"y\",\"love\":null}", 41},
        {"{}", COUNT_NONE},
        {"{\"like\":-3}", COUNT_NONE},
        {"{\"like\":9007199254740991,\"love\":1}", COUNT_NONE},
        {"[1,2]", COUNT_NONE},
        {"7", 7},
        {"null", COUNT_NONE},
    };
    struct arena a;
    (void)state;
    arena_init(&a, 1024);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(graph_sum_counts(jsonr_parse(&a, str_from_cstr(rows[i].json))), rows[i].sum);
    assert_int_equal(graph_sum_counts(NULL), COUNT_NONE);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_of_a_single_call_has_its_outcome),
        cmocka_unit_test(every_error_of_a_whole_batch_has_its_outcome),
        cmocka_unit_test(every_error_of_one_post_in_a_batch_sets_its_state),
        cmocka_unit_test(most_serious_error_of_a_batch_becomes_its_outcome),
        cmocka_unit_test(temporary_failure_is_the_outcome_of_a_batch_without_results),
        cmocka_unit_test(denials_beside_another_error_do_not_revoke_the_grant),
        cmocka_unit_test(denied_post_is_not_missing_because_another_is_deleted),
        cmocka_unit_test(malformed_batches_are_rejected),
        cmocka_unit_test(malformed_operations_are_rejected),
        cmocka_unit_test(deep_and_large_bodies_are_rejected),
        cmocka_unit_test(usage_headers_set_scope_and_wait),
        cmocka_unit_test(malformed_usage_headers_are_ignored),
        cmocka_unit_test(rejected_metric_is_found_in_the_message),
        cmocka_unit_test(dropped_metrics_are_removed_from_a_list_of_metrics),
        cmocka_unit_test(sums_reactions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
