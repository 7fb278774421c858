/* Tests token refreshes: there is one request per account, new tokens are committed before they are used, and
 * a killed process leaves either the old or the new pair of tokens. */
#include "unit.h"

#include "lib/crash.h"
#include "lib/credential_rig.h"

#include <stdlib.h>

/* ---- refreshing ---- */

static void new_tokens_are_committed_before_waiters_are_called(void **state)
{
    static const struct reply replies[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    const int64_t row = rig_put_tiktok();
    (void)state;
    assert_int_equal(rig_refresh(row, 1, replies), TOKEN_REFRESHED);
    assert_int_equal(rig.version_when_completed, 2);
    assert_int_equal(rig.sent, 1);
    assert_non_null(strstr(rig.bodies[0], "refresh_token=rft.1"));
    rig_assert_tokens(row, "act.2", "rft.2");
    assert_int_equal(rig_get(row).refresh_sent_at, TIME_NONE);
    assert_str(rig_get(row).scopes, "user.info.basic,video.list");
    /* A second caller that still has the old tokens gets the new ones without another request. */
    assert_int_equal(rig_refresh(row, 1, replies), TOKEN_REFRESHED);
    assert_int_equal(rig.sent, 0);
    assert_int_equal(token_refresher_counts(rig.refresher, API_TIKTOK)->refreshed, 1);
}

static void concurrent_refreshes_share_one_request(void **state)
{
    static const struct reply replies[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    struct token_refresh_result result;
    int64_t row = rig_put_tiktok();
    (void)state;
    rig.replies = replies;
    for (int i = 0; i < 5; i++)
        assert_int_equal(token_refresher_start(rig.refresher, row, 1, &result, rig_on_completed, &row),
                         NEXT_WAIT);
    assert_int_equal(token_refresher_in_flight(rig.refresher), 1);
    rig_deliver();
    assert_int_equal(rig.sent, 1);
    assert_int_equal(rig.completed, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(rig.results[i].status, TOKEN_REFRESHED);
}

static void values_missing_from_a_response_keep_their_stored_value(void **state)
{
    static const struct reply replies[] = {
        {TRANSPORT_OK, 200, "{\"access_token\":\"act.2\",\"refresh_token\":\"\"}"}};
    const int64_t row = rig_put_tiktok();
    (void)state;
    assert_int_equal(rig_refresh(row, 1, replies), TOKEN_REFRESHED);
    rig_assert_tokens(row, "act.2", "rft.1");
    const struct credential c = rig_get(row);
    assert_int_equal(c.refresh_expires_at, NOW + 86400 * SECOND_MS);
    assert_int_equal(c.access_expires_at - c.obtained_at, 3600 * SECOND_MS);
    assert_str(c.scopes, "video.list");
}

static void rejections_are_attributed_to_account_or_app(void **state)
{
    static const struct {
        struct reply reply;
        enum token_refresh_status result;
        const char *code;
        bool marked; /* refresh_sent_at stays set, because the refresh token may be used up */
    } rows[] = {
        {{TRANSPORT_OK, 400, INVALID_GRANT}, TOKEN_RECONNECT, "invalid_grant", false},
        {{TRANSPORT_OK, 401, "{\"error\":\"invalid_client\"}"}, TOKEN_APP_REJECTED, "invalid_client", false},
        {{TRANSPORT_OK, 400, "{\"error\":\"unauthorized_client\"}"},
         TOKEN_APP_REJECTED,
         "unauthorized_client",
         false},
        {{TRANSPORT_OK, 503, "busy"}, TOKEN_RETRY_LATER, NULL, true},
        {{TRANSPORT_OK, 429, "{\"error\":\"rate_limit_exceeded\"}"}, TOKEN_RETRY_LATER, NULL, false},
        {{TRANSPORT_OK, 200, "<html>"}, TOKEN_RETRY_LATER, NULL, true},
        {{TRANSPORT_CONNECT, 0, ""}, TOKEN_RETRY_LATER, "connect", false},
        {{TRANSPORT_TLS, 0, ""}, TOKEN_RETRY_LATER, "tls", false},
        {{TRANSPORT_OK, 200,
          "{\"access_token\":\"act.2\",\"expires_in\":1,\"open_id\":\"open-9\",\"refresh_token\":\"r\"}"},
         TOKEN_RECONNECT,
         "other_account",
         false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int64_t row = rig_put_tiktok();
        const struct credential before = rig_get(row);
        assert_int_equal(rig_refresh(row, before.version, &rows[i].reply), rows[i].result);
        assert_int_equal(rig.sent, 1);
        if (rows[i].code)
            assert_string_equal(rig.results[0].code, rows[i].code);
        const struct credential after = rig_get(row);
        assert_int_equal(after.version, before.version);
        assert_int_equal(after.state, CREDENTIAL_CONNECTED); /* the refresher does not change the state */
        assert_int_equal(after.refresh_sent_at != TIME_NONE, rows[i].marked);
        rig_assert_tokens(row, "act.1", "rft.1");
    }
}

static void request_without_response_is_sent_once_more(void **state)
{
    static const struct reply heals[] = {{TRANSPORT_TIMEOUT, 0, ""}, {TRANSPORT_OK, 200, PAIR("2")}};
    static const struct reply lost[] = {{TRANSPORT_RESET, 0, ""}, {TRANSPORT_OK, 400, INVALID_GRANT}};
    static const struct reply silent[] = {{TRANSPORT_TIMEOUT, 0, ""}, {TRANSPORT_TIMEOUT, 0, ""}};
    int64_t row = rig_put_tiktok();
    (void)state;
    assert_int_equal(rig_refresh(row, 1, heals), TOKEN_REFRESHED);
    assert_int_equal(rig.sent, 2);
    assert_string_equal(rig.bodies[0], rig.bodies[1]);
    rig_assert_tokens(row, "act.2", "rft.2");
    assert_int_equal(rig_refresh(row, 2, lost), TOKEN_RECONNECT);
    assert_string_equal(rig.results[0].code, "lost_in_refresh");
    row = rig_put_tiktok();
    assert_int_equal(rig_refresh(row, rig_get(row).version, silent), TOKEN_RETRY_LATER);
    assert_int_equal(rig.sent, 2);
    assert_true(rig_get(row).refresh_sent_at != TIME_NONE);
}

static void rate_limit_after_a_lost_response_does_not_hide_that_it_was_lost(void **state)
{
    static const struct reply limited[] = {{TRANSPORT_TIMEOUT, 0, ""},
                                           {TRANSPORT_OK, 429, "{\"error\":\"rate_limit_exceeded\"}"}};
    static const struct reply rejected[] = {{TRANSPORT_OK, 400, INVALID_GRANT}};
    const int64_t row = rig_put_tiktok();
    bool ours;
    (void)state;
    assert_int_equal(rig_refresh(row, 1, limited), TOKEN_RETRY_LATER);
    assert_true(rig_get(row).refresh_sent_at != TIME_NONE);
    /* The next run, an hour later. */
    test_begin(&rig.db);
    assert_int_equal(store_end_token_refresh(rig.db.w, row, 1), OK);
    assert_int_equal(store_begin_token_refresh(rig.db.w, row, 1, clock_wall_ms() - HOUR_MS, 0, &ours), OK);
    test_commit(&rig.db);
    assert_int_equal(rig_refresh(row, 1, rejected), TOKEN_RECONNECT);
    assert_string_equal(rig.results[0].code, "lost_in_refresh");
}

static bool stopping;

static enum err heartbeat(void *ctx)
{
    (void)ctx;
    return stopping ? ERR_CANCELED : OK;
}

static void stopping_process_does_not_retry(void **state)
{
    static const struct reply silent[] = {{TRANSPORT_TIMEOUT, 0, ""}, {TRANSPORT_OK, 200, PAIR("2")}};
    static const struct reply next[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    const int64_t row = rig_put_tiktok();
    (void)state;
    token_refresher_free(rig.refresher);
    rig.heartbeat = heartbeat;
    rig_open_refresher();
    stopping = true;
    assert_int_equal(rig_refresh(row, 1, silent), TOKEN_RETRY_LATER);
    assert_int_equal(rig.sent, 1);
    /* refresh_sent_at informs the next process that the refresh token may be used up. */
    assert_true(rig_get(row).refresh_sent_at != TIME_NONE);
    stopping = false;
    test_begin(&rig.db);
    assert_int_equal(store_end_token_refresh(rig.db.w, row, 1), OK);
    test_commit(&rig.db);
    assert_int_equal(rig_refresh(row, 1, next), TOKEN_REFRESHED);
    rig_assert_tokens(row, "act.2", "rft.2");
}

static void tokens_received_while_stopping_are_stored(void **state)
{
    static const struct reply replies[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    const int64_t row = rig_put_tiktok();
    (void)state;
    token_refresher_free(rig.refresher);
    rig.heartbeat = heartbeat;
    rig_open_refresher();
    stopping = true;
    rig.commits_to_fail = 2; /* the second commit, which stores the tokens, fails once */
    assert_int_equal(rig_refresh(row, 1, replies), TOKEN_REFRESHED);
    rig_assert_tokens(row, "act.2", "rft.2");
}

static void no_request_is_sent_while_another_process_refreshes_the_account(void **state)
{
    static const struct reply replies[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    const int64_t row = rig_put_tiktok();
    bool ours;
    (void)state;
    test_begin(&rig.db);
    assert_int_equal(store_begin_token_refresh(rig.db.w, row, 1, clock_wall_ms(), 0, &ours), OK);
    assert_true(ours);
    test_commit(&rig.db);
    assert_int_equal(rig_refresh(row, 1, replies), TOKEN_RETRY_LATER);
    assert_int_equal(rig.sent, 0);
    assert_string_equal(rig.results[0].code, "elsewhere");
    /* A refresh that another process began an hour ago must have ended, so this process does not wait for it.
     */
    test_begin(&rig.db);
    assert_int_equal(store_end_token_refresh(rig.db.w, row, 1), OK);
    assert_int_equal(store_begin_token_refresh(rig.db.w, row, 1, clock_wall_ms() - HOUR_MS, 0, &ours), OK);
    test_commit(&rig.db);
    assert_int_equal(rig_refresh(row, 1, replies), TOKEN_REFRESHED);
}

static void tokens_stored_by_another_process_are_kept(void **state)
{
    static const struct reply replies[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    struct token_refresh_result result;
    int64_t again, row = rig_put_tiktok();
    (void)state;
    rig.replies = replies;
    assert_int_equal(token_refresher_start(rig.refresher, row, 1, &result, rig_on_completed, &row),
                     NEXT_WAIT);
    assert_int_equal(rig_put(&rig.author, API_TIKTOK, "open-1", "act.signed-in", "rft.signed-in", &again),
                     OK);
    rig_deliver();
    assert_int_equal(rig.results[0].status, TOKEN_REFRESHED);
    assert_string_equal(rig.results[0].code, "elsewhere");
    rig_assert_tokens(row, "act.signed-in", "rft.signed-in");
}

static void removed_account_is_not_restored(void **state)
{
    static const struct reply replies[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    struct token_refresh_result result;
    int64_t row = rig_put_tiktok();
    (void)state;
    rig.replies = replies;
    assert_int_equal(token_refresher_start(rig.refresher, row, 1, &result, rig_on_completed, &row),
                     NEXT_WAIT);
    test_begin(&rig.db);
    assert_int_equal(store_delete_credential(rig.db.w, row, 0), OK);
    test_commit(&rig.db);
    rig_deliver();
    assert_int_equal(rig.results[0].status, TOKEN_ACCOUNT_REMOVED);
    assert_int_equal(rig_refresh(row, 1, replies), TOKEN_ACCOUNT_REMOVED);
}

static void failed_commit_is_retried(void **state)
{
    static const struct reply replies[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    const int64_t row = rig_put_tiktok();
    (void)state;
    rig.commits_to_fail =
        2; /* the commit of refresh_sent_at succeeds; the first commit of the tokens fails */
    assert_int_equal(rig_refresh(row, 1, replies), TOKEN_REFRESHED);
    rig_assert_tokens(row, "act.2", "rft.2");
}

static void account_without_refresh_token_must_be_reconnected(void **state)
{
    int64_t row;
    (void)state;
    assert_int_equal(rig_put(&rig.author, API_TIKTOK, "open-1", "act.1", "", &row), OK);
    assert_int_equal(rig_refresh(row, 1, NULL), TOKEN_RECONNECT);
    assert_string_equal(rig.results[0].code, "no_refresh_token");
    assert_int_equal(rig_put(&rig.author, API_FACEBOOK, "page-1", "EAA1", "", &row), OK);
    assert_int_equal(rig_refresh(row, 1, NULL), TOKEN_RECONNECT);
    assert_string_equal(rig.results[0].code, "no_refresh");
    rig.config.platform[PLATFORM_TIKTOK].client_id[0] = '\0';
    assert_int_equal(rig_refresh(rig_put_tiktok(), 2, NULL), TOKEN_APP_REJECTED);
    assert_int_equal(rig.sent, 0);
}

/* ---- crashes ---- */

/* Runs in a child process with its own connections. */
static int refresh_once(void *ctx)
{
    static const struct reply replies[] = {{TRANSPORT_OK, 200, PAIR("2")}};
    const int64_t *row = ctx;
    store_close(rig.db.r);
    store_close(rig.db.w);
    rig.db.w = temp_db_open(&rig.db, STORE_WRITE);
    rig.db.r = temp_db_open(&rig.db, STORE_READ);
    token_refresher_free(rig.refresher);
    rig_open_refresher();
    return rig_refresh(*row, 1, replies) == TOKEN_REFRESHED ? 0 : 1;
}

/* Kills the process before each of its file changes: either the old or the new tokens are left. If the old
 * tokens are left, refresh_sent_at shows whether the refresh token may be used up. */
static void crash_leaves_old_or_new_tokens(void **state)
{
    static const struct reply spent[] = {{TRANSPORT_OK, 400, INVALID_GRANT}};
    int old = 0, marked = 0, fresh = 0, at = 1;
    (void)state;
    for (enum crash_end end = CRASH_REACHED; end != CRASH_ENDED; at++) {
        assert_true(at < 100);
        int64_t row = rig_put_tiktok();
        struct credential c = rig_get(row);
        test_begin(&rig.db);
        assert_int_equal(store_delete_credential(rig.db.w, row, 0), OK);
        test_commit(&rig.db);
        row = rig_put_tiktok();
        store_close(rig.db.w);
        store_close(rig.db.r);
        rig.db.w = temp_db_open(&rig.db, STORE_WRITE);
        rig.db.r = temp_db_open(&rig.db, STORE_READ);
        end = crash_before_change(at, refresh_once, &row);
        if (end == CRASH_NOT_POSSIBLE)
            skip();
        token_refresher_free(rig.refresher);
        rig_open_refresher();
        c = rig_get(row);
        if (c.version == 2) {
            rig_assert_tokens(row, "act.2", "rft.2");
            fresh++;
            continue;
        }
        rig_assert_tokens(row, "act.1", "rft.1");
        old++;
        if (c.refresh_sent_at == TIME_NONE)
            continue;
        marked++;
        /* A later run reports that the response was lost. */
        test_begin(&rig.db);
        bool ours;
        assert_int_equal(store_begin_token_refresh(rig.db.w, row, 1, NOW, INT64_MAX, &ours), OK);
        test_commit(&rig.db);
        assert_int_equal(rig_refresh(row, 1, spent), TOKEN_RECONNECT);
        assert_string_equal(rig.results[0].code, "lost_in_refresh");
    }
    assert_true(old > marked && marked > 0 && fresh > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, credential_rig_init, credential_rig_fini)
    const struct CMUnitTest tests[] = {
        TEST(new_tokens_are_committed_before_waiters_are_called),
        TEST(concurrent_refreshes_share_one_request),
        TEST(values_missing_from_a_response_keep_their_stored_value),
        TEST(rejections_are_attributed_to_account_or_app),
        TEST(request_without_response_is_sent_once_more),
        TEST(rate_limit_after_a_lost_response_does_not_hide_that_it_was_lost),
        TEST(stopping_process_does_not_retry),
        TEST(tokens_received_while_stopping_are_stored),
        TEST(no_request_is_sent_while_another_process_refreshes_the_account),
        TEST(tokens_stored_by_another_process_are_kept),
        TEST(removed_account_is_not_restored),
        TEST(failed_commit_is_retried),
        TEST(account_without_refresh_token_must_be_reconnected),
        TEST(crash_leaves_old_or_new_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
