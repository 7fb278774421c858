/* Accounts with their tokens: put in, found again, due or not, refreshed once however many ask, and what a
 * process that dies in the middle of that leaves behind. The platform is a function here; what the platforms
 * really say is the connectors' own tests'. */
#include "unit.h"

#include "base/clock.h"
#include "lib/crash.h"
#include "lib/temp_db.h"
#include "platforms/credentials.h"
#include "platforms/fetch.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#define NOW (TEST_DAY + HOUR_MS)

enum { SENDS_MAX = 16, WAITERS_MAX = 8 };

/* What the platform answers to one request after the other. */
struct reply {
    enum fetch_error error;
    int status;
    const char *body;
};

static struct {
    struct temp_db db;
    struct config config;
    char key_path[128];
    char why[512];
    struct seal_keys *keys;
    struct author author, other;
    struct token_refresher *refresher;

    /* the platform */
    const struct reply *replies;
    int sent, delivered;
    char bodies[SENDS_MAX][1024]; /* of requests */
    void (*done[SENDS_MAX])(void *ctx, const struct fetch_result *result);
    void *done_ctx[SENDS_MAX];

    /* who waits */
    int told;
    struct token_answer answers[WAITERS_MAX];
    int64_t version_when_told;
    int commits_to_fail;
} t;

/* ---- the platform, and the transactions ---- */

static void send_request(void *ctx, const struct platform_request *request,
                         void (*done)(void *done_ctx, const struct fetch_result *result), void *done_ctx)
{
    (void)ctx;
    assert_true(t.sent < SENDS_MAX);
    assert_true(request->secret);
    (void)snprintf(t.bodies[t.sent], sizeof t.bodies[0], "%s %.*s %.*s", request->method,
                   (int)request->path.len, request->path.p, (int)request->body.len,
                   request->body.len ? request->body.p : "");
    t.done[t.sent] = done;
    t.done_ctx[t.sent++] = done_ctx;
}

/* As the loop would. */
static void deliver(void)
{
    while (t.delivered < t.sent) {
        const struct reply *r = &t.replies[t.delivered];
        struct fetch_result result = {.error = r->error,
                                      .response = {.status = r->status, .body = str_from_cstr(r->body)}};
        int i = t.delivered++;
        t.done[i](t.done_ctx[i], &result);
    }
}

static enum err begin(void *ctx)
{
    (void)ctx;
    return store_begin(t.db.w);
}

static enum err commit(void *ctx)
{
    (void)ctx;
    if (t.commits_to_fail > 0 && t.commits_to_fail-- == 1) {
        store_rollback(t.db.w);
        return ERR_FULL;
    }
    return store_commit(t.db.w);
}

static void rollback(void *ctx)
{
    (void)ctx;
    store_rollback(t.db.w);
}

static void open_refresher(void)
{
    const struct token_sender sender = {.send = send_request};
    const struct token_turns turns = {
        .store = t.db.w, .begin = begin, .commit = commit, .rollback = rollback};
    t.refresher = token_refresher_new(&t.config, &sender, t.keys, &turns);
}

static int set_up(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    if (sodium_init() < 0)
        return -1;
    temp_db_init(&t.db);
    (void)snprintf(t.key_path, sizeof t.key_path, "%s/key", t.db.dir);
    assert_int_equal(seal_create_file(t.key_path, t.why, sizeof t.why), OK);
    assert_int_equal(seal_open(&t.keys, t.key_path, t.why, sizeof t.why), OK);
    config_init(&t.config);
    free(t.config.secrets.key_file);
    t.config.secrets.key_file = strdup(t.key_path);
    free(t.config.tiktok.client_id);
    t.config.tiktok.client_id = strdup("CK");
    test_begin(&t.db);
    t.author = add_author(&t.db, 1);
    t.other = add_author(&t.db, 2);
    test_commit(&t.db);
    open_refresher();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    token_refresher_free(t.refresher);
    seal_close(t.keys);
    config_fini(&t.config);
    temp_db_fini(&t.db);
    return 0;
}

/* ---- short ways ---- */

static enum err put(const struct author *author, enum platform_api api, const char *id, const char *access,
                    const char *refresh, int64_t *row)
{
    const char *why;
    struct account_record r;
    const struct linked_account account = {.api = api,
                                           .id = str_from_cstr(id),
                                           .name = STR("Ann"),
                                           .grant = {.access_token = str_from_cstr(access),
                                                     .refresh_token = str_from_cstr(refresh),
                                                     .scopes = STR("video.list"),
                                                     .expires_in_s = 7200,
                                                     .refresh_expires_in_s = 86400}};
    assert_true(account_record_of(&r, author->row, &account, NOW, &why));
    test_begin(&t.db);
    enum err err = account_record_save(&r, t.keys, t.db.w, row);
    account_record_wipe(&r);
    if (err)
        store_rollback(t.db.w);
    else
        test_commit(&t.db);
    return err;
}

static int64_t put_tiktok(void)
{
    int64_t row = 0;
    assert_int_equal(put(&t.author, API_TIKTOK, "open-1", "act.1", "rft.1", &row), OK);
    return row;
}

static struct credential get(int64_t row)
{
    struct credential c;
    assert_int_equal(store_get_credential(t.db.w, &t.db.arena, row, &c), OK);
    return c;
}

static void assert_tokens(int64_t row, const char *access, const char *refresh)
{
    struct tokens k;
    assert_int_equal(tokens_load(t.db.w, t.keys, row, &k), OK);
    assert_str(k.grant.access_token, access);
    assert_str(k.grant.refresh_token, refresh);
    tokens_close(&k);
}

static void on_told(void *ctx, const struct token_answer *answer)
{
    const int64_t *row = ctx;
    struct credential c;
    t.answers[t.told++] = *answer;
    /* On another connection: what is there is committed. */
    if (store_get_credential(t.db.r, &t.db.arena, *row, &c) == OK)
        t.version_when_told = c.version;
}

static enum token_result ask(int64_t row, int64_t version, const struct reply *replies)
{
    struct token_answer answer;
    t.replies = replies;
    t.told = t.sent = t.delivered = 0;
    if (token_refresher_ask(t.refresher, row, version, &answer, on_told, &row) == NEXT_MORE) {
        t.answers[0] = answer;
        return answer.result;
    }
    assert_int_equal(t.told, 0);
    deliver();
    assert_int_equal(t.told, 1);
    assert_int_equal(token_refresher_in_flight(t.refresher), 0);
    return t.answers[0].result;
}

#define PAIR(n)                                                                                              \
    "{\"access_token\":\"act." n "\",\"expires_in\":7200,\"open_id\":\"open-1\",\"refresh_expires_in\":"     \
    "15552000,\"refresh_token\":\"rft." n                                                                    \
    "\",\"scope\":\"user.info.basic,video.list\",\"token_type\":\"Bearer\"}"
#define INVALID_GRANT                                                                                        \
    "{\"error\":\"invalid_grant\",\"error_description\":\"Refresh token is invalid or "                      \
    "expired.\",\"log_id\":\"2\"}"

/* ---- putting in ---- */

static void an_account_comes_back_as_it_was_put_in(void **state)
{
    (void)state;
    const int64_t row = put_tiktok();
    const struct credential c = get(row);
    assert_int_equal(c.author_row, t.author.row);
    assert_int_equal(c.api, API_TIKTOK);
    assert_str(c.account_id, "open-1");
    assert_str(c.account_name, "Ann");
    assert_str(c.scopes, "video.list");
    assert_int_equal(c.access_expires_at, NOW + 7200 * SECOND_MS);
    assert_int_equal(c.refresh_expires_at, NOW + 86400 * SECOND_MS);
    assert_int_equal(c.version, 1);
    assert_null(memmem(c.access_sealed.p, c.access_sealed.len, "act.", 4));
    assert_tokens(row, "act.1", "rft.1");
}

static void the_same_account_again_is_an_update_and_anothers_is_refused(void **state)
{
    int64_t again = 0, row = put_tiktok();
    (void)state;
    test_begin(&t.db);
    assert_int_equal(
        store_credential_failed(t.db.w, row, 1, STR("reconnect invalid_grant"), NOW, CREDENTIAL_SIGN_IN), OK);
    test_commit(&t.db);
    assert_int_equal(get(row).state, CREDENTIAL_SIGN_IN);
    assert_int_equal(put(&t.author, API_TIKTOK, "open-1", "act.2", "", &again), OK);
    assert_int_equal(again, row);
    const struct credential c = get(row);
    assert_int_equal(c.version, 2);
    assert_int_equal(c.state, CREDENTIAL_FINE);
    assert_int_equal(c.failures, 0);
    assert_null(c.last_error.p);
    assert_null(c.refresh_sealed.p);
    assert_int_equal(put(&t.other, API_TIKTOK, "open-1", "act.3", "rft.3", &again), ERR_EXISTS);
    assert_tokens(row, "act.2", "");
    /* The same text is another account at another platform. */
    assert_int_equal(put(&t.other, API_PINTEREST, "open-1", "pina_1", "pinr.1", &again), OK);
    assert_int_not_equal(again, row);
}

static void errors_of_old_tokens_do_not_mark_new_ones(void **state)
{
    int64_t again, row = put_tiktok();
    (void)state;
    assert_int_equal(put(&t.author, API_TIKTOK, "open-1", "act.2", "rft.2", &again), OK);
    test_begin(&t.db);
    assert_int_equal(store_credential_failed(t.db.w, row, 1, STR("x"), NOW, CREDENTIAL_SIGN_IN), OK);
    test_commit(&t.db);
    assert_int_equal(get(row).state, CREDENTIAL_FINE);
}

static void a_row_that_was_swapped_does_not_open(void **state)
{
    int64_t a = put_tiktok(), b;
    struct tokens k;
    struct credential one, two;
    (void)state;
    assert_int_equal(put(&t.other, API_TIKTOK, "open-2", "act.b", "rft.b", &b), OK);
    one = get(a);
    two = get(b);
    test_begin(&t.db);
    assert_int_equal(store_reseal_credential(t.db.w, a, two.access_sealed, two.refresh_sealed), OK);
    test_commit(&t.db);
    assert_int_equal(tokens_load(t.db.w, t.keys, a, &k), ERR_CORRUPT);
    assert_int_equal(secrets_check(&t.config, t.db.w, t.why, sizeof t.why), ERR_CORRUPT);
    assert_non_null(strstr(t.why, "cannot be opened"));
    /* The two columns of one row, */
    test_begin(&t.db);
    assert_int_equal(store_reseal_credential(t.db.w, a, one.refresh_sealed, one.access_sealed), OK);
    test_commit(&t.db);
    assert_int_equal(tokens_load(t.db.w, t.keys, a, &k), ERR_CORRUPT);
    /* and its own again. */
    test_begin(&t.db);
    assert_int_equal(store_reseal_credential(t.db.w, a, one.access_sealed, one.refresh_sealed), OK);
    test_commit(&t.db);
    assert_tokens(a, "act.1", "rft.1");
    assert_int_equal(secrets_check(&t.config, t.db.w, t.why, sizeof t.why), OK);
}

static void a_key_that_is_not_there_is_told(void **state)
{
    int64_t rows;
    (void)state;
    (void)put_tiktok();
    assert_int_equal(remove(t.key_path), 0);
    assert_int_equal(secrets_check(&t.config, t.db.w, t.why, sizeof t.why), ERR_NOT_FOUND);
    assert_int_equal(seal_create_file(t.key_path, t.why, sizeof t.why), OK);
    assert_int_equal(secrets_check(&t.config, t.db.w, t.why, sizeof t.why), ERR_NOT_FOUND);
    assert_non_null(strstr(t.why, "is not in the key file"));
    t.config.secrets.key_file[0] = '\0';
    assert_int_equal(secrets_check(&t.config, t.db.w, t.why, sizeof t.why), ERR_NOT_FOUND);
    assert_non_null(strstr(t.why, "names no file"));
    test_begin(&t.db);
    assert_int_equal(store_delete_credential(t.db.w, 1, t.other.row), ERR_NOT_FOUND);
    assert_int_equal(store_delete_credential(t.db.w, 1, t.author.row), OK);
    test_commit(&t.db);
    assert_int_equal(secrets_look(&t.config, t.db.w, true, &rows, t.why, sizeof t.why), OK);
    assert_int_equal(rows, 0);
}

static void numbers_of_accounts_are_not_given_out_again(void **state)
{
    (void)state;
    const int64_t row = put_tiktok();
    test_begin(&t.db);
    assert_int_equal(store_delete_credential(t.db.w, row, 0), OK);
    test_commit(&t.db);
    assert_true(put_tiktok() > row);
}

/* ---- due or not ---- */

static void what_is_due_follows_the_descriptor(void **state)
{
    const struct platform_desc hours = {.refresh_before_s = 15 * 60};
    const struct platform_desc days = {.refresh_before_s = 30 * 86400, .refresh_min_age_s = 86400};
    const struct platform_desc never = {.refresh_before_s = -1};
    struct credential c = {.obtained_at = NOW, .access_expires_at = NOW + 2 * HOUR_MS};
    (void)state;
    assert_false(tokens_refresh_is_due(&hours, &c, NOW, false));
    assert_false(tokens_refresh_is_due(&hours, &c, NOW + 105 * MINUTE_MS, false));
    assert_true(tokens_refresh_is_due(&hours, &c, NOW + 105 * MINUTE_MS + 1, false));
    assert_true(tokens_refresh_is_due(&hours, &c, NOW + DAY_MS, false));
    assert_false(tokens_refresh_is_due(&hours, &c, NOW + DAY_MS, true)); /* nothing to ask with it */
    assert_true(tokens_refresh_is_due(&hours, &c, NOW + 7 * DAY_MS, true));
    assert_false(tokens_refresh_is_due(&never, &c, NOW + DAY_MS, false));
    c.state = CREDENTIAL_SIGN_IN;
    assert_false(tokens_refresh_is_due(&hours, &c, NOW + DAY_MS, false));
    c = (struct credential){.obtained_at = NOW, .access_expires_at = NOW + 20 * DAY_MS};
    assert_false(tokens_refresh_is_due(&days, &c, NOW + DAY_MS - 1, false));
    assert_true(tokens_refresh_is_due(&days, &c, NOW + DAY_MS, true));
    c.access_expires_at = TIME_NONE;
    assert_false(tokens_refresh_is_due(&days, &c, NOW + 90 * DAY_MS, false));
}

/* ---- refreshing ---- */

static void a_new_pair_is_on_disk_before_anyone_is_told(void **state)
{
    static const struct reply replies[] = {{FETCH_OK, 200, PAIR("2")}};
    const int64_t row = put_tiktok();
    (void)state;
    assert_int_equal(ask(row, 1, replies), TOKENS_NEWER);
    assert_int_equal(t.version_when_told, 2);
    assert_int_equal(t.sent, 1);
    assert_non_null(strstr(t.bodies[0], "refresh_token=rft.1"));
    assert_tokens(row, "act.2", "rft.2");
    assert_int_equal(get(row).refresh_sent_at, TIME_NONE);
    assert_str(get(row).scopes, "user.info.basic,video.list");
    /* Who comes with the old tokens only now needs no request. */
    assert_int_equal(ask(row, 1, replies), TOKENS_NEWER);
    assert_int_equal(t.sent, 0);
    assert_int_equal(token_refresher_counts(t.refresher, API_TIKTOK)->done, 1);
}

static void many_who_ask_make_one_request(void **state)
{
    static const struct reply replies[] = {{FETCH_OK, 200, PAIR("2")}};
    struct token_answer answer;
    int64_t row = put_tiktok();
    (void)state;
    t.replies = replies;
    for (int i = 0; i < 5; i++)
        assert_int_equal(token_refresher_ask(t.refresher, row, 1, &answer, on_told, &row), NEXT_WAIT);
    assert_int_equal(token_refresher_in_flight(t.refresher), 1);
    deliver();
    assert_int_equal(t.sent, 1);
    assert_int_equal(t.told, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(t.answers[i].result, TOKENS_NEWER);
}

static void what_an_answer_leaves_out_stays(void **state)
{
    static const struct reply replies[] = {
        {FETCH_OK, 200, "{\"access_token\":\"act.2\",\"refresh_token\":\"\"}"}};
    const int64_t row = put_tiktok();
    (void)state;
    assert_int_equal(ask(row, 1, replies), TOKENS_NEWER);
    assert_tokens(row, "act.2", "rft.1");
    const struct credential c = get(row);
    assert_int_equal(c.refresh_expires_at, NOW + 86400 * SECOND_MS);
    assert_int_equal(c.access_expires_at - c.obtained_at, 3600 * SECOND_MS);
    assert_str(c.scopes, "video.list");
}

static void each_refusal_is_somebodys(void **state)
{
    static const struct {
        struct reply reply;
        enum token_result result;
        const char *code;
        bool marked; /* still: the pair may be spent */
    } rows[] = {
        {{FETCH_OK, 400, INVALID_GRANT}, TOKENS_SIGN_IN, "invalid_grant", false},
        {{FETCH_OK, 401, "{\"error\":\"invalid_client\"}"}, TOKENS_OPERATOR, "invalid_client", false},
        {{FETCH_OK, 400, "{\"error\":\"unauthorized_client\"}"},
         TOKENS_OPERATOR,
         "unauthorized_client",
         false},
        {{FETCH_OK, 503, "busy"}, TOKENS_LATER, NULL, true},
        {{FETCH_OK, 429, "{\"error\":\"rate_limit_exceeded\"}"}, TOKENS_LATER, NULL, false},
        {{FETCH_OK, 200, "<html>"}, TOKENS_LATER, NULL, true},
        {{FETCH_CONNECT, 0, ""}, TOKENS_LATER, "connect", false},
        {{FETCH_TLS, 0, ""}, TOKENS_LATER, "tls", false},
        {{FETCH_OK, 200,
          "{\"access_token\":\"act.2\",\"expires_in\":1,\"open_id\":\"open-9\",\"refresh_token\":\"r\"}"},
         TOKENS_SIGN_IN,
         "other_account",
         false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int64_t row = put_tiktok();
        const struct credential before = get(row);
        assert_int_equal(ask(row, before.version, &rows[i].reply), rows[i].result);
        assert_int_equal(t.sent, 1);
        if (rows[i].code)
            assert_string_equal(t.answers[0].code, rows[i].code);
        const struct credential after = get(row);
        assert_int_equal(after.version, before.version);
        assert_int_equal(after.state, CREDENTIAL_FINE); /* marking is not the refresher's */
        assert_int_equal(after.refresh_sent_at != TIME_NONE, rows[i].marked);
        assert_tokens(row, "act.1", "rft.1");
    }
}

static void an_answer_that_was_lost_is_asked_for_once_more(void **state)
{
    static const struct reply heals[] = {{FETCH_TIMEOUT, 0, ""}, {FETCH_OK, 200, PAIR("2")}};
    static const struct reply lost[] = {{FETCH_RESET, 0, ""}, {FETCH_OK, 400, INVALID_GRANT}};
    static const struct reply silent[] = {{FETCH_TIMEOUT, 0, ""}, {FETCH_TIMEOUT, 0, ""}};
    int64_t row = put_tiktok();
    (void)state;
    assert_int_equal(ask(row, 1, heals), TOKENS_NEWER);
    assert_int_equal(t.sent, 2);
    assert_string_equal(t.bodies[0], t.bodies[1]);
    assert_tokens(row, "act.2", "rft.2");
    assert_int_equal(ask(row, 2, lost), TOKENS_SIGN_IN);
    assert_string_equal(t.answers[0].code, "lost_in_refresh");
    row = put_tiktok();
    assert_int_equal(ask(row, get(row).version, silent), TOKENS_LATER);
    assert_int_equal(t.sent, 2);
    assert_true(get(row).refresh_sent_at != TIME_NONE);
}

static void somebody_elses_refresh_is_waited_for(void **state)
{
    static const struct reply replies[] = {{FETCH_OK, 200, PAIR("2")}};
    const int64_t row = put_tiktok();
    bool ours;
    (void)state;
    test_begin(&t.db);
    assert_int_equal(store_begin_token_refresh(t.db.w, row, 1, clock_wall_ms(), 0, &ours), OK);
    assert_true(ours);
    test_commit(&t.db);
    assert_int_equal(ask(row, 1, replies), TOKENS_LATER);
    assert_int_equal(t.sent, 0);
    assert_string_equal(t.answers[0].code, "elsewhere");
    /* One that must have ended is not. */
    test_begin(&t.db);
    assert_int_equal(store_end_token_refresh(t.db.w, row, 1), OK);
    assert_int_equal(store_begin_token_refresh(t.db.w, row, 1, clock_wall_ms() - HOUR_MS, 0, &ours), OK);
    test_commit(&t.db);
    assert_int_equal(ask(row, 1, replies), TOKENS_NEWER);
}

static void a_pair_that_somebody_else_wrote_meanwhile_stays(void **state)
{
    static const struct reply replies[] = {{FETCH_OK, 200, PAIR("2")}};
    struct token_answer answer;
    int64_t again, row = put_tiktok();
    (void)state;
    t.replies = replies;
    assert_int_equal(token_refresher_ask(t.refresher, row, 1, &answer, on_told, &row), NEXT_WAIT);
    assert_int_equal(put(&t.author, API_TIKTOK, "open-1", "act.signed-in", "rft.signed-in", &again), OK);
    deliver();
    assert_int_equal(t.answers[0].result, TOKENS_NEWER);
    assert_string_equal(t.answers[0].code, "elsewhere");
    assert_tokens(row, "act.signed-in", "rft.signed-in");
}

static void an_account_that_was_removed_meanwhile_stays_away(void **state)
{
    static const struct reply replies[] = {{FETCH_OK, 200, PAIR("2")}};
    struct token_answer answer;
    int64_t row = put_tiktok();
    (void)state;
    t.replies = replies;
    assert_int_equal(token_refresher_ask(t.refresher, row, 1, &answer, on_told, &row), NEXT_WAIT);
    test_begin(&t.db);
    assert_int_equal(store_delete_credential(t.db.w, row, 0), OK);
    test_commit(&t.db);
    deliver();
    assert_int_equal(t.answers[0].result, TOKENS_GONE);
    assert_int_equal(ask(row, 1, replies), TOKENS_GONE);
}

static void a_commit_that_fails_is_tried_again(void **state)
{
    static const struct reply replies[] = {{FETCH_OK, 200, PAIR("2")}};
    const int64_t row = put_tiktok();
    (void)state;
    t.commits_to_fail = 2; /* the mark's goes well, the pair's first one fails */
    assert_int_equal(ask(row, 1, replies), TOKENS_NEWER);
    assert_tokens(row, "act.2", "rft.2");
}

static void without_a_refresh_token_the_author_is_asked(void **state)
{
    int64_t row;
    (void)state;
    assert_int_equal(put(&t.author, API_TIKTOK, "open-1", "act.1", "", &row), OK);
    assert_int_equal(ask(row, 1, NULL), TOKENS_SIGN_IN);
    assert_string_equal(t.answers[0].code, "no_refresh_token");
    assert_int_equal(put(&t.author, API_FACEBOOK, "page-1", "EAA1", "", &row), OK);
    assert_int_equal(ask(row, 1, NULL), TOKENS_SIGN_IN);
    assert_string_equal(t.answers[0].code, "no_refresh");
    t.config.tiktok.client_id[0] = '\0';
    assert_int_equal(ask(put_tiktok(), 2, NULL), TOKENS_OPERATOR);
    assert_int_equal(t.sent, 0);
}

/* ---- dying in the middle ---- */

/* In a process of its own, with connections of its own. */
static int refresh_once(void *ctx)
{
    static const struct reply replies[] = {{FETCH_OK, 200, PAIR("2")}};
    const int64_t *row = ctx;
    store_close(t.db.r);
    store_close(t.db.w);
    t.db.w = temp_db_open(&t.db, STORE_WRITE);
    t.db.r = temp_db_open(&t.db, STORE_READ);
    token_refresher_free(t.refresher);
    open_refresher();
    return ask(*row, 1, replies) == TOKENS_NEWER ? 0 : 1;
}

/* Killed before each of its changes to a file in turn: whatever is left is one pair or the other, whole, and
 * where it is the old one, the mark says whether it may be spent. */
static void a_process_that_dies_leaves_one_whole_pair(void **state)
{
    static const struct reply spent[] = {{FETCH_OK, 400, INVALID_GRANT}};
    int old = 0, marked = 0, fresh = 0, at = 1;
    (void)state;
    for (enum crash_end end = CRASH_KILLED; end != CRASH_ENDED; at++) {
        assert_true(at < 100);
        int64_t row = put_tiktok();
        struct credential c = get(row);
        test_begin(&t.db);
        assert_int_equal(store_delete_credential(t.db.w, row, 0), OK);
        test_commit(&t.db);
        row = put_tiktok();
        store_close(t.db.w);
        store_close(t.db.r);
        t.db.w = temp_db_open(&t.db, STORE_WRITE);
        t.db.r = temp_db_open(&t.db, STORE_READ);
        end = crash_before_change(at, refresh_once, &row);
        if (end == CRASH_NOT_POSSIBLE)
            skip();
        token_refresher_free(t.refresher);
        open_refresher();
        c = get(row);
        if (c.version == 2) {
            assert_tokens(row, "act.2", "rft.2");
            fresh++;
            continue;
        }
        assert_tokens(row, "act.1", "rft.1");
        old++;
        if (c.refresh_sent_at == TIME_NONE)
            continue;
        marked++;
        /* The next run, later: it is told that the pair was lost. */
        test_begin(&t.db);
        bool ours;
        assert_int_equal(store_begin_token_refresh(t.db.w, row, 1, NOW, INT64_MAX, &ours), OK);
        test_commit(&t.db);
        assert_int_equal(ask(row, 1, spent), TOKENS_SIGN_IN);
        assert_string_equal(t.answers[0].code, "lost_in_refresh");
    }
    assert_true(old > marked && marked > 0 && fresh > 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_account_comes_back_as_it_was_put_in),
        TEST(the_same_account_again_is_an_update_and_anothers_is_refused),
        TEST(errors_of_old_tokens_do_not_mark_new_ones),
        TEST(a_row_that_was_swapped_does_not_open),
        TEST(a_key_that_is_not_there_is_told),
        TEST(numbers_of_accounts_are_not_given_out_again),
        TEST(what_is_due_follows_the_descriptor),
        TEST(a_new_pair_is_on_disk_before_anyone_is_told),
        TEST(many_who_ask_make_one_request),
        TEST(what_an_answer_leaves_out_stays),
        TEST(each_refusal_is_somebodys),
        TEST(an_answer_that_was_lost_is_asked_for_once_more),
        TEST(somebody_elses_refresh_is_waited_for),
        TEST(a_pair_that_somebody_else_wrote_meanwhile_stays),
        TEST(an_account_that_was_removed_meanwhile_stays_away),
        TEST(a_commit_that_fails_is_tried_again),
        TEST(without_a_refresh_token_the_author_is_asked),
        TEST(a_process_that_dies_leaves_one_whole_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
