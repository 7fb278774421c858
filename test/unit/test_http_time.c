/* What takes time: answers in parts, back-pressure, deadlines, the cap, the end of the server. Each test ends
 * with a loop that has no handle left and with every request freed. */
#include "unit.h"

#include "lib/http_rig.h"

#define H      "Host: a\r\n"
#define GET(x) "GET " x " HTTP/1.1\r\n" H "\r\n"

/* ---- streaming and back-pressure ---- */

static void an_answer_in_parts(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    struct answer a = peer_ask(&p, GET("/stream?40") GET("/plain"), 2);
    assert_str(a.body, "hello");
    (void)peer_answers(&p, NULL, &a, 1);
    assert_true(a.chunked && a.complete);
    assert_null(answer_field(&a, "Content-Length").p);
    assert_int_equal(answer_chunk_bytes(&a), 40 * PART_BYTES);
    peer_fini(&p);
}

static void an_answer_in_parts_to_an_old_client(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct answer a;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "GET /stream?40 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.ended));
    assert_int_equal(peer_answers(&p, NULL, &a, 1), 1);
    assert_null(answer_field(&a, "Transfer-Encoding").p);
    assert_str(answer_field(&a, "Connection"), "close");
    assert_int_equal(a.body.len, 40 * PART_BYTES);
    assert_false(p.reset);
    peer_fini(&p);
}

static void the_head_of_an_answer_in_parts(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct answer a;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "HEAD /stream?40 HTTP/1.1\r\n" H "\r\n" GET("/plain"));
    rig_until(rig, peer_complete(&p, "H") == 2);
    (void)peer_answers(&p, "H", &a, 1);
    assert_str(answer_field(&a, "Transfer-Encoding"), "chunked");
    peer_fini(&p);
}

static void an_answer_broken_off(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct answer a;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/abort?2"));
    rig_until(rig, (peer_read(&p), p.ended));
    assert_int_equal(peer_answers(&p, NULL, &a, 1), 1);
    assert_false(a.complete); /* no last chunk */
    peer_fini(&p);
    /* An old client has no other way to see that something is missing. */
    peer_open(&p, rig);
    (void)peer_send_text(&p, "GET /abort?2 HTTP/1.0\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.ended));
    assert_true(p.reset);
    peer_fini(&p);
    /* Before anything was sent it is an ordinary error. */
    peer_open(&p, rig);
    a = peer_ask(&p, GET("/abort?0"), 1);
    assert_int_equal(a.status, 500);
    peer_fini(&p);
}

/* A client that does not read stops the handler, and later gets all. */
static void back_pressure(void **state)
{
    enum { PARTS = 200 };
    struct rig *rig = *state;
    struct peer p;
    peer_open_narrow(&p, rig);
    (void)peer_send_text(&p, GET("/stream?200"));
    rig_until(rig, !list_is_empty(&rig->server->conns[CONN_WRITING]));
    rig_turns(rig, 50);
    struct conn *c = LIST_ENTRY(rig->server->conns[CONN_WRITING].next, struct conn, link);
    assert_true(uv_stream_get_write_queue_size(&c->stream) < 2 * PART_BYTES);
    assert_true(c->x->r.res.bytes_sent < (size_t)PARTS * PART_BYTES);
    rig_until(rig, peer_complete(&p, NULL) == 1);
    struct answer a;
    (void)peer_answers(&p, NULL, &a, 1);
    assert_int_equal(answer_chunk_bytes(&a), (size_t)PARTS * PART_BYTES);
    peer_fini(&p);
}

/* Requests of a client that does not read are not read either. */
static void unread_answers_stop_the_reading(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct buf stream;
    size_t sent = 0;
    buf_init(&stream, 32 << 20);
    for (int i = 0; i < 100000; i++)
        buf_append(&stream, STR(GET("/big?100000")));
    peer_open_narrow(&p, rig);
    for (int idle = 0; idle < 100;) {
        size_t n = peer_send_some(&p, str_make(stream.p + sent, stream.len - sent));
        sent += n;
        idle = n ? 0 : idle + 1;
        rig_turn(rig);
    }
    assert_true(rig->app.begun < 200);
    struct conn *c = LIST_ENTRY(rig->server->conns[CONN_WRITING].next, struct conn, link);
    assert_false(c->reading);
    assert_true(c->in.len <= READ_BYTES);
    peer_reset(&p);
    rig_close(rig);
    http_server_close(rig->server, NULL, NULL);
    rig_until(rig, rig->closed);
    peer_fini(&p);
    buf_fini(&stream);
}

static void a_reset_in_the_middle_of_an_answer(void **state)
{
    static const char *const targets[] = {GET("/big?8000000"), GET("/stream?100"),
                                          GET("/big?8000000") GET("/plain")};
    struct rig *rig = *state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct peer p;
        peer_open_narrow(&p, rig);
        (void)peer_send_text(&p, targets[i]);
        rig_until(rig, !list_is_empty(&rig->server->conns[CONN_WRITING]));
        peer_reset(&p);
        rig_until(rig, http_server_counts(rig->server).connections == 0);
        peer_fini(&p);
    }
}

/* ---- deadlines ---- */

static void expect_end_after(struct rig *rig, const char *stream, int64_t ms, const char *want)
{
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, stream);
    rig_turns(rig, 20);
    rig_advance(rig, ms - 1);
    rig_tick(rig);
    peer_read(&p);
    assert_false(p.ended);
    rig_advance(rig, 1);
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, want);
    peer_fini(&p);
    rig_until(rig, http_server_counts(rig->server).connections == 0);
}

static void deadlines(void **state)
{
    struct rig *rig = *state;
    expect_end_after(rig, "", 30000, "");
    expect_end_after(rig, "GET /plain HTTP/1.1\r\nHost: a\r\nX:", 30000, "408");
    expect_end_after(rig, "\r\n", 30000, "");
    expect_end_after(rig, "POST /echo HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\n12345", 20000, "408");
    expect_end_after(rig, GET("/plain"), 75000, "200");
    expect_end_after(rig, GET("/plain") "GET", 30000, "200 408");
    expect_end_after(rig, GET("/late"), 90000, "503");
    assert_int_equal(rig->app.cancelled, 1);
    assert_int_equal(test_app_answer_late(&rig->app), 1);
}

/* A client that leaves its side open after a refusal. */
static void lingering_ends_after_two_seconds(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "GET\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, "400");
    rig_advance(rig, 1999);
    rig_tick(rig);
    assert_true(http_server_counts(rig->server).connections == 1);
    rig_advance(rig, 1);
    rig_until(rig, http_server_counts(rig->server).connections == 0);
    peer_fini(&p);
}

/* Every byte is in time, the whole is not. */
static void dripping_does_not_help(void **state)
{
    static const char *const heads[] = {"GET /plain HTTP/1.1\r\nX: ",
                                        "POST /echo HTTP/1.1\r\n" H "Content-Length: 1000\r\n\r\n"};
    struct rig *rig = *state;
    for (int i = 0; i < 2; i++) {
        struct peer p;
        int seconds = 0;
        peer_open(&p, rig);
        (void)peer_send_text(&p, heads[i]);
        rig_turns(rig, 10);
        for (; seconds < 60 && peer_complete(&p, NULL) == 0; seconds++) {
            (void)peer_send_text(&p, "x");
            rig_advance(rig, 1000);
            rig_turns(rig, 3);
            if (seconds % 4 == 3)
                rig_tick(rig);
        }
        assert_in_range(seconds, i ? 19 : 29, i ? 24 : 34);
        peer_expect(&p, "408");
        peer_fini(&p);
    }
}

static void sleeping(void **state)
{
    struct rig *rig = *state;
    struct peer p, q;
    struct answer a;
    peer_open(&p, rig);
    peer_open(&q, rig);
    (void)peer_send_text(&p, GET("/sleep?50000"));
    (void)peer_send_text(&q, GET("/sleep?40000"));
    rig_until(rig, rig->app.begun == 2);
    rig_advance(rig, 40000);
    rig_until(rig, peer_complete(&q, NULL) == 1);
    assert_int_equal(peer_complete(&p, NULL), 0);
    rig_advance(rig, 10000);
    rig_until(rig, peer_complete(&p, NULL) == 1);
    (void)peer_answers(&p, NULL, &a, 1);
    assert_str(a.body, "slept");
    peer_fini(&p);
    peer_fini(&q);
}

static void a_client_that_never_reads_is_closed(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open_narrow(&p, rig);
    (void)peer_send_text(&p, GET("/big?8000000"));
    rig_until(rig, !list_is_empty(&rig->server->conns[CONN_WRITING]));
    rig_turns(rig, 50);
    rig_advance(rig, 60000);
    rig_until(rig, http_server_counts(rig->server).connections == 0);
    peer_fini(&p);
}

/* Slow is not stuck: whoever takes something in each write_timeout_ms gets all of it. */
static void a_client_that_reads_slowly_is_not(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open_narrow(&p, rig);
    (void)peer_send_text(&p, GET("/big?8000000"));
    struct list *writing = &rig->server->conns[CONN_WRITING];
    rig_until(rig, !list_is_empty(writing));
    struct conn *c = LIST_ENTRY(writing->next, struct conn, link);
    int times = 0;
    for (; !list_is_empty(writing); times++) {
        rig_until(rig, (peer_read_some(&p, 64 << 10), list_is_empty(writing)) ||
                           uv_stream_get_write_queue_size(&c->stream) < c->queue_seen);
        rig_advance(rig, 59999);
        rig_until(rig, list_is_empty(writing) || c->deadline_ms > rig->clock[1]);
        assert_int_equal(http_server_counts(rig->server).connections, 1);
    }
    assert_true(times > 2);
    rig_until(rig, peer_complete(&p, NULL) == 1);
    peer_fini(&p);
}

/* ---- how many ---- */

static void above_the_cap_they_wait(void **state)
{
    enum { CAP = 100, MORE = 20 };
    struct rig *rig = *state;
    struct peer peers[CAP + MORE];
    for (int i = 0; i < CAP + MORE; i++)
        peer_open(&peers[i], rig);
    rig_until(rig, http_server_counts(rig->server).connections == CAP);
    rig_turns(rig, 50);
    assert_int_equal(http_server_counts(rig->server).connections, CAP);
    (void)peer_ask(&peers[0], GET("/plain"), 1); /* who is in is served */
    (void)peer_send_text(&peers[CAP], GET("/plain"));
    rig_turns(rig, 20);
    assert_int_equal(peer_complete(&peers[CAP], NULL), 0);
    for (int i = 0; i < MORE; i++)
        peer_fini(&peers[i]);
    rig_until(rig, peer_complete(&peers[CAP], NULL) == 1);
    for (int i = MORE; i < CAP + MORE; i++) {
        if (i != CAP)
            (void)peer_ask(&peers[i], GET("/plain"), 1);
        peer_fini(&peers[i]);
    }
    rig_until(rig, http_server_counts(rig->server).connections == 0);
    assert_int_equal(http_server_counts(rig->server).accepted, CAP + MORE);
}

/* ---- the end ---- */

static void drain_lets_requests_finish(void **state)
{
    struct rig *rig = *state;
    enum { QUEUED = 5 };
    struct peer idle, fresh, late, unread, queued[QUEUED];
    struct answer a;
    peer_open(&idle, rig);
    (void)peer_ask(&idle, GET("/plain"), 1);
    peer_open(&fresh, rig);
    peer_open(&late, rig);
    (void)peer_send_text(&late, GET("/late"));
    rig_until(rig, rig->app.begun == 2);
    /* Sent before anybody could know, and not read yet; not even accepted yet. */
    peer_open(&unread, rig);
    rig_until(rig, http_server_counts(rig->server).connections == 4);
    (void)peer_send_some(&unread, STR(GET("/plain")));
    for (int i = 0; i < QUEUED; i++) {
        peer_open(&queued[i], rig);
        (void)peer_send_some(&queued[i], STR(GET("/plain")));
    }
    rig_close(rig);
    rig_until(rig, (peer_read(&idle), idle.ended) && (peer_read(&fresh), fresh.ended));
    assert_false(idle.reset || fresh.reset);
    rig_until(rig, peer_complete(&unread, NULL) == 1);
    for (int i = 0; i < QUEUED; i++) {
        rig_until(rig, peer_complete(&queued[i], NULL) == 1);
        peer_fini(&queued[i]);
    }
    assert_false(rig->closed);
    assert_int_equal(test_app_answer_late(&rig->app), 1);
    rig_until(rig, (peer_read(&late), late.ended));
    assert_int_equal(peer_answers(&late, NULL, &a, 1), 1);
    assert_str(answer_field(&a, "Connection"), "close");
    peer_fini(&idle);
    peer_fini(&fresh);
    peer_fini(&late);
    peer_fini(&unread);
    rig_until(rig, rig->closed);
}

static void drain_ends_after_its_time(void **state)
{
    struct rig *rig = *state;
    struct peer late, half;
    peer_open(&late, rig);
    peer_open(&half, rig);
    (void)peer_send_text(&late, GET("/late"));
    (void)peer_send_text(&half, "GET /plain HT");
    rig_until(rig, rig->app.begun == 1);
    rig_turns(rig, 10);
    rig_close(rig);
    rig_advance(rig, 200); /* listeners have closed */
    rig_turns(rig, 10);
    rig_advance(rig, 4799);
    rig_turns(rig, 50);
    assert_false(rig->closed);
    rig_advance(rig, 1);
    rig_until(rig, rig->closed);
    assert_int_equal(rig->app.cancelled, 1);
    peer_fini(&late);
    peer_fini(&half);
}

static void a_second_close_forces(void **state)
{
    struct rig *rig = *state;
    struct peer late, stream, slow;
    peer_open(&late, rig);
    peer_open_narrow(&stream, rig);
    peer_open(&slow, rig);
    (void)peer_send_text(&late, GET("/late"));
    (void)peer_send_text(&stream, GET("/stream?1000"));
    (void)peer_send_text(&slow, GET("/sleep?100000"));
    rig_until(rig, rig->app.begun == 3 && !list_is_empty(&rig->server->conns[CONN_WRITING]));
    rig_close(rig);
    rig_turns(rig, 20);
    assert_false(rig->closed);
    http_server_close(rig->server, NULL, NULL);
    rig_until(rig, rig->closed);
    assert_int_equal(rig->app.freed, 3);
    peer_fini(&late);
    peer_fini(&stream);
    peer_fini(&slow);
}

#define CONN_TEST(name)  cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define CLOCK_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup_with_clock, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONN_TEST(an_answer_in_parts),
        CONN_TEST(an_answer_in_parts_to_an_old_client),
        CONN_TEST(the_head_of_an_answer_in_parts),
        CONN_TEST(an_answer_broken_off),
        CONN_TEST(back_pressure),
        CONN_TEST(unread_answers_stop_the_reading),
        CONN_TEST(a_reset_in_the_middle_of_an_answer),
        CLOCK_TEST(deadlines),
        CLOCK_TEST(lingering_ends_after_two_seconds),
        CLOCK_TEST(dripping_does_not_help),
        CLOCK_TEST(sleeping),
        CLOCK_TEST(a_client_that_never_reads_is_closed),
        CLOCK_TEST(a_client_that_reads_slowly_is_not),
        CONN_TEST(above_the_cap_they_wait),
        CONN_TEST(drain_lets_requests_finish),
        CLOCK_TEST(drain_ends_after_its_time),
        CONN_TEST(a_second_close_forces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
