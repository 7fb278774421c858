/* Tests that if memory or descriptors run out or a libuv call fails, only the affected client gets an error,
 * and all clients are served after the fault. */
#include "unit.h"

#include "base/fault.h"
#include "base/log.h"
#include "lib/http_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define GET(x) "GET " x " HTTP/1.1\r\nHost: a\r\n\r\n"

enum { MANY_FAULTS = 300, BLOCK = 8 << 10 };

/* ---- the n-th call fails ---- */

/* Asserts that the client received all responses, or a 503 followed by the end of the connection, or only the
 * end of the connection. */
static void expect_valid_outcome(struct peer *p, const char *heads, size_t requests, unsigned n)
{
    struct peer_response responses[8];
    size_t count = peer_responses(p, heads, responses, 8), bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const struct peer_response *a = &responses[i];
        bytes += a->head.len + a->body.len;
        if (a->status == 503) {
            assert_str(peer_response_field(a, "Connection"), "close");
            assert_str(peer_response_field(a, "Retry-After"), "1");
            assert_int_equal(i, count - 1);
            assert_true(p->ended && a->complete);
        } else if (a->status != 200 && a->status != 400) {
            fail_msg("fault %u: status %d", n, a->status);
        }
        assert_true(a->complete || p->ended);
    }
    assert_int_equal(bytes, p->len);
    if (count < requests && !p->ended)
        fail_msg("fault %u: %zu of %zu responses, and the connection is open", n, count, requests);
}

static bool has_503(struct peer *p, const char *heads)
{
    struct peer_response responses[8];
    size_t count = peer_responses(p, heads, responses, 8);
    return count && responses[count - 1].status == 503;
}

/* Sends `stream` to a server whose n-th wrapped call (base/fault.h) fails; if `is_permanent`, all later
 * wrapped calls fail too. Increments `*rejected` if the response is a 503. Returns true if a call failed. */
static bool try_with_fault(const char *stream, const char *heads, size_t requests, unsigned n,
                           bool is_permanent, unsigned *rejected)
{
    struct rig rig;
    struct peer p, later;
    rig_init(&rig, NULL, false);
    peer_open(&p, &rig);
    fault_arm(n, is_permanent);
    (void)peer_send_some(&p, str_from_cstr(stream));
    for (int i = 0; i < 200 && !p.ended && peer_complete(&p, heads) < requests; i++)
        rig_iterate(&rig);
    bool failed = fault_count() > 0;
    fault_arm(0, false);
    rig_until(&rig, p.ended || peer_complete(&p, heads) >= requests);
    if (has_503(&p, heads)) {
        rig_until(&rig, (peer_read(&p), p.ended)); /* the close arrives an iteration later */
        ++*rejected;
    }
    expect_valid_outcome(&p, heads, requests, n);
    peer_open(&later, &rig);
    (void)peer_request(&later, GET("/plain"), 1);
    peer_expect(&later, "200");
    peer_fini(&p);
    peer_fini(&later);
    rig_fini(&rig);
    return failed;
}

static void try_each_fault(const char *stream, const char *heads, size_t requests)
{
    unsigned rejected = 0;
    for (int is_permanent = 0; is_permanent < 2; is_permanent++) {
        unsigned n = 1;
        while (n < MANY_FAULTS && try_with_fault(stream, heads, requests, n, is_permanent, &rejected))
            n++;
        assert_in_range(n, 5, MANY_FAULTS - 1);
    }
    assert_true(rejected > 2);
}

static void survives_a_failure_of_each_call_during_a_request(void **state)
{
    (void)state;
    try_each_fault(GET("/plain"), NULL, 1);
    try_each_fault("HEAD /plain HTTP/1.1\r\nHost: a\r\n\r\n", "H", 1);
    try_each_fault("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", NULL, 1);
    try_each_fault(GET("/plain") GET("/yield?3") GET("/plain"), NULL, 3);
    try_each_fault("GET / HTTP/1.1\r\n\r\n", NULL, 1); /* rejected with 400 */
}

static void survives_a_failure_of_each_call_during_a_large_request(void **state)
{
    struct buf stream;
    (void)state;
    buf_init(&stream, 1 << 20);
    buf_append(&stream, STR("POST /arena?100 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"));
    for (int i = 0; i < 90; i++)
        buf_printf(&stream, "Accept: %0100d\r\n", i);
    buf_append(&stream, STR("\r\n3\r\nabc\r\n0\r\n\r\n"));
    buf_append_char(&stream, '\0');
    try_each_fault(stream.p, NULL, 1);
    buf_fini(&stream);
}

static void survives_a_failure_of_each_call_during_a_large_response(void **state)
{
    (void)state;
    try_each_fault(GET("/big?300000"), NULL, 1);
    try_each_fault(GET("/stream?5"), NULL, 1);
}

/* ---- start of the server ---- */

static bool try_open(const char *const *listen, size_t count, unsigned n)
{
    struct rig rig;
    struct http_options options;
    struct http_limits closed = rig_limits();
    struct error error = {0};
    closed.max_connections = 0;
    rig_init(&rig, &closed, false);
    rig_options(&rig, NULL, &options);
    options.listen = listen;
    options.listen_count = count;
    fault_arm(n, false);
    enum err e = rig_open(&rig, &options, &error);
    bool failed = fault_count() > 0;
    fault_arm(0, false);
    if (e) {
        assert_true(e == ERR_NOMEM || e == ERR_IO);
        assert_true(strlen(error.text) > 5);
        rig.server = NULL;
        rig_iterate_n(&rig, 5);
    } else {
        assert_false(failed);
    }
    rig_fini(&rig); /* fails if a handle remains */
    return failed;
}

static void survives_a_failure_of_each_call_during_the_start(void **state)
{
    char address[64];
    unsigned n = 1;
    (void)state;
    (void)snprintf(address, sizeof address, "unix:/tmp/vt-http-faults-%d", (int)getpid());
    const char *const listen[] = {"127.0.0.1:0", address};
    while (n < MANY_FAULTS && try_open(listen, 2, n))
        n++;
    assert_in_range(n, 12, MANY_FAULTS - 1);
}

/* While faults are injected, the timer that checks the deadlines cannot be started. */
static void deadlines_expire_although_their_timer_could_not_be_started(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    rig_until(rig, http_server_get_counts(rig->server).connections == 1);
    (void)uv_timer_stop(&rig->server->tick);
    rig->server->ticking = false;
    fault_arm(1, true);
    server_schedule_tick(rig->server, rig->clock[1] + 20);
    server_schedule_tick(rig->server, rig->clock[1] + 40);
    assert_int_equal(rig->server->tick_ms, rig->clock[1] + 20);
    rig_iterate_n(rig, 5);
    assert_true(fault_count() >= 2);
    fault_arm(0, false);
    rig_advance(rig, 30000);
    rig_until(rig, (peer_read(&p), p.ended));
    peer_fini(&p);
}

/* ---- what a client receives ---- */

static void out_of_memory_response_is_complete(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct peer_response a;
    peer_open(&p, rig);
    rig_until(rig, http_server_get_counts(rig->server).connections == 1);
    fault_arm(1, true);
    (void)peer_send_some(&p, STR(GET("/plain") GET("/plain")));
    rig_until(rig, (peer_read(&p), p.ended));
    fault_arm(0, false);
    assert_false(p.reset);
    assert_int_equal(peer_responses(&p, NULL, &a, 1), 1);
    assert_int_equal(a.status, 503);
    assert_true(a.complete);
    assert_int_equal(a.head.len + a.body.len, p.len);
    assert_str(peer_response_field(&a, "Content-Type"), "application/json; charset=utf-8");
    assert_true(str_starts_with(a.body, STR("{\"success\":false,\"error\":{\"code\":\"internal_error\",")));
    assert_int_equal(http_server_get_counts(rig->server).rejected_no_memory, 1);
    assert_int_equal(rig->app.begun, 0); /* memory is allocated before the handler runs */
    peer_fini(&p);
}

/* If there is no memory for the value of a field, the handler must not be called with an empty value. */
static void request_whose_fields_ran_out_of_memory_does_not_reach_the_handler(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct buf head;
    buf_init(&head, 64 << 10);
    buf_printf(&head, "GET /plain HTTP/1.1\r\nHost: a\r\nCookie: %05000d\r\n\r\n", 1);
    peer_open(&p, rig);
    (void)peer_request(&p, GET("/plain"), 1); /* leaves one exchange (conn.h) in the pool */
    fault_arm(1, true);
    (void)peer_send_some(&p, buf_str(&head));
    rig_until(rig, (peer_read(&p), p.ended));
    fault_arm(0, false);
    peer_expect(&p, "200 503");
    assert_int_equal(rig->app.begun, 1);
    peer_fini(&p);
    buf_fini(&head);
}

/* If part of the response has been sent, the connection is closed without an error response. */
static void streamed_response_is_cut_off_if_out_of_memory(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    struct peer_response a;
    peer_open_narrow(&p, rig);
    (void)peer_send_some(&p, STR(GET("/stream?100")));
    rig_until(rig, !list_is_empty(&rig->server->conns[CONN_WRITING]));
    struct conn *c = LIST_ENTRY(rig->server->conns[CONN_WRITING].next, struct conn, link);
    c->x->r.arena.lacks_memory = true; /* simulates a step that ran out of memory */
    rig_until(rig, (peer_read(&p), p.ended));
    assert_int_equal(peer_responses(&p, NULL, &a, 1), 1);
    assert_int_equal(a.status, 200);
    assert_false(a.complete);
    peer_fini(&p);
    rig_until(rig, http_server_get_counts(rig->server).requests_in_flight == 0);
}

/* A request that ran out of memory is rejected after the current step; its later steps do not run. */
static void no_step_runs_after_memory_ran_out(void **state)
{
    struct rig *rig = *state;
    struct peer p;
    peer_open(&p, rig);
    (void)peer_send_some(&p, STR(GET("/yield?50")));
    rig_until(rig, rig->app.iterations > 0 && !list_is_empty(&rig->server->conns[CONN_HANDLING]));
    struct conn *c = LIST_ENTRY(rig->server->conns[CONN_HANDLING].next, struct conn, link);
    const int before = rig->app.iterations;
    c->x->r.arena.lacks_memory = true; /* simulates a step that ran out of memory */
    rig_until(rig, (peer_read(&p), p.ended));
    peer_expect(&p, "503");
    assert_true(rig->app.iterations <= before + 1);
    peer_fini(&p);
}

/* ---- memory of an incomplete request ---- */

static void request_that_waits_for_its_body_holds_no_large_buffer(void **state)
{
    struct rig *rig = *state;
    struct peer large, p;
    peer_open(&large, rig);
    (void)peer_request(&large, GET("/big?1000000"), 1);
    assert_int_equal(rig->server->pooled, 1);
    peer_open(&p, rig);
    (void)peer_send_text(&p, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
    rig_until(rig, !list_is_empty(&rig->server->conns[CONN_BODY]));
    struct conn *c = LIST_ENTRY(rig->server->conns[CONN_BODY].next, struct conn, link);
    assert_int_equal(rig->server->pooled, 0);
    assert_true(c->x->r.res.body.cap <= 4 << 10);
    peer_fini(&p);
    peer_fini(&large);
}

/* ---- descriptors ---- */

/* If accept() fails with EMFILE, the server rejects the client and continues. */
static void rejects_clients_while_no_descriptor_is_free(void **state)
{
    struct rig *rig = *state;
    struct peer inside, p;
    struct rlimit before, low;
    peer_open(&inside, rig);
    (void)peer_request(&inside, GET("/plain"), 1);
    peer_open(&p, rig);
    int next = dup(0);
    assert_true(next >= 0);
    (void)close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){(rlim_t)next, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    rig_until(rig, (peer_read(&p), p.ended));
    (void)peer_request(&inside, GET("/plain"), 2);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    peer_fini(&p);
    peer_open(&p, rig);
    (void)peer_request(&p, GET("/plain"), 1);
    peer_fini(&p);
    peer_fini(&inside);
}

/* ---- the limit of the address space ---- */

#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer reserves terabytes of address space */

static rlim_t address_space(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%llu", &pages), 1);
    (void)fclose(f);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

enum { CLIENTS = 60, HELD_MIB = 8 };

static void hold_memory(struct rig *rig, struct peer *peers)
{
    for (int i = 0; i < CLIENTS; i++)
        (void)peer_send_some(&peers[i], STR(GET("/hold?512")));
    rig_until(rig, http_server_get_counts(rig->server).requests_in_flight +
                           (int)http_server_get_counts(rig->server).rejected_no_memory ==
                       CLIENTS);
    rig_iterate_n(rig, 10);
}

/* Requests are rejected while memory is exhausted, and served again after it is released. */
static void recovers_from_an_exhausted_address_space(void **state)
{
    struct rig *rig = *state;
    struct peer peers[CLIENTS], later;
    struct rlimit before, low;
    int rejected = 0;
    for (int i = 0; i < CLIENTS; i++) {
        peer_open(&peers[i], rig);
        peer_read(&peers[i]); /* allocates the buffer of the client before memory is limited */
    }
    rig_until(rig, http_server_get_counts(rig->server).connections == CLIENTS);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    low = (struct rlimit){address_space() + (HELD_MIB << 20), before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    hold_memory(rig, peers);
    for (int i = 0; i < CLIENTS; i++) {
        rejected += peer_complete(&peers[i], NULL) == 1;
        peer_expect(&peers[i], peers[i].len ? "503" : "");
        peer_reset(&peers[i]);
        peer_fini(&peers[i]);
    }
    assert_in_range(rejected, CLIENTS / 2, CLIENTS - 5);
    rig_until(rig, http_server_get_counts(rig->server).connections == 0);
    peer_open(&later, rig);
    (void)peer_request(&later, GET("/arena?512"), 1);
    peer_expect(&later, "200");
    peer_fini(&later);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

#endif

/* ---- reserve of the arena ---- */

static void arena_uses_its_reserve_if_out_of_memory(void **state)
{
    struct arena_reserve reserve;
    struct arena a, other;
    (void)state;
    assert_true(arena_reserve_init(&reserve, 64 << 10));
    arena_init(&a, BLOCK);
    a.reserve = &reserve;
    assert_true(arena_allocate_first_block(&a));
    fault_arm(1, true);
    memset(arena_alloc(&a, BLOCK), 'x', BLOCK);
    assert_false(a.lacks_memory);
    memset(arena_alloc(&a, BLOCK), 'x', BLOCK);
    assert_true(a.lacks_memory && reserve.is_in_use);
    fault_arm(0, false);
    memset(arena_alloc(&a, 60 << 10), 'x',
           60 << 10); /* lacks_memory stays true although memory is available again */
    assert_true(a.lacks_memory);
    arena_reset(&a);
    assert_false(a.lacks_memory || reserve.is_in_use);
    arena_init(&other, BLOCK);
    fault_arm(1, false);
    assert_false(arena_allocate_first_block(&other));
    assert_true(arena_allocate_first_block(&other));
    arena_fini(&other);
    arena_fini(&a);
    arena_reserve_fini(&reserve);
}

static void fallible_buffer_distinguishes_out_of_memory_from_too_large(void **state)
{
    struct buf b;
    (void)state;
    buf_init_fallible(&b, 2000);
    buf_append(&b, STR("first"));
    fault_arm(1, false);
    assert_null(buf_reserve(&b, 1000));
    assert_true(b.failed && b.lacks_memory);
    assert_str(buf_str(&b), "first");
    buf_append(&b, STR("lost"));
    assert_str(buf_str(&b), "first");
    buf_reset(&b, b.cap);
    assert_false(b.failed || b.lacks_memory);
    assert_null(buf_reserve(&b, 2001));
    assert_true(b.failed && !b.lacks_memory);
    buf_fini(&b);
}

#define CONN_TEST(name)  cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define CLOCK_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup_with_clock, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_a_failure_of_each_call_during_a_request),
        cmocka_unit_test(survives_a_failure_of_each_call_during_a_large_request),
        cmocka_unit_test(survives_a_failure_of_each_call_during_a_large_response),
        cmocka_unit_test(survives_a_failure_of_each_call_during_the_start),
        CLOCK_TEST(deadlines_expire_although_their_timer_could_not_be_started),
        CONN_TEST(out_of_memory_response_is_complete),
        CONN_TEST(request_whose_fields_ran_out_of_memory_does_not_reach_the_handler),
        CONN_TEST(no_step_runs_after_memory_ran_out),
        CONN_TEST(streamed_response_is_cut_off_if_out_of_memory),
        CONN_TEST(request_that_waits_for_its_body_holds_no_large_buffer),
        CONN_TEST(rejects_clients_while_no_descriptor_is_free),
#ifndef __SANITIZE_ADDRESS__
        CONN_TEST(recovers_from_an_exhausted_address_space),
#endif
        cmocka_unit_test(arena_uses_its_reserve_if_out_of_memory),
        cmocka_unit_test(fallible_buffer_distinguishes_out_of_memory_from_too_large),
    };
    log_set(LOG_ERROR, LOG_TEXT); /* hide the many warnings */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
