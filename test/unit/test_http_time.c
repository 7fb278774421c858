/* Tests streaming, back-pressure, deadlines, max_connections and draining. Each test ends by checking that
 * the loop has no handles and that every request was freed. */
#include "unit.h"

#include "lib/http_rig.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define H      "Host: a\r\n"
#define GET(x) "GET " x " HTTP/1.1\r\n" H "\r\n"

/* ---- streaming and back-pressure ---- */

static void streams_a_response_in_chunks(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    struct peer_response a = peer_request(&p, GET("/stream?40") GET("/plain"), 2);
    assert_str(a.body, "hello");
    (void)peer_responses(&p, NULL, &a, 1);
    assert_true(a.chunked && a.complete);
    assert_null(peer_response_field(&a, "Content-Length").p);
    assert_int_equal(peer_chunk_bytes(&a), 40 * PART_BYTES);
    peer_fini(&p);
}

static void end_of_the_connection_ends_a_response_streamed_to_http_1_0(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct peer_response a;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "GET /stream?40 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.ended));
    assert_int_equal(peer_responses(&p, NULL, &a, 1), 1);
    assert_null(peer_response_field(&a, "Transfer-Encoding").p);
    assert_str(peer_response_field(&a, "Connection"), "close");
    assert_int_equal(a.body.len, 40 * PART_BYTES);
    assert_false(p.reset);
    peer_fini(&p);
}

static void head_of_a_streamed_response_has_no_body(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct peer_response a;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "HEAD /stream?40 HTTP/1.1\r\n" H "\r\n" GET("/plain"));
    rig_until(rig, peer_complete(&p, "H") == 2);
    (void)peer_responses(&p, "H", &a, 1);
    assert_str(peer_response_field(&a, "Transfer-Encoding"), "chunked");
    peer_fini(&p);
}

static void client_can_detect_an_aborted_stream(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct peer_response a;
    peer_open(&p, rig);
    (void)peer_send_text(&p, GET("/abort?2"));
    rig_until(rig, (peer_read(&p), p.ended));
    assert_int_equal(peer_responses(&p, NULL, &a, 1), 1);
    assert_false(a.complete); /* the last chunk is missing */
    peer_fini(&p);
    /* For an HTTP/1.0 client a reset is the only sign of a truncated response. */
    peer_open(&p, rig);
    (void)peer_send_text(&p, "GET /abort?2 HTTP/1.0\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.ended));
    assert_true(p.reset);
    peer_fini(&p);
    /* If nothing has been sent, an aborted stream becomes an ordinary error response. */
    peer_open(&p, rig);
    a = peer_request(&p, GET("/abort?0"), 1);
    assert_int_equal(a.status, 500);
    peer_fini(&p);
}

static void expire_write(struct rig *rig)
{
    rig_iterate_n(rig, 50);
    rig_advance(rig, 60000);
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
}

static void run_out_of_memory(struct rig *rig)
{
    LIST_ENTRY(rig->server->conns[CONN_WRITING].next, struct conn, link)->x->r.arena.lacks_memory = true;
}

static void stop_immediately(struct rig *rig)
{
    rig_close(rig);
    http_server_close(rig->server, NULL, NULL);
}

/* An HTTP/1.0 client would otherwise take the truncated response for a complete one. */
static void stream_to_http_1_0_that_the_server_cuts_off_ends_with_a_reset(void **state)
{
    static void (*const cut_off[])(struct rig *) = {expire_write, run_out_of_memory, stop_immediately};
    struct rig *rig = *state;
    for (size_t i = 0; i < sizeof cut_off / sizeof *cut_off; i++) {
        struct peer p;
        peer_open_narrow(&p, rig);
        (void)peer_send_text(&p, "GET /stream?200 HTTP/1.0\r\n\r\n");
        rig_until(rig, !list_is_empty(&rig->server->conns[CONN_WRITING]));
        cut_off[i](rig);
        rig_until(rig, (peer_read(&p), p.ended));
        assert_true(p.reset);
        peer_fini(&p);
    }
    rig_until(rig, rig->closed);
}

/* While the client does not read, the handler is not called. When the client reads again, it receives the
 * whole response. */
static void handler_pauses_while_its_client_does_not_read(void **state)
{
    enum { PARTS = 200 };
    struct rig *rig = *state;
    struct peer p;
    peer_open_narrow(&p, rig);
    (void)peer_send_text(&p, GET("/stream?200"));
    rig_until(rig, !list_is_empty(&rig->server->conns[CONN_WRITING]));
    rig_iterate_n(rig, 50);
    struct conn *c = LIST_ENTRY(rig->server->conns[CONN_WRITING].next, struct conn, link);
    assert_true(uv_stream_get_write_queue_size(&c->stream) < 2 * PART_BYTES);
    assert_true(c->x->r.res.bytes_sent < (size_t)PARTS * PART_BYTES);
    rig_until(rig, peer_complete(&p, NULL) == 1);
    struct peer_response a;
    (void)peer_responses(&p, NULL, &a, 1);
    assert_int_equal(peer_chunk_bytes(&a), (size_t)PARTS * PART_BYTES);
    peer_fini(&p);
}

/* The server stops reading requests of a client that does not read its responses. */
static void server_stops_reading_requests_while_responses_are_unread(void **state)
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
        rig_iterate(rig);
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

static void survives_a_reset_within_a_response(void **state)
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
        rig_until(rig, http_server_get_counts(rig->server).connections == 0);
        peer_fini(&p);
    }
}

/* ---- deadlines ---- */

static void expect_end_after(struct rig *rig, const char *stream, int64_t ms, const char *want)
{
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, stream);
    rig_iterate_n(rig, 20);
    rig_advance(rig, ms - 1);
    rig_tick(rig);
    peer_read(&p);
    assert_false(p.ended);
    rig_advance(rig, 1);
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, want);
    peer_fini(&p);
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
}

static void each_state_of_a_connection_has_its_deadline(void **state)
{
    struct rig *rig = *state;
    expect_end_after(rig, "", 30000, "");
    expect_end_after(rig, "GET /plain HTTP/1.1\r\nHost: a\r\nX:", 30000, "408");
    expect_end_after(rig, "\r\n", 30000, "");
    expect_end_after(rig, "POST /echo HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\n12345", 20000, "408");
    expect_end_after(rig, GET("/plain"), 75000, "200");
    expect_end_after(rig, GET("/plain") "GET", 30000, "200 408");
    expect_end_after(rig, GET("/late"), 90000, "503");
    assert_int_equal(rig->app.canceled, 1);
    assert_int_equal(test_app_complete_late(&rig->app), 1);
}

/* The client does not close its end of the connection after an error response. */
static void rejected_client_that_does_not_close_is_disconnected_after_two_seconds(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_text(&p, "GET\r\n\r\n");
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, "400");
    rig_advance(rig, 1999);
    rig_tick(rig);
    assert_true(http_server_get_counts(rig->server).connections == 1);
    rig_advance(rig, 1);
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
    peer_fini(&p);
}

/* Bytes arrive steadily, but the request does not complete before its deadline. */
static void slow_request_times_out_although_bytes_arrive(void **state)
{
    static const char *const heads[] = {"GET /plain HTTP/1.1\r\nX: ",
                                        "POST /echo HTTP/1.1\r\n" H "Content-Length: 1000\r\n\r\n"};
    struct rig *rig = *state;
    for (int i = 0; i < 2; i++) {
        struct peer p;
        int seconds = 0;
        peer_open(&p, rig);
        (void)peer_send_text(&p, heads[i]);
        rig_iterate_n(rig, 10);
        for (; seconds < 60 && peer_complete(&p, NULL) == 0; seconds++) {
            (void)peer_send_text(&p, "x");
            rig_advance(rig, 1000);
            rig_iterate_n(rig, 3);
            if (seconds % 4 == 3)
                rig_tick(rig);
        }
        assert_in_range(seconds, i ? 19 : 29, i ? 24 : 34);
        peer_expect(&p, "408");
        peer_fini(&p);
    }
}

static void sleeping_request_wakes_at_its_deadline(void **state)
{
    struct rig *rig = *state;
    struct peer p, q;
    struct peer_response a;
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
    (void)peer_responses(&p, NULL, &a, 1);
    assert_str(a.body, "slept");
    peer_fini(&p);
    peer_fini(&q);
}

static void client_that_never_reads_is_disconnected(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open_narrow(&p, rig);
    (void)peer_send_text(&p, GET("/big?8000000"));
    rig_until(rig, !list_is_empty(&rig->server->conns[CONN_WRITING]));
    rig_iterate_n(rig, 50);
    rig_advance(rig, 60000);
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
    peer_fini(&p);
}

/* A client that reads at least once per write_timeout_ms receives the whole response. */
static void client_that_reads_slowly_is_not_disconnected(void **state)
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
        assert_int_equal(http_server_get_counts(rig->server).connections, 1);
    }
    assert_true(times > 2);
    rig_until(rig, peer_complete(&p, NULL) == 1);
    peer_fini(&p);
}

/* ---- max_connections ---- */

static void clients_above_max_connections_wait(void **state)
{
    enum { CAP = 100, MORE = 20 };
    struct rig *rig = *state;
    struct peer peers[CAP + MORE];
    for (int i = 0; i < CAP + MORE; i++)
        peer_open(&peers[i], rig);
    rig_until(rig, http_server_get_counts(rig->server).connections == CAP);
    rig_iterate_n(rig, 50);
    assert_int_equal(http_server_get_counts(rig->server).connections, CAP);
    (void)peer_request(&peers[0], GET("/plain"), 1); /* the clients that are already connected are served */
    (void)peer_send_text(&peers[CAP], GET("/plain"));
    rig_iterate_n(rig, 20);
    assert_int_equal(peer_complete(&peers[CAP], NULL), 0);
    for (int i = 0; i < MORE; i++)
        peer_fini(&peers[i]);
    rig_until(rig, peer_complete(&peers[CAP], NULL) == 1);
    for (int i = MORE; i < CAP + MORE; i++) {
        if (i != CAP)
            (void)peer_request(&peers[i], GET("/plain"), 1);
        peer_fini(&peers[i]);
    }
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
    assert_int_equal(http_server_get_counts(rig->server).accepted, CAP + MORE);
}

/* ---- draining ---- */

static void drain_lets_requests_complete(void **state)
{
    struct rig *rig = *state;
    enum { QUEUED = 5 };
    struct peer idle, fresh, late, unread, queued[QUEUED];
    struct peer_response a;
    peer_open(&idle, rig);
    (void)peer_request(&idle, GET("/plain"), 1);
    peer_open(&fresh, rig);
    peer_open(&late, rig);
    (void)peer_send_text(&late, GET("/late"));
    rig_until(rig, rig->app.begun == 2);
    /* One client is connected, but the server has not read its request yet. The clients in `queued` have not
     * been accepted yet. */
    peer_open(&unread, rig);
    rig_until(rig, http_server_get_counts(rig->server).connections == 4);
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
    assert_int_equal(test_app_complete_late(&rig->app), 1);
    rig_until(rig, (peer_read(&late), late.ended));
    assert_int_equal(peer_responses(&late, NULL, &a, 1), 1);
    assert_str(peer_response_field(&a, "Connection"), "close");
    peer_fini(&idle);
    peer_fini(&fresh);
    peer_fini(&late);
    peer_fini(&unread);
    rig_until(rig, rig->closed);
}

static void drain_leaves_idle_connections_open_for_one_more_request(void **state)
{
    struct rig *rig = *state;
    struct peer idle[2], late;
    struct peer_response a;
    for (int i = 0; i < 2; i++) {
        peer_open(&idle[i], rig);
        (void)peer_request(&idle[i], GET("/plain"), 1);
    }
    http_server_drain(rig->server, rig_on_closed, rig);
    for (int i = 0; i < 2; i++) {
        rig_iterate_n(rig, 20);
        assert_false((peer_read(&idle[i]), idle[i].ended));
        peer_open(&late, rig); /* still accepted */
        a = peer_request(&late, GET("/plain"), 1);
        assert_str(peer_response_field(&a, "Connection"), "close");
        peer_fini(&late);
        a = peer_request(&idle[i], GET("/plain"), 2);
        assert_str(peer_response_field(&a, "Connection"), "close");
        peer_fini(&idle[i]);
    }
    rig_until(rig, rig->closed); /* the drain ends although the clock has not moved */
}

static void drain_closes_idle_connections_after_three_quarters_of_drain_ms(void **state)
{
    struct rig *rig = *state;
    struct peer idle, half;
    peer_open(&idle, rig);
    (void)peer_request(&idle, GET("/plain"), 1);
    peer_open(&half, rig);
    (void)peer_send_text(&half, "GET /plain HT");
    rig_iterate_n(rig, 10);
    http_server_drain(rig->server, rig_on_closed, rig);
    rig_advance(rig, 3749); /* drain_ms is 5000 */
    rig_tick(rig);
    assert_false((peer_read(&idle), idle.ended));
    rig_advance(rig, 1);
    rig_until(rig, (peer_read(&idle), idle.ended));
    assert_false(rig->closed);
    assert_non_null(rig->server->conns[CONN_HEAD].next);
    (void)peer_request(&half, "TP/1.1\r\n" H "\r\n", 1);
    peer_fini(&half);
    rig_until(rig, rig->closed);
    peer_fini(&idle);
}

static void drain_closes_unused_connections_after_two_seconds(void **state)
{
    struct rig *rig = *state;
    struct peer unused, idle;
    peer_open(&idle, rig);
    (void)peer_request(&idle, GET("/plain"), 1);
    peer_open(&unused, rig);
    rig_until(rig, http_server_get_counts(rig->server).connections == 2);
    http_server_drain(rig->server, rig_on_closed, rig);
    rig_advance(rig, 1999);
    rig_tick(rig);
    assert_false((peer_read(&unused), unused.ended));
    rig_advance(rig, 1);
    rig_until(rig, (peer_read(&unused), unused.ended));
    assert_false((peer_read(&idle), idle.ended));
    peer_fini(&unused);
    peer_fini(&idle);
    rig_until(rig, rig->closed);
}

/* When the server stops accepting, it must not close a connection that it has just accepted, because the
 * client is about to send a request. */
static void new_connection_stays_open_after_the_last_old_one_has_closed(void **state)
{
    struct rig *rig = *state;
    struct peer idle, fresh;
    peer_open(&idle, rig);
    (void)peer_request(&idle, GET("/plain"), 1);
    http_server_drain(rig->server, rig_on_closed, rig);
    peer_open(&fresh, rig);
    rig_until(rig, http_server_get_counts(rig->server).connections == 2);
    peer_fini(&idle); /* the last connection from before the drain */
    rig_until(rig, http_server_get_counts(rig->server).connections == 1);
    rig_iterate_n(rig, 20);
    struct peer_response a = peer_request(&fresh, GET("/plain"), 1);
    assert_int_equal(a.status, 200);
    peer_fini(&fresh);
    rig_until(rig, rig->closed);
}

static void clients_waiting_at_a_passed_socket_are_served_by_the_next_server(void **state)
{
    struct rig rig, *first = *state;
    struct http_options options;
    struct error error;
    struct peer p;
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &address), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    rig_init(&rig, &(struct http_limits){0}, false);
    rig_options(&rig, NULL, &options);
    options.listen_count = 0;
    const int passed = dup(fd);
    options.passed = &passed;
    options.passed_count = 1;
    assert_int_equal(rig_open(&rig, &options, &error), ERR_INVALID); /* the socket does not listen */
    assert_non_null(strstr(error.text, "ListenStream="));
    rig_iterate_n(&rig, 3);
    assert_int_equal(listen(fd, 10), 0);
    assert_int_equal(rig_open(&rig, &options, &error), OK);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    peer_open(&p, &rig);
    (void)peer_request(&p, GET("/plain"), 1);
    peer_fini(&p);
    http_server_drain(rig.server, rig_on_closed, &rig);
    rig_until(&rig, rig.closed);
    struct peer waits = {.rig = &rig, .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(connect(waits.fd, (const struct sockaddr *)&address, sizeof address), 0);
    rig_fini(&rig);
    waits.rig = first;
    options.router = &first->app.router;
    const int again = dup(fd);
    options.passed = &again;
    struct http_server *next;
    assert_int_equal(http_server_open(&next, &first->loop, &options, &error), OK);
    assert_int_equal(fcntl(waits.fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(peer_request(&waits, GET("/plain"), 1).status, 200);
    peer_fini(&waits);
    http_server_close(next, NULL, NULL);
    (void)close(fd);
}

static void drain_closes_all_remaining_connections_after_drain_ms(void **state)
{
    struct rig *rig = *state;
    struct peer late, half;
    peer_open(&late, rig);
    peer_open(&half, rig);
    (void)peer_send_text(&late, GET("/late"));
    (void)peer_send_text(&half, "GET /plain HT");
    rig_until(rig, rig->app.begun == 1);
    rig_iterate_n(rig, 10);
    rig_close(rig);
    rig_advance(rig, 200); /* wait until the listeners have closed */
    rig_iterate_n(rig, 10);
    rig_advance(rig, 4799);
    rig_iterate_n(rig, 50);
    assert_false(rig->closed);
    rig_advance(rig, 1);
    rig_until(rig, rig->closed);
    assert_int_equal(rig->app.canceled, 1);
    peer_fini(&late);
    peer_fini(&half);
}

static void second_server_close_closes_all_connections_immediately(void **state)
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
    rig_iterate_n(rig, 20);
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
        CONN_TEST(streams_a_response_in_chunks),
        CONN_TEST(end_of_the_connection_ends_a_response_streamed_to_http_1_0),
        CONN_TEST(head_of_a_streamed_response_has_no_body),
        CONN_TEST(client_can_detect_an_aborted_stream),
        CLOCK_TEST(stream_to_http_1_0_that_the_server_cuts_off_ends_with_a_reset),
        CONN_TEST(handler_pauses_while_its_client_does_not_read),
        CONN_TEST(server_stops_reading_requests_while_responses_are_unread),
        CONN_TEST(survives_a_reset_within_a_response),
        CLOCK_TEST(each_state_of_a_connection_has_its_deadline),
        CLOCK_TEST(rejected_client_that_does_not_close_is_disconnected_after_two_seconds),
        CLOCK_TEST(slow_request_times_out_although_bytes_arrive),
        CLOCK_TEST(sleeping_request_wakes_at_its_deadline),
        CLOCK_TEST(client_that_never_reads_is_disconnected),
        CLOCK_TEST(client_that_reads_slowly_is_not_disconnected),
        CONN_TEST(clients_above_max_connections_wait),
        CONN_TEST(drain_lets_requests_complete),
        CLOCK_TEST(drain_closes_all_remaining_connections_after_drain_ms),
        CLOCK_TEST(drain_leaves_idle_connections_open_for_one_more_request),
        CLOCK_TEST(drain_closes_idle_connections_after_three_quarters_of_drain_ms),
        CLOCK_TEST(drain_closes_unused_connections_after_two_seconds),
        CLOCK_TEST(new_connection_stays_open_after_the_last_old_one_has_closed),
        CONN_TEST(clients_waiting_at_a_passed_socket_are_served_by_the_next_server),
        CONN_TEST(second_server_close_closes_all_connections_immediately),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
