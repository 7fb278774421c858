/* Tests the HTTP client with correct and faulty servers (test/lib/http_peers.py). Each test ends by checking
 * that the loop has no open handles. */
#include "unit.h"

#include "base/fault.h"

#include "lib/http_peers.h"
#include "net/http_client.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RESULTS_MAX = 256 };

/* ---- client and results ---- */

struct rig {
    uv_loop_t loop;
    struct http_client_options options;
    char origin[96];
    struct http_client *client;
    bool closed;
    size_t result_count;
    struct result {
        enum transport_error error;
        int status;
        char body[400], why[300], usage[64];
        size_t body_len, headers;
    } results[RESULTS_MAX];
    struct http_call *cancel_in_done;
    bool close_in_done, start_in_done;
};

/* Opens a client. `origin` ends before the port, and the port of the server `peer` is appended. */
static void rig_open(struct rig *rig, const char *origin, const char *peer)
{
    memset(rig, 0, sizeof *rig);
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    (void)snprintf(rig->origin, sizeof rig->origin, "%s%d", origin, http_peer_port(peer));
    rig->options = (struct http_client_options){.ca_file = http_peers_ca(),
                                                .connect_timeout_ms = 10000,
                                                .timeout_ms = 20000,
                                                .body_max = HTTP_CLIENT_BODY_BYTES,
                                                .host_connections = 10};
    rig->client = http_client_new(&rig->loop, &rig->options);
}

static void on_closed(void *ctx)
{
    ((struct rig *)ctx)->closed = true;
}

static void rig_close(struct rig *rig)
{
    if (!rig->close_in_done) {
        http_client_close(rig->client, on_closed, rig);
        assert_false(rig->closed);
    }
    assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
    assert_true(rig->closed);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    assert_int_equal(ERR_peek_error(), 0); /* hiredis would report a leftover OpenSSL error as its own */
}

/* Reopens the client with changed options. */
static void rig_reopen(struct rig *rig)
{
    http_client_close(rig->client, on_closed, rig);
    while (!rig->closed)
        (void)uv_run(&rig->loop, UV_RUN_ONCE);
    rig->closed = false;
    rig->client = http_client_new(&rig->loop, &rig->options);
}

static void start_get(struct rig *rig, const char *path);

static void on_done(void *ctx, const struct http_result *r)
{
    struct rig *rig = ctx;
    assert_true(rig->result_count < RESULTS_MAX);
    struct result *a = &rig->results[rig->result_count++];
    a->error = r->error;
    a->status = r->response.status;
    a->body_len = r->response.body.len;
    a->headers = r->response.header_count;
    (void)snprintf(a->body, sizeof a->body, "%.*s", (int)r->response.body.len,
                   r->response.body.p ? r->response.body.p : "");
    (void)snprintf(a->why, sizeof a->why, "%s", r->why);
    for (size_t i = 0; i < r->response.header_count; i++)
        if (str_eq_nocase(r->response.headers[i].name, STR("x-app-usage")))
            (void)snprintf(a->usage, sizeof a->usage, "%.*s", (int)r->response.headers[i].value.len,
                           r->response.headers[i].value.p);
    if (rig->cancel_in_done)
        http_client_cancel(rig->cancel_in_done);
    rig->cancel_in_done = NULL;
    if (rig->start_in_done)
        start_get(rig, "/ok");
    rig->start_in_done = false;
    if (rig->close_in_done)
        http_client_close(rig->client, on_closed, rig);
}

static struct http_call *start_request(struct rig *rig, const struct http_request *r)
{
    return http_client_send(rig->client, r, on_done, rig);
}

static struct http_request get(const struct rig *rig, const char *path)
{
    return (struct http_request){.origin = rig->origin, .method = "GET", .path = str_from_cstr(path)};
}

static void start_get(struct rig *rig, const char *path)
{
    struct http_request r = get(rig, path);
    (void)start_request(rig, &r);
}

static void run_until_done(struct rig *rig)
{
    while (http_client_count_calls(rig->client))
        assert_true(uv_run(&rig->loop, UV_RUN_ONCE) || !http_client_count_calls(rig->client));
}

/* Makes one call and returns its result, which is in rig->results[0]. */
static const struct result *call_peer(struct rig *rig, const char *path)
{
    rig->result_count = 0;
    start_get(rig, path);
    assert_int_equal(rig->result_count, 0); /* `done` is not called synchronously */
    run_until_done(rig);
    assert_int_equal(rig->result_count, 1);
    return &rig->results[0];
}

#define TLS_LOCALHOST "https://localhost:"

static struct result call_once(const char *origin, const char *peer, const char *path)
{
    struct rig rig;
    rig_open(&rig, origin, peer);
    const struct result a = *call_peer(&rig, path);
    rig_close(&rig);
    return a;
}

static struct result call_good(const char *path)
{
    return call_once(TLS_LOCALHOST, "good", path);
}

/* ---- responses ---- */

static void libcurl_has_all_required_features(void **state)
{
    struct error error;
    (void)state;
    assert_int_equal(http_client_check(&error), OK);
}

static void response_has_status_headers_and_body(void **state)
{
    (void)state;
    struct result a = call_good("/ok");
    assert_int_equal(a.error, TRANSPORT_OK);
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "{\"n\":1}");
    assert_string_equal(a.usage, "{\"call_count\":28}");
    assert_string_equal(a.why, "");
    a = call_good("/teapot");
    assert_int_equal(a.error, TRANSPORT_OK);
    assert_int_equal(a.status, 418);
    assert_string_equal(a.body, "{\"error\":\"short and stout\"}");
}

static void interim_response_is_skipped(void **state)
{
    (void)state;
    struct result a = call_good("/interim"), plain = call_good("/ok");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.headers, plain.headers);
}

static void posts_a_form_with_headers(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, TLS_LOCALHOST, "good");
    struct http_request r = {.origin = rig.origin,
                             .method = "POST",
                             .path = STR("/v5/oauth/token?x=1"),
                             .content_type = STR("application/x-www-form-urlencoded"),
                             .body = STR("a=1&b=%20"),
                             .headers = {{STR("Authorization"), STR("Basic abc=")}},
                             .header_count = 1};
    (void)start_request(&rig, &r);
    run_until_done(&rig);
    assert_string_equal(rig.results[0].body,
                        "/v5/oauth/token?x=1 application/x-www-form-urlencoded Basic abc= a=1&b=%20");
    rig_close(&rig);
}

static void sends_user_agent_and_accept(void **state)
{
    (void)state;
    struct result a = call_good("/fields");
    assert_non_null(strstr(a.body, "user-agent: viewtally/"));
    assert_non_null(strstr(a.body, "accept: application/json"));
    assert_non_null(strstr(a.body, "accept-encoding: deflate, gzip"));
    assert_null(strstr(a.body, "cookie"));
    assert_null(strstr(a.body, "referer"));
}

static void sends_path_unchanged(void **state)
{
    (void)state;
    const char *path = "/target?fields=a,b.summary(true)&u=%7B%7D&v=[1]{2}/../x";
    assert_string_equal(call_good(path).body, path);
}

static void decompresses_bodies(void **state)
{
    (void)state;
    struct result a = call_good("/gzip");
    assert_int_equal(a.error, TRANSPORT_OK);
    assert_int_equal(a.body_len, 100000);
    assert_int_equal(call_good("/broken_gzip").error, TRANSPORT_PROTOCOL);
}

static void rejects_large_responses(void **state)
{
    (void)state;
    static const char *const paths[] = {"/big", "/bomb", "/endless", "/headers", "/many_headers"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct result a = call_good(paths[i]);
        assert_string_equal(transport_error_name(a.error), "too_large");
        assert_int_equal(a.body_len, 0);
    }
}

static void does_not_follow_redirects(void **state)
{
    (void)state;
    struct result a = call_good("/redirect");
    assert_int_equal(a.error, TRANSPORT_OK);
    assert_int_equal(a.status, 302);
    assert_string_equal(a.body, "elsewhere");
}

/* ---- failures ---- */

static void expect(struct result a, const char *name, const char *words)
{
    assert_string_equal(transport_error_name(a.error), name);
    if (!strstr(a.why, words))
        fail_msg("\"%s\" does not contain \"%s\"", a.why, words);
    assert_int_equal(a.status, 0);
    assert_int_equal(a.body_len, 0);
}

static void verifies_certificates(void **state)
{
    (void)state;
    expect(call_once(TLS_LOCALHOST, "wrong_name", "/ok"), "tls", "localhost");
    expect(call_once("https://127.0.0.1:", "wrong_name", "/ok"), "tls", "127.0.0.1");
    expect(call_once(TLS_LOCALHOST, "expired", "/ok"), "tls", "expired");
    expect(call_once(TLS_LOCALHOST, "stranger", "/ok"), "tls", "certificate");
    expect(call_once(TLS_LOCALHOST, "plain", "/ok"), "tls", "");
    assert_int_equal(call_once("https://127.0.0.1:", "good", "/ok").error, TRANSPORT_OK);
}

static void uses_system_authorities_if_ca_file_is_not_set(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, TLS_LOCALHOST, "good");
    rig.options.ca_file = "";
    rig_reopen(&rig);
    expect(*call_peer(&rig, "/ok"), "tls", "");
    rig_close(&rig);

    assert_int_equal(setenv("SSL_CERT_FILE", http_peers_ca(), 1), 0);
    rig_open(&rig, TLS_LOCALHOST, "good");
    rig.options.ca_file = NULL;
    rig_reopen(&rig);
    assert_int_equal(call_peer(&rig, "/ok")->error, TRANSPORT_OK);
    rig_close(&rig);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

static void missing_ca_file_is_an_error(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, TLS_LOCALHOST, "good");
    rig.options.ca_file = "/nowhere/ca.crt";
    rig_reopen(&rig);
    expect(*call_peer(&rig, "/ok"), "tls", "/nowhere/ca.crt");
    rig_close(&rig);
}

static void each_connection_failure_has_its_own_error(void **state)
{
    (void)state;
    const struct result refused = call_once(TLS_LOCALHOST, "nobody", "/ok");
    expect(refused, "connect", "Failed to connect to localhost");
    assert_null(strstr(refused.why, ": Error"));
    /* The server closes each connection immediately: curl reports "connect" if this happens before the
     * connection is established, else "tls". */
    const struct result rejected = call_once(TLS_LOCALHOST, "refusing", "/ok");
    expect(rejected, rejected.error == TRANSPORT_CONNECT ? "connect" : "tls", "");
    expect(call_good("/truncated"), "reset", "");
    expect(call_good("/reset"), "reset", "");
    expect(call_good("/garbage"), "protocol", "");
    struct result a = call_once("https://nothing-of-this-name.invalid:", "good", "/ok");
    assert_true(a.error == TRANSPORT_DNS ||
                a.error == TRANSPORT_TIMEOUT); /* without a resolver the lookup times out */
}

static void expect_timeout(const char *peer, const char *path)
{
    struct rig rig;
    rig_open(&rig, TLS_LOCALHOST, peer);
    rig.options.connect_timeout_ms = 400;
    rig.options.timeout_ms = 500;
    rig_reopen(&rig);
    expect(*call_peer(&rig, path), "timeout", "");
    rig_close(&rig);
}

static void calls_time_out(void **state)
{
    (void)state;
    expect_timeout("mute", "/ok"); /* this server accepts connections and never responds */
    expect_timeout("good", "/silent");
    expect_timeout("good", "/trickle");
    expect_timeout("http2", "/silent");
}

static void rejects_invalid_requests(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, TLS_LOCALHOST, "good");
    static const char *const paths[] = {"",     "ok",        "/a b",          "/a\r\nX: y",
                                        "/a#b", "/\xc3\xa9", "@evil.example/"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        expect(*call_peer(&rig, paths[i]), "request", "");
    struct http_request r = get(&rig, "/ok");
    r.headers[0] = (struct http_header){STR("Authorization"), STR("Bearer a\r\nX-Evil: 1")};
    r.header_count = 1;
    rig.result_count = 0;
    (void)start_request(&rig, &r);
    r.headers[0] = (struct http_header){STR("Bad name"), STR("x")};
    (void)start_request(&rig, &r);
    r = get(&rig, "/ok");
    r.method = "BREW";
    (void)start_request(&rig, &r);
    run_until_done(&rig);
    assert_int_equal(rig.result_count, 3);
    for (size_t i = 0; i < 3; i++)
        expect(rig.results[i], "request", "");
    rig_close(&rig);
}

static void plain_http_is_allowed_only_to_this_machine(void **state)
{
    (void)state;
    assert_int_equal(call_once("http://127.0.0.1:", "plain", "/ok").status, 200);
    expect(call_once("http://localhost:", "plain", "/ok"), "request", "");
    expect(call_once("ftp://127.0.0.1:", "plain", "/ok"), "request", "");
}

/* ---- HTTP/2, concurrency, proxies ---- */

static void http2_calls_share_connections(void **state)
{
    (void)state;
    struct rig rig;
    size_t connections = 0;
    rig_open(&rig, TLS_LOCALHOST, "http2");
    for (int i = 0; i < 200; i++)
        start_get(&rig, "/x");
    run_until_done(&rig);
    assert_int_equal(rig.result_count, 200);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(rig.results[i].error, TRANSPORT_OK);
        assert_int_equal(strncmp(rig.results[i].body, "HTTP/2.0 ", 9), 0);
        int j = 0;
        while (strcmp(rig.results[j].body, rig.results[i].body) != 0)
            j++;
        connections += j == i;
    }
    assert_in_range(connections, 1, 3); /* many calls share a connection */
    rig_close(&rig);
}

static void request_that_must_not_be_repeated_uses_a_new_connection(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, TLS_LOCALHOST, "http2");
    struct http_request once = get(&rig, "/x");
    once.once = true;
    const struct result first = *call_peer(&rig, "/x"), second = *call_peer(&rig, "/x");
    assert_string_equal(first.body, second.body); /* the body is the number of the connection */
    rig.result_count = 0;
    (void)start_request(&rig, &once);
    run_until_done(&rig);
    assert_int_equal(rig.results[0].error, TRANSPORT_OK);
    assert_string_not_equal(rig.results[0].body, first.body);
    rig_close(&rig);
}

static void two_hundred_concurrent_calls_complete(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, TLS_LOCALHOST, "good");
    for (int i = 0; i < 200; i++)
        start_get(&rig, i % 10 ? "/ok" : "/reset");
    assert_int_equal(http_client_count_calls(rig.client), 200);
    run_until_done(&rig);
    int ok = 0;
    for (size_t i = 0; i < rig.result_count; i++)
        ok += rig.results[i].error == TRANSPORT_OK;
    assert_int_equal(rig.result_count, 200);
    assert_int_equal(ok, 180);
    rig_close(&rig);
}

static void uses_proxy_named_in_the_environment(void **state)
{
    (void)state;
    char proxy[64];
    (void)snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", http_peer_port("proxy"));
    assert_int_equal(setenv("https_proxy", proxy, 1), 0);
    struct result a =
        call_once(TLS_LOCALHOST, "nobody", "/ok"); /* the proxy connects every tunnel to the good server */
    assert_int_equal(a.error, TRANSPORT_OK);
    assert_int_equal(a.headers, call_good("/ok").headers);
    assert_int_equal(call_once("https://127.0.0.1:", "nobody", "/ok").error, TRANSPORT_CONNECT);
    assert_int_equal(setenv("no_proxy", "localhost", 1), 0);
    assert_int_equal(call_once(TLS_LOCALHOST, "nobody", "/ok").error, TRANSPORT_CONNECT);
    (void)unsetenv("no_proxy");
    (void)unsetenv("https_proxy");
}

/* ---- canceling and closing ---- */

/* Cancels a call after `iterations` iterations of the loop: `done` is not called, and no handle is left. */
static void cancel_after(const char *origin, const char *peer, const char *path, int iterations)
{
    struct rig rig;
    rig_open(&rig, origin, peer);
    struct http_request r = get(&rig, path);
    struct http_call *call = start_request(&rig, &r);
    for (int i = 0; i < iterations && !rig.result_count; i++)
        (void)uv_run(&rig.loop, UV_RUN_ONCE);
    const size_t before = rig.result_count;
    if (!before) {
        http_client_cancel(call);
        assert_int_equal(http_client_count_calls(rig.client), 0);
        (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
        assert_int_equal(rig.result_count, 0);
    }
    rig_close(&rig);
    assert_int_equal(rig.result_count, before);
}

static void call_can_be_canceled_in_each_phase(void **state)
{
    (void)state;
    for (int iterations = 0; iterations < 12; iterations++) {
        cancel_after(TLS_LOCALHOST, "good", "/ok", iterations);
        cancel_after(TLS_LOCALHOST, "http2", "/ok", iterations);
        cancel_after(TLS_LOCALHOST, "good", "/endless", iterations);
        cancel_after("https://nothing-of-this-name.invalid:", "good", "/ok", iterations < 2 ? iterations : 0);
    }
    cancel_after(TLS_LOCALHOST, "good", "bad path", 0);
}

static void client_can_be_closed_while_calls_are_in_flight(void **state)
{
    (void)state;
    static const char *const names[] = {"good", "http2", "mute"};
    for (size_t i = 0; i < 3; i++) {
        for (int iterations = 0; iterations < 8; iterations++) {
            struct rig rig;
            rig_open(&rig, TLS_LOCALHOST, names[i]);
            for (int j = 0; j < 40; j++)
                start_get(&rig, "/silent");
            start_get(&rig, "bad path");
            const size_t calls = http_client_count_calls(rig.client);
            assert_int_equal(calls, 41);
            for (int j = 0; j < iterations && !rig.result_count; j++)
                (void)uv_run(&rig.loop, UV_RUN_NOWAIT);
            const size_t before = rig.result_count;
            rig_close(&rig);
            assert_int_equal(rig.result_count, before);
        }
    }
}

static void done_callback_may_start_and_cancel_calls_and_close_the_client(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, TLS_LOCALHOST, "good");
    rig.start_in_done = true;
    struct http_request r = get(&rig, "/silent");
    start_get(&rig, "/ok");
    rig.cancel_in_done = start_request(&rig, &r);
    run_until_done(&rig);
    assert_int_equal(rig.result_count, 2);
    assert_int_equal(rig.results[1].error, TRANSPORT_OK);
    rig.result_count = 0;
    rig.close_in_done = true;
    start_get(&rig, "/silent");
    start_get(&rig, "/ok");
    while (!rig.result_count)
        (void)uv_run(&rig.loop, UV_RUN_ONCE);
    rig_close(&rig);
    assert_int_equal(rig.result_count, 1);
}

/* If curl or a socket watch runs out of memory, `done` is called once and the next call succeeds. */
static void out_of_memory_in_curl_fails_only_that_call(void **state)
{
    enum { FAILURES = 20 };
    (void)state;
    for (unsigned n = 1; n <= FAILURES; n++) {
        struct rig rig;
        rig_open(&rig, TLS_LOCALHOST, "good");
        start_get(&rig, "/ok");
        fault_arm(n, false);
        run_until_done(&rig);
        const unsigned failed = fault_count();
        fault_arm(0, false);
        assert_int_equal(rig.result_count, 1);
        assert_true(failed || rig.results[0].error == TRANSPORT_OK);
        assert_int_equal(call_peer(&rig, "/ok")->error, TRANSPORT_OK);
        rig_close(&rig);
    }
}

static void opening_a_client_returns_null_if_out_of_memory(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, TLS_LOCALHOST, "good");
    for (unsigned n = 1; n <= 2; n++) {
        fault_arm(n, false);
        assert_null(http_client_new(&rig.loop, &rig.options));
        fault_arm(0, false);
    }
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_memory_in_curl_fails_only_that_call),
        cmocka_unit_test(opening_a_client_returns_null_if_out_of_memory),
        cmocka_unit_test(libcurl_has_all_required_features),
        cmocka_unit_test(response_has_status_headers_and_body),
        cmocka_unit_test(interim_response_is_skipped),
        cmocka_unit_test(posts_a_form_with_headers),
        cmocka_unit_test(sends_user_agent_and_accept),
        cmocka_unit_test(sends_path_unchanged),
        cmocka_unit_test(decompresses_bodies),
        cmocka_unit_test(rejects_large_responses),
        cmocka_unit_test(does_not_follow_redirects),
        cmocka_unit_test(verifies_certificates),
        cmocka_unit_test(uses_system_authorities_if_ca_file_is_not_set),
        cmocka_unit_test(missing_ca_file_is_an_error),
        cmocka_unit_test(each_connection_failure_has_its_own_error),
        cmocka_unit_test(calls_time_out),
        cmocka_unit_test(rejects_invalid_requests),
        cmocka_unit_test(plain_http_is_allowed_only_to_this_machine),
        cmocka_unit_test(http2_calls_share_connections),
        cmocka_unit_test(request_that_must_not_be_repeated_uses_a_new_connection),
        cmocka_unit_test(two_hundred_concurrent_calls_complete),
        cmocka_unit_test(uses_proxy_named_in_the_environment),
        cmocka_unit_test(call_can_be_canceled_in_each_phase),
        cmocka_unit_test(client_can_be_closed_while_calls_are_in_flight),
        cmocka_unit_test(done_callback_may_start_and_cancel_calls_and_close_the_client),
    };
    return cmocka_run_group_tests(tests, http_peers_start, http_peers_stop);
}
