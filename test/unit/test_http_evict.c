/* What happens to idle connections at max_connections while another client waits. */
#include "unit.h"

#include "lib/http_rig.h"

#define GET "GET /plain HTTP/1.1\r\nHost: a\r\n\r\n"

enum { PLACES = 3, UNUSED_MS = 2000, IDLE_MS = 1000 };

/* A server with PLACES places, its clock, and the clients that took them. */
struct full {
    struct rig rig;
    struct peer inside[PLACES], waiting;
};

static int set_up(void **state)
{
    static struct full f;
    struct http_limits limits = rig_limits();
    limits.max_connections = PLACES;
    rig_init(&f.rig, &limits, true);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < PLACES; i++)
        peer_fini(&f->inside[i]);
    peer_fini(&f->waiting);
    rig_fini(&f->rig);
    return 0;
}

static struct http_server_counts counts_of(struct full *f)
{
    return http_server_counts(f->rig.server);
}

static void take_place(struct full *f, int i, bool sends_request)
{
    const unsigned long long accepted = counts_of(f).accepted;
    peer_open(&f->inside[i], &f->rig);
    rig_until(&f->rig, counts_of(f).accepted == accepted + 1);
    if (sends_request)
        (void)peer_ask(&f->inside[i], GET, 1);
}

static void begin_waiting(struct full *f)
{
    peer_open(&f->waiting, &f->rig);
    (void)peer_send_some(&f->waiting, STR(GET));
}

static void expect_still_waiting(struct full *f)
{
    rig_until(&f->rig, counts_of(f).waiting == 1);
    rig_tick(&f->rig);
    assert_int_equal(peer_complete(&f->waiting, NULL), 0);
    assert_int_equal(counts_of(f).waiting, 1);
}

/* The waiting client is served, and of the others only the `evicted` one has lost its connection. */
static void expect_served_in_place_of(struct full *f, int evicted)
{
    rig_until(&f->rig, peer_complete(&f->waiting, NULL) == 1);
    for (int i = 0; i < PLACES; i++) {
        peer_read(&f->inside[i]);
        assert_int_equal(f->inside[i].ended, i == evicted);
    }
}

static void unused_connections_go_first_after_two_seconds(void **state)
{
    struct full *f = *state;
    take_place(f, 0, true); /* idle longer than the others */
    take_place(f, 1, false);
    rig_advance(&f->rig, 1);
    take_place(f, 2, false);
    rig_advance(&f->rig, UNUSED_MS - 1);
    (void)peer_ask(&f->inside[0], GET, 2); /* used again: has been idle for 0 ms */
    begin_waiting(f);
    expect_served_in_place_of(f, 1);
    assert_int_equal(counts_of(f).evicted_unused, 1);
    assert_int_equal(counts_of(f).evicted_idle, 0);
}

static void unused_connections_stay_for_two_seconds(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < PLACES; i++)
        take_place(f, i, false);
    rig_advance(&f->rig, UNUSED_MS - 1);
    begin_waiting(f);
    expect_still_waiting(f);
    rig_advance(&f->rig, 1);
    expect_served_in_place_of(f, 0);
}

static void the_longest_idle_connection_goes_next(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < PLACES; i++) {
        take_place(f, i, true);
        rig_advance(&f->rig, 1);
    }
    (void)peer_ask(&f->inside[0], GET, 2);
    rig_advance(&f->rig, IDLE_MS);
    begin_waiting(f);
    expect_served_in_place_of(f, 1);
    assert_int_equal(counts_of(f).evicted_unused, 0);
    assert_int_equal(counts_of(f).evicted_idle, 1);
}

static void idle_connections_stay_for_one_second(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < PLACES; i++)
        take_place(f, i, true);
    rig_advance(&f->rig, IDLE_MS - 1);
    begin_waiting(f);
    expect_still_waiting(f);
    rig_advance(&f->rig, 1);
    expect_served_in_place_of(f, 0);
}

static void connections_that_become_idle_later_are_found(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < PLACES; i++) {
        take_place(f, i, false);
        (void)peer_send_text(&f->inside[i], "GET /pl"); /* has sent something: is never evicted */
    }
    rig_until(&f->rig, counts_of(f).requests_in_flight == PLACES);
    rig_advance(&f->rig, 2 * UNUSED_MS);
    begin_waiting(f);
    expect_still_waiting(f);
    (void)peer_ask(&f->inside[2], "ain HTTP/1.1\r\nHost: a\r\n\r\n", 1);
    expect_still_waiting(f);
    rig_advance(&f->rig, 2 * IDLE_MS);
    expect_served_in_place_of(f, 2);
}

static void nothing_is_closed_while_nobody_waits(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < PLACES; i++)
        take_place(f, i, i > 0);
    f->waiting.fd = -1;
    rig_advance(&f->rig, 10 * UNUSED_MS);
    rig_tick(&f->rig);
    assert_int_equal(counts_of(f).connections, PLACES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unused_connections_go_first_after_two_seconds), TEST(unused_connections_stay_for_two_seconds),
        TEST(the_longest_idle_connection_goes_next),         TEST(idle_connections_stay_for_one_second),
        TEST(connections_that_become_idle_later_are_found),  TEST(nothing_is_closed_while_nobody_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
