/* Tests connections over real loopback sockets: responses, pipelining, keep-alive, steps, half-close, resets,
 * rejected requests. Each test ends by checking that the loop has no handles and that every request was
 * freed. */
#include "unit.h"

#include "lib/http_rig.h"

#include <stdio.h>
#include <stdlib.h>

#define H      "Host: a\r\n"
#define GET(x) "GET " x " HTTP/1.1\r\n" H "\r\n"

/* Sends `stream`, waits until the server closes, and compares the statuses. */
static void expect_until_end(struct rig *rig, const char *stream, const char *want)
{
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, stream);
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, want);
    assert_false(p.reset);
    peer_fini(&p);
}

/* ---- responses ---- */

static void serves_one_request(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    struct peer_response a = peer_request(&p, GET("/plain"), 1);
    assert_int_equal(a.status, 200);
    assert_str(a.body, "hello");
    assert_str(peer_response_field(&a, "Content-Length"), "5");
    assert_int_equal(peer_response_field(&a, "Date").len, 29);
    assert_int_equal(peer_response_field(&a, "ETag").len, 34);
    assert_null(peer_response_field(&a, "Connection").p);
    assert_false(p.ended);
    a = peer_request(&p, GET("/nothing"), 2); /* the same connection */
    assert_int_equal(a.status, 404);
    assert_null(peer_response_field(&a, "ETag").p);
    peer_fini(&p);
}

static void request_is_handled_only_after_its_body_is_complete(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    (void)peer_send_text(&p, "POST /echo HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nsome ");
    rig_iterate_n(*state, 20);
    assert_int_equal(peer_complete(&p, NULL), 0);
    struct peer_response a = peer_request(&p, "more" GET("/plain"), 1);
    assert_str(a.body, "some more");
    peer_fini(&p);
}

static void head_response_has_the_fields_of_get_and_no_body(void **state)
{
    struct rig *rig = *state;
    struct peer p, q;
    struct peer_response head, get;
    peer_open(&p, rig);
    peer_open(&q, rig);
    get = peer_request(&q, GET("/big?1000"), 1);
    (void)peer_send_text(&p, "HEAD /big?1000 HTTP/1.1\r\n" H "\r\n" GET("/plain"));
    rig_until(rig, peer_complete(&p, "H") == 2);
    assert_int_equal(peer_responses(&p, "H", &head, 1), 1);
    assert_str(peer_response_field(&head, "Content-Length"), "1000");
    struct str tag = peer_response_field(&head, "ETag"), same = peer_response_field(&get, "ETag");
    assert_true(tag.p && str_eq(tag, same));
    peer_fini(&p);
    peer_fini(&q);
}

static void matching_etag_results_in_304(void **state)
{
    struct peer p;
    char request[200];
    struct peer_response a;
    peer_open(&p, *state);
    a = peer_request(&p, GET("/plain"), 1);
    struct str tag = peer_response_field(&a, "ETag");
    (void)snprintf(request, sizeof request,
                   "GET /plain HTTP/1.1\r\n" H "If-None-Match: \"x\", W/%.*s\r\n\r\n", (int)tag.len, tag.p);
    a = peer_request(&p, request, 2);
    assert_int_equal(a.status, 304);
    assert_int_equal(peer_response_field(&a, "ETag").len, 34);
    assert_null(peer_response_field(&a, "Content-Length").p);
    assert_null(peer_response_field(&a, "Content-Type").p);
    a = peer_request(&p, "POST /plain HTTP/1.1\r\n" H "If-None-Match: *\r\n\r\n", 3);
    assert_int_equal(a.status, 200); /* If-None-Match applies to GET and HEAD only */
    a = peer_request(&p, "GET /nothing HTTP/1.1\r\n" H "If-None-Match: *\r\n\r\n", 4);
    assert_int_equal(a.status, 404);
    a = peer_request(&p, GET("/plain"), 5); /* the next response on this connection must be complete */
    assert_str(a.body, "hello");
    peer_fini(&p);
}

static void response_204_has_no_body_and_no_length(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    struct peer_response a = peer_request(&p, GET("/empty") GET("/plain"), 2);
    assert_int_equal(a.status, 200);
    peer_expect(&p, "204 200");
    assert_int_equal(peer_responses(&p, NULL, &a, 1), 1);
    assert_null(peer_response_field(&a, "Content-Length").p);
    peer_fini(&p);
}

static void sends_constant_and_large_bodies(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    struct peer_response a = peer_request(&p, GET("/fixed"), 1);
    assert_int_equal(a.body.len, PART_BYTES);
    assert_int_equal(a.body.p[PART_BYTES - 1], 'f');
    a = peer_request(&p, GET("/big?5000000"), 2);
    assert_int_equal(a.body.len, 5000000);
    for (size_t i = 0; i < a.body.len; i++)
        if (a.body.p[i] != (char)('a' + i % 26))
            fail_msg("byte %zu is wrong", i);
    a = peer_request(&p, GET("/big?9000000"), 3); /* above BODY_MAX_BYTES: the handler's buffer has failed */
    assert_int_equal(a.status, 500);
    peer_fini(&p);
}

static void request_id_is_reused_if_well_formed(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    char first[160];
    peer_open(&p, rig);
    (void)peer_request(&p, "GET /plain HTTP/1.1\r\n" H "X-Request-Id: my-id.1_A\r\n\r\n", 1);
    assert_string_equal(rig->app.last_id, "my-id.1_A");
    (void)peer_request(&p, "GET /plain HTTP/1.1\r\n" H "X-Request-Id: no good\r\n\r\n", 2);
    assert_int_equal(strlen(rig->app.last_id), 16);
    memcpy(first, rig->app.last_id, sizeof first);
    (void)peer_request(&p, "GET /plain HTTP/1.1\r\n" H "X-Request-Id: a\r\nX-Request-Id: b\r\n\r\n", 3);
    assert_int_equal(strlen(rig->app.last_id), 16);
    assert_string_not_equal(rig->app.last_id, first);
    /* If the request id of the client precedes the error in the request, the error response contains this
     * id, too. */
    (void)peer_request(&p, "GET /plain HTTP/1.1\r\nX-Request-Id: refused\r\n\r\n", 4);
    assert_string_equal(rig->app.last_id, "refused");
    assert_int_equal(rig->app.last_status, 400);
    peer_fini(&p);
}

/* ---- several requests ---- */

static void pipelined_responses_are_in_order(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct peer_response responses[4];
    peer_open(&p, rig);
    (void)peer_send_text(&p,
                         GET("/sleep?1") GET("/plain") "HEAD /plain HTTP/1.1\r\n" H "\r\n" GET("/nothing"));
    rig_until(rig, peer_complete(&p, "..H.") == 4);
    assert_int_equal(peer_responses(&p, "..H.", responses, 4), 4);
    assert_str(responses[0].body, "slept");
    assert_str(responses[1].body, "hello");
    assert_int_equal(responses[2].status, 200);
    assert_int_equal(responses[3].status, 404);
    peer_fini(&p);
}

static void serves_a_thousand_pipelined_requests(void **state)
{
    enum { N = 1000 };
    struct rig *rig = *state;
    struct peer p;
    struct buf stream;
    buf_init(&stream, 1 << 20);
    for (int i = 0; i < N; i++)
        buf_append(&stream, i % 3 ? STR(GET("/plain")) : STR(GET("/busy")));
    peer_open(&p, rig);
    (void)peer_send(&p, buf_str(&stream));
    /* Waits for the requests first: peer_complete() parses all responses of the connection in each iteration,
     * which would take longer than serving the requests. */
    rig_until(rig, rig->app.begun == N);
    rig_until(rig, peer_complete(&p, NULL) == N);
    assert_int_equal(rig->app.begun, N);
    assert_false(p.ended);
    peer_fini(&p);
    buf_fini(&stream);
}

/* The server sends the pending responses, then the error response, and serves no later request. */
static void request_after_a_rejected_one_is_not_served(void **state)
{
    expect_until_end(*state, GET("/plain") "GET /plain HTTP/1.1\r\nHost : a\r\n\r\n" GET("/plain"),
                     "200 400");
    expect_until_end(*state, GET("/busy") "GET\r\n\r\n", "200 400");
    expect_until_end(*state, GET("/stream?3") GET("/sleep?1") "GET / HTTP/3.0\r\n" GET("/"), "200 200 505");
}

static void request_after_connection_close_is_not_served(void **state)
{
    expect_until_end(*state, "GET /plain HTTP/1.1\r\n" H "Connection: close\r\n\r\n" GET("/plain"), "200");
    expect_until_end(*state, "GET /plain HTTP/1.0\r\n\r\n" GET("/plain"), "200");
    expect_until_end(*state, GET("/error") GET("/plain"), "500");
}

static void http_1_0_supports_keep_alive(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    struct peer_response a = peer_request(&p, "GET /plain HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 1);
    assert_str(peer_response_field(&a, "Connection"), "keep-alive");
    a = peer_request(&p, "GET /plain HTTP/1.0\r\n\r\n", 2);
    assert_str(peer_response_field(&a, "Connection"), "close");
    rig_until(*state, (peer_read(&p), p.ended));
    peer_fini(&p);
}

/* The pipelined work of one connection must not block another one. */
static void pipelined_work_does_not_block_other_connections(void **state)
{
    struct rig *rig = *state;
    struct peer busy, other;
    struct buf stream;
    buf_init(&stream, 1 << 20);
    for (int i = 0; i < 100; i++)
        buf_append(&stream, STR(GET("/more?1"))); /* each takes 2 ms */
    peer_open(&busy, rig);
    peer_open(&other, rig);
    (void)peer_send(&busy, buf_str(&stream));
    rig_until(rig, rig->app.begun > 0);
    (void)peer_request(&other, GET("/plain"), 1);
    assert_true(peer_complete(&busy, NULL) < 50);
    rig_until(rig, peer_complete(&busy, NULL) == 100);
    peer_fini(&busy);
    peer_fini(&other);
    buf_fini(&stream);
}

/* ---- steps ---- */

static void yielding_steps_let_other_connections_run(void **state)
{
    struct rig *rig = *state;
    struct peer slow, quick;
    peer_open(&slow, rig);
    peer_open(&quick, rig);
    (void)peer_send_text(&slow, GET("/yield?100000"));
    rig_until(rig, rig->app.iterations > 10);
    (void)peer_request(&quick, GET("/plain"), 1);
    assert_int_equal(peer_complete(&slow, NULL), 0);
    rig_until(rig, peer_complete(&slow, NULL) == 1);
    peer_fini(&slow);
    peer_fini(&quick);
}

/* A request whose steps all return NEXT_MORE is suspended at the end of its time slice. */
static void long_chain_of_steps_is_made_to_yield(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/more?20"));
    rig_until(rig, rig->app.iterations > 0);
    assert_true(rig->app.iterations <= 8);
    rig_until(rig, peer_complete(&p, NULL) == 1);
    assert_int_equal(rig->app.iterations, 21);
    peer_fini(&p);
}

static void late_completion_resumes_the_request(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/late"));
    rig_until(rig, rig->app.begun == 1);
    rig_iterate_n(rig, 5);
    assert_int_equal(peer_complete(&p, NULL), 0);
    assert_int_equal(test_app_complete_late(&rig->app), 1);
    assert_int_equal(peer_complete(&p, NULL), 0); /* the request resumes after the callback has returned */
    rig_until(rig, peer_complete(&p, NULL) == 1);
    assert_int_equal(rig->app.canceled, 0);
    peer_fini(&p);
}

static void reset_connection_frees_its_request_immediately(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/late"));
    rig_until(rig, rig->app.begun == 1);
    peer_reset(&p);
    rig_until(rig, rig->app.freed == 1);
    assert_int_equal(rig->app.canceled, 1);
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
    assert_int_equal(test_app_complete_late(&rig->app), 1); /* the waiter was canceled */
    assert_int_equal(rig->app.finished, 0);
    peer_fini(&p);
}

static void survives_a_reset_at_any_point(void **state)
{
    static const char stream[] = "POST /echo HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\n0123456789";
    struct rig *rig = *state;
    for (size_t i = 0; i <= sizeof stream - 1; i++) {
        struct peer p;
        peer_open(&p, rig);
        (void)peer_send(&p, str_make(stream, i));
        rig_iterate_n(rig, (int)(i % 3));
        peer_reset(&p);
        rig_until(rig, http_server_get_counts(rig->server).connections == 0);
        peer_fini(&p);
    }
    assert_int_equal(http_server_get_counts(rig->server).requests_in_flight, 0);
}

/* ---- half-close ---- */

static void half_closed_client_gets_its_responses(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/plain") GET("/busy") GET("/plain"));
    peer_shut(&p);
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, "200 200 200");
    assert_false(p.reset);
    peer_fini(&p);
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/late"));
    rig_until(rig, rig->app.begun == 4);
    peer_shut(&p);
    rig_iterate_n(rig, 10);
    assert_int_equal(test_app_complete_late(&rig->app), 1);
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, "200");
    struct peer_response a;
    (void)peer_responses(&p, NULL, &a, 1);
    assert_str(peer_response_field(&a, "Connection"), "close");
    peer_fini(&p);
}

/* A long poll completes immediately if its client half-closes the connection. */
static void disconnect_wakes_a_sleeping_request(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/sleep?60000"));
    rig_until(rig, rig->app.begun == 1);
    peer_shut(&p);
    rig_until(rig, (peer_read(&p), p.ended));
    struct peer_response a;
    assert_int_equal(peer_responses(&p, NULL, &a, 1), 1);
    assert_str(a.body, "woken");
    peer_fini(&p);
}

static void incomplete_request_ends_when_its_client_disconnects(void **state)
{
    static const char *const streams[] = {"",
                                          "\r\n",
                                          "GET / HT",
                                          GET("/plain") "GET /",
                                          "POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\n1234",
                                          "POST /echo HTTP/1.1\r\n" H
                                          "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n"};
    struct rig *rig = *state;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct peer p;
        peer_open(&p, rig);
        (void)peer_send_text(&p, streams[i]);
        peer_shut(&p);
        rig_until(rig, (peer_read(&p), p.ended));
        peer_expect(&p, i == 3 ? "200" : "");
        peer_fini(&p);
    }
}

/* ---- expectations and rejected requests ---- */

static void sends_100_continue_when_expected(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.len) > 0);
    assert_memory_equal(p.in, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    assert_int_equal(p.len, 25);
    struct peer_response a = peer_request(&p, "body", 2);
    assert_str(a.body, "body");
    /* The server sends no 100 if the body has already arrived or the request is rejected. */
    a = peer_request(&p, "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 4\r\n\r\nbody",
                     3);
    assert_int_equal(a.status, 200);
    a = peer_request(&p, "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 99999\r\n\r\n",
                     4);
    assert_int_equal(a.status, 413);
    peer_fini(&p);
}

/* Sends a request whose body is too large, and continues to send while the server rejects it. The client must
 * receive the response, not a reset. */
static void expect_413_while_sending(struct rig *rig)
{
    static char megabyte[900 << 10];
    struct peer p;
    memset(megabyte, 'x', sizeof megabyte);
    peer_open(&p, rig);
    (void)peer_send_text(&p, "POST /echo HTTP/1.1\r\n" H "Content-Length: 1000000\r\n\r\n");
    (void)peer_send(&p, str_make(megabyte, sizeof megabyte));
    rig_until(rig, (peer_read(&p), p.ended));
    assert_false(p.reset);
    peer_expect(&p, "413");
    struct peer_response a;
    (void)peer_responses(&p, NULL, &a, 1);
    assert_str(peer_response_field(&a, "Connection"), "close");
    assert_true(http_server_get_counts(rig->server).connections ==
                1); /* the connection stays open until the client closes */
    peer_fini(&p);
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
}

static void client_that_keeps_sending_receives_the_error_response(void **state)
{
    expect_413_while_sending(*state);
}

/* The rejected request gets the pooled exchange of an earlier request, whose client had announced that it
 * would close. */
static void announced_close_does_not_affect_later_connections(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "GET /plain HTTP/1.0\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, "200");
    peer_fini(&p);
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
    expect_413_while_sending(rig);
}

/* The server stops discarding input after a limit. */
static void rejected_client_that_keeps_sending_is_disconnected_at_a_byte_limit(void **state)
{
    static char megabyte[1 << 20];
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "GET\r\n\r\n");
    for (int i = 0; i < 50 && !p.ended; i++)
        if (!peer_send(&p, str_make(megabyte, sizeof megabyte)))
            break;
    assert_true(p.ended);
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
    peer_fini(&p);
}

static void rejected_head_request_gets_no_body(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct peer_response a;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "HEAD /plain HTTP/1.1\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.ended));
    assert_int_equal(peer_responses(&p, "H", &a, 1), 1);
    assert_int_equal(a.status, 400);
    assert_int_equal(a.head.len, p.len);
    assert_int_equal(rig->app.last_status, 400); /* finish() is called for error responses too */
    assert_string_equal(rig->app.last_target, "/plain");
    peer_fini(&p);
}

#define CONN_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONN_TEST(serves_one_request),
        CONN_TEST(request_is_handled_only_after_its_body_is_complete),
        CONN_TEST(head_response_has_the_fields_of_get_and_no_body),
        CONN_TEST(matching_etag_results_in_304),
        CONN_TEST(response_204_has_no_body_and_no_length),
        CONN_TEST(sends_constant_and_large_bodies),
        CONN_TEST(request_id_is_reused_if_well_formed),
        CONN_TEST(pipelined_responses_are_in_order),
        CONN_TEST(serves_a_thousand_pipelined_requests),
        CONN_TEST(request_after_a_rejected_one_is_not_served),
        CONN_TEST(request_after_connection_close_is_not_served),
        CONN_TEST(http_1_0_supports_keep_alive),
        CONN_TEST(pipelined_work_does_not_block_other_connections),
        CONN_TEST(yielding_steps_let_other_connections_run),
        CONN_TEST(long_chain_of_steps_is_made_to_yield),
        CONN_TEST(late_completion_resumes_the_request),
        CONN_TEST(reset_connection_frees_its_request_immediately),
        CONN_TEST(survives_a_reset_at_any_point),
        CONN_TEST(half_closed_client_gets_its_responses),
        CONN_TEST(disconnect_wakes_a_sleeping_request),
        CONN_TEST(incomplete_request_ends_when_its_client_disconnects),
        CONN_TEST(sends_100_continue_when_expected),
        CONN_TEST(client_that_keeps_sending_receives_the_error_response),
        CONN_TEST(announced_close_does_not_affect_later_connections),
        CONN_TEST(rejected_client_that_keeps_sending_is_disconnected_at_a_byte_limit),
        CONN_TEST(rejected_head_request_gets_no_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
