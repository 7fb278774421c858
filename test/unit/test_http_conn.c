/* Connections over real loopback sockets: answers, order, persistence, steps, half-close, resets,
 * drain. Each test ends with a loop that has no handle left and with every request freed. */
#include "unit.h"

#include "lib/http_rig.h"

#include <stdio.h>
#include <stdlib.h>

#define H      "Host: a\r\n"
#define GET(x) "GET " x " HTTP/1.1\r\n" H "\r\n"

/* Sends all and waits until the server has closed. */
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

/* ---- answers ---- */

static void one_request(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    struct answer a = peer_ask(&p, GET("/plain"), 1);
    assert_int_equal(a.status, 200);
    assert_str(a.body, "hello");
    assert_str(answer_field(&a, "Content-Length"), "5");
    assert_int_equal(answer_field(&a, "Date").len, 29);
    assert_int_equal(answer_field(&a, "ETag").len, 34);
    assert_null(answer_field(&a, "Connection").p);
    assert_false(p.ended);
    a = peer_ask(&p, GET("/nothing"), 2); /* the same connection */
    assert_int_equal(a.status, 404);
    assert_null(answer_field(&a, "ETag").p);
    peer_fini(&p);
}

static void a_body_arrives_whole(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    (void)peer_send_text(&p, "POST /echo HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nsome ");
    rig_turns(*state, 20);
    assert_int_equal(peer_complete(&p, NULL), 0);
    struct answer a = peer_ask(&p, "more" GET("/plain"), 1);
    assert_str(a.body, "some more");
    peer_fini(&p);
}

static void head_has_the_same_fields_and_no_body(void **state)
{
    struct rig *rig = *state;
    struct peer p, q;
    struct answer head, get;
    peer_open(&p, rig);
    peer_open(&q, rig);
    get = peer_ask(&q, GET("/big?1000"), 1);
    (void)peer_send_text(&p, "HEAD /big?1000 HTTP/1.1\r\n" H "\r\n" GET("/plain"));
    rig_until(rig, peer_complete(&p, "H") == 2);
    assert_int_equal(peer_answers(&p, "H", &head, 1), 1);
    assert_str(answer_field(&head, "Content-Length"), "1000");
    struct str tag = answer_field(&head, "ETag"), same = answer_field(&get, "ETag");
    assert_true(tag.p && str_eq(tag, same));
    peer_fini(&p);
    peer_fini(&q);
}

static void if_none_match(void **state)
{
    struct peer p;
    char request[200];
    struct answer a;
    peer_open(&p, *state);
    a = peer_ask(&p, GET("/plain"), 1);
    struct str tag = answer_field(&a, "ETag");
    (void)snprintf(request, sizeof request,
                   "GET /plain HTTP/1.1\r\n" H "If-None-Match: \"x\", W/%.*s\r\n\r\n", (int)tag.len, tag.p);
    a = peer_ask(&p, request, 2);
    assert_int_equal(a.status, 304);
    assert_int_equal(answer_field(&a, "ETag").len, 34);
    assert_null(answer_field(&a, "Content-Length").p);
    assert_null(answer_field(&a, "Content-Type").p);
    a = peer_ask(&p, "POST /plain HTTP/1.1\r\n" H "If-None-Match: *\r\n\r\n", 3);
    assert_int_equal(a.status, 200); /* a condition of GET and HEAD only */
    a = peer_ask(&p, "GET /nothing HTTP/1.1\r\n" H "If-None-Match: *\r\n\r\n", 4);
    assert_int_equal(a.status, 404);
    a = peer_ask(&p, GET("/plain"), 5); /* nothing is left of the 304 */
    assert_str(a.body, "hello");
    peer_fini(&p);
}

static void an_answer_without_content(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    struct answer a = peer_ask(&p, GET("/empty") GET("/plain"), 2);
    assert_int_equal(a.status, 200);
    peer_expect(&p, "204 200");
    assert_int_equal(peer_answers(&p, NULL, &a, 1), 1);
    assert_null(answer_field(&a, "Content-Length").p);
    peer_fini(&p);
}

static void fixed_and_big_bodies(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    struct answer a = peer_ask(&p, GET("/fixed"), 1);
    assert_int_equal(a.body.len, PART_BYTES);
    assert_int_equal(a.body.p[PART_BYTES - 1], 'f');
    a = peer_ask(&p, GET("/big?5000000"), 2);
    assert_int_equal(a.body.len, 5000000);
    for (size_t i = 0; i < a.body.len; i++)
        if (a.body.p[i] != (char)('a' + i % 26))
            fail_msg("byte %zu is wrong", i);
    a = peer_ask(&p, GET("/big?9000000"), 3); /* above BODY_MAX_BYTES: the handler's buffer has failed */
    assert_int_equal(a.status, 500);
    peer_fini(&p);
}

static void request_ids(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    char first[160];
    peer_open(&p, rig);
    (void)peer_ask(&p, "GET /plain HTTP/1.1\r\n" H "X-Request-Id: my-id.1_A\r\n\r\n", 1);
    assert_string_equal(rig->app.last_id, "my-id.1_A");
    (void)peer_ask(&p, "GET /plain HTTP/1.1\r\n" H "X-Request-Id: no good\r\n\r\n", 2);
    assert_int_equal(strlen(rig->app.last_id), 16);
    memcpy(first, rig->app.last_id, sizeof first);
    (void)peer_ask(&p, "GET /plain HTTP/1.1\r\n" H "X-Request-Id: a\r\nX-Request-Id: b\r\n\r\n", 3);
    assert_int_equal(strlen(rig->app.last_id), 16);
    assert_string_not_equal(rig->app.last_id, first);
    /* A refusal has one too: the client's, when it came before what was wrong. */
    (void)peer_ask(&p, "GET /plain HTTP/1.1\r\nX-Request-Id: refused\r\n\r\n", 4);
    assert_string_equal(rig->app.last_id, "refused");
    assert_int_equal(rig->app.last_status, 400);
    peer_fini(&p);
}

/* ---- several requests ---- */

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct answer answers[4];
    peer_open(&p, rig);
    (void)peer_send_text(&p,
                         GET("/sleep?1") GET("/plain") "HEAD /plain HTTP/1.1\r\n" H "\r\n" GET("/nothing"));
    rig_until(rig, peer_complete(&p, "..H.") == 4);
    assert_int_equal(peer_answers(&p, "..H.", answers, 4), 4);
    assert_str(answers[0].body, "slept");
    assert_str(answers[1].body, "hello");
    assert_int_equal(answers[2].status, 200);
    assert_int_equal(answers[3].status, 404);
    peer_fini(&p);
}

static void a_thousand_pipelined_requests(void **state)
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
    rig_until(rig, rig->app.begun == N); /* a look at a thousand answers costs more than the answers */
    rig_until(rig, peer_complete(&p, NULL) == N);
    assert_int_equal(rig->app.begun, N);
    assert_false(p.ended);
    peer_fini(&p);
    buf_fini(&stream);
}

/* Fault 13 of the list: what is owed is sent, then the refusal, and nothing behind it. */
static void good_bad_good(void **state)
{
    expect_until_end(*state, GET("/plain") "GET /plain HTTP/1.1\r\nHost : a\r\n\r\n" GET("/plain"),
                     "200 400");
    expect_until_end(*state, GET("/busy") "GET\r\n\r\n", "200 400");
    expect_until_end(*state, GET("/stream?3") GET("/sleep?1") "GET / HTTP/3.0\r\n" GET("/"), "200 200 505");
}

static void nothing_is_served_behind_a_last_request(void **state)
{
    expect_until_end(*state, "GET /plain HTTP/1.1\r\n" H "Connection: close\r\n\r\n" GET("/plain"), "200");
    expect_until_end(*state, "GET /plain HTTP/1.0\r\n\r\n" GET("/plain"), "200");
    expect_until_end(*state, GET("/error") GET("/plain"), "500");
}

static void an_old_client_may_keep_the_connection(void **state)
{
    struct peer p;
    peer_open(&p, *state);
    struct answer a = peer_ask(&p, "GET /plain HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 1);
    assert_str(answer_field(&a, "Connection"), "keep-alive");
    a = peer_ask(&p, "GET /plain HTTP/1.0\r\n\r\n", 2);
    assert_str(answer_field(&a, "Connection"), "close");
    rig_until(*state, (peer_read(&p), p.ended));
    peer_fini(&p);
}

/* One connection's pipelined work must not hold up another's. */
static void pipelined_work_takes_turns(void **state)
{
    struct rig *rig = *state;
    struct peer busy, other;
    struct buf stream;
    buf_init(&stream, 1 << 20);
    for (int i = 0; i < 100; i++)
        buf_append(&stream, STR(GET("/more?1"))); /* 2 ms each */
    peer_open(&busy, rig);
    peer_open(&other, rig);
    (void)peer_send(&busy, buf_str(&stream));
    rig_until(rig, rig->app.begun > 0);
    (void)peer_ask(&other, GET("/plain"), 1);
    assert_true(peer_complete(&busy, NULL) < 50);
    rig_until(rig, peer_complete(&busy, NULL) == 100);
    peer_fini(&busy);
    peer_fini(&other);
    buf_fini(&stream);
}

/* ---- steps ---- */

static void steps_that_yield_let_others_in_between(void **state)
{
    struct rig *rig = *state;
    struct peer slow, quick;
    peer_open(&slow, rig);
    peer_open(&quick, rig);
    (void)peer_send_text(&slow, GET("/yield?100000"));
    rig_until(rig, rig->app.turns > 10);
    (void)peer_ask(&quick, GET("/plain"), 1);
    assert_int_equal(peer_complete(&slow, NULL), 0);
    rig_until(rig, peer_complete(&slow, NULL) == 1);
    peer_fini(&slow);
    peer_fini(&quick);
}

/* A chain of NEXT_MORE is made to yield when its slice is over. */
static void steps_that_do_not_yield_are_made_to(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/more?20"));
    rig_until(rig, rig->app.turns > 0);
    assert_true(rig->app.turns <= 8);
    rig_until(rig, peer_complete(&p, NULL) == 1);
    assert_int_equal(rig->app.turns, 21);
    peer_fini(&p);
}

static void a_late_answer_goes_on(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/late"));
    rig_until(rig, rig->app.begun == 1);
    rig_turns(rig, 5);
    assert_int_equal(peer_complete(&p, NULL), 0);
    assert_int_equal(test_app_answer_late(&rig->app), 1);
    assert_int_equal(peer_complete(&p, NULL), 0); /* not inside the driver's callback */
    rig_until(rig, peer_complete(&p, NULL) == 1);
    assert_int_equal(rig->app.cancelled, 0);
    peer_fini(&p);
}

static void a_reset_client_frees_its_request_at_once(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/late"));
    rig_until(rig, rig->app.begun == 1);
    peer_reset(&p);
    rig_until(rig, rig->app.freed == 1);
    assert_int_equal(rig->app.cancelled, 1);
    rig_until(rig, http_server_counts(rig->server).connections == 0);
    assert_int_equal(test_app_answer_late(&rig->app), 1); /* the driver's answer finds nobody */
    assert_int_equal(rig->app.finished, 0);
    peer_fini(&p);
}

static void resets_anywhere(void **state)
{
    static const char stream[] = "POST /echo HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\n0123456789";
    struct rig *rig = *state;
    for (size_t i = 0; i <= sizeof stream - 1; i++) {
        struct peer p;
        peer_open(&p, rig);
        (void)peer_send(&p, str_make(stream, i));
        rig_turns(rig, (int)(i % 3));
        peer_reset(&p);
        rig_until(rig, http_server_counts(rig->server).connections == 0);
        peer_fini(&p);
    }
    assert_int_equal(http_server_counts(rig->server).requests_in_flight, 0);
}

/* ---- half-close ---- */

static void a_half_closed_client_gets_its_answers(void **state)
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
    rig_turns(rig, 10);
    assert_int_equal(test_app_answer_late(&rig->app), 1);
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, "200");
    struct answer a;
    (void)peer_answers(&p, NULL, &a, 1);
    assert_str(answer_field(&a, "Connection"), "close");
    peer_fini(&p);
}

/* A long poll whose client has ended is asked for its answer at once: there may be nobody left. */
static void the_end_of_the_client_wakes_a_sleeper(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/sleep?60000"));
    rig_until(rig, rig->app.begun == 1);
    peer_shut(&p);
    rig_until(rig, (peer_read(&p), p.ended));
    struct answer a;
    assert_int_equal(peer_answers(&p, NULL, &a, 1), 1);
    assert_str(a.body, "woken");
    peer_fini(&p);
}

static void an_unfinished_request_ends_with_its_client(void **state)
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

/* ---- expectations and refusals ---- */

static void the_body_is_asked_for(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.len) > 0);
    assert_memory_equal(p.in, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    assert_int_equal(p.len, 25);
    struct answer a = peer_ask(&p, "body", 2);
    assert_str(a.body, "body");
    /* Not when the body is already there, nor to a request that is refused. */
    a = peer_ask(&p, "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 4\r\n\r\nbody", 3);
    assert_int_equal(a.status, 200);
    a = peer_ask(&p, "POST /echo HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 99999\r\n\r\n", 4);
    assert_int_equal(a.status, 413);
    peer_fini(&p);
}

/* The client goes on sending while it is refused: it sees the answer, not a reset. */
static void a_refusal_outlives_what_is_still_sent(void **state)
{
    static char megabyte[900 << 10];
    struct rig *rig = *state;
    struct peer p;
    memset(megabyte, 'x', sizeof megabyte);
    peer_open(&p, rig);
    (void)peer_send_text(&p, "POST /echo HTTP/1.1\r\n" H "Content-Length: 1000000\r\n\r\n");
    (void)peer_send(&p, str_make(megabyte, sizeof megabyte));
    rig_until(rig, (peer_read(&p), p.ended));
    assert_false(p.reset);
    peer_expect(&p, "413");
    struct answer a;
    (void)peer_answers(&p, NULL, &a, 1);
    assert_str(answer_field(&a, "Connection"), "close");
    assert_true(http_server_counts(rig->server).connections == 1); /* till the client closes too */
    peer_fini(&p);
    rig_until(rig, http_server_counts(rig->server).connections == 0);
}

/* But not for ever. */
static void lingering_has_a_limit_in_bytes(void **state)
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
    rig_until(rig, http_server_counts(rig->server).connections == 0);
    peer_fini(&p);
}

static void a_refused_head_request_gets_no_body(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct answer a;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "HEAD /plain HTTP/1.1\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.ended));
    assert_int_equal(peer_answers(&p, "H", &a, 1), 1);
    assert_int_equal(a.status, 400);
    assert_int_equal(a.head.len, p.len);
    assert_int_equal(rig->app.last_status, 400); /* finish() is called for refusals too */
    assert_string_equal(rig->app.last_target, "/plain");
    peer_fini(&p);
}

#define CONN_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONN_TEST(one_request),
        CONN_TEST(a_body_arrives_whole),
        CONN_TEST(head_has_the_same_fields_and_no_body),
        CONN_TEST(if_none_match),
        CONN_TEST(an_answer_without_content),
        CONN_TEST(fixed_and_big_bodies),
        CONN_TEST(request_ids),
        CONN_TEST(pipelined_requests_are_answered_in_order),
        CONN_TEST(a_thousand_pipelined_requests),
        CONN_TEST(good_bad_good),
        CONN_TEST(nothing_is_served_behind_a_last_request),
        CONN_TEST(an_old_client_may_keep_the_connection),
        CONN_TEST(pipelined_work_takes_turns),
        CONN_TEST(steps_that_yield_let_others_in_between),
        CONN_TEST(steps_that_do_not_yield_are_made_to),
        CONN_TEST(a_late_answer_goes_on),
        CONN_TEST(a_reset_client_frees_its_request_at_once),
        CONN_TEST(resets_anywhere),
        CONN_TEST(a_half_closed_client_gets_its_answers),
        CONN_TEST(the_end_of_the_client_wakes_a_sleeper),
        CONN_TEST(an_unfinished_request_ends_with_its_client),
        CONN_TEST(the_body_is_asked_for),
        CONN_TEST(a_refusal_outlives_what_is_still_sent),
        CONN_TEST(lingering_has_a_limit_in_bytes),
        CONN_TEST(a_refused_head_request_gets_no_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
