/* Tests that if max_connections is reached and a client waits, an idle connection is evicted. */
#include "unit.h"

#include "lib/http_rig.h"

#define GET "GET /plain HTTP/1.1\r\nHost: a\r\n\r\n"

enum { CONNECTIONS = 3, UNUSED_MS = 2000, IDLE_MS = 1000 };

/* A server that has reached max_connections (CONNECTIONS), the clients connected to it, and one client that
 * waits. */
struct full {
    struct rig rig;
    struct peer connected[CONNECTIONS], waiting;
};

static int set_up(void **state)
{
    static struct full f;
    struct http_limits limits = rig_limits();
    limits.max_connections = CONNECTIONS;
    rig_init(&f.rig, &limits, true);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < CONNECTIONS; i++)
        peer_fini(&f->connected[i]);
    peer_fini(&f->waiting);
    rig_fini(&f->rig);
    return 0;
}

static struct http_server_counts counts_of(struct full *f)
{
    return http_server_get_counts(f->rig.server);
}

static void connect_and_use(struct full *f, int i, bool sends_request)
{
    const unsigned long long accepted = counts_of(f).accepted;
    peer_open(&f->connected[i], &f->rig);
    rig_until(&f->rig, counts_of(f).accepted == accepted + 1);
    if (sends_request)
        (void)peer_request(&f->connected[i], GET, 1);
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

/* Asserts that the waiting client is served and that only the client `evicted` was disconnected. */
static void expect_served_in_place_of(struct full *f, int evicted)
{
    rig_until(&f->rig, peer_complete(&f->waiting, NULL) == 1);
    for (int i = 0; i < CONNECTIONS; i++) {
        peer_read(&f->connected[i]);
        assert_int_equal(f->connected[i].ended, i == evicted);
    }
}

static void unused_connections_are_evicted_first_after_two_seconds(void **state)
{
    struct full *f = *state;
    connect_and_use(f, 0, true); /* the longest idle connection */
    connect_and_use(f, 1, false);
    rig_advance(&f->rig, 1);
    connect_and_use(f, 2, false);
    rig_advance(&f->rig, UNUSED_MS - 1);
    begin_waiting(f);
    expect_served_in_place_of(f, 1);
    assert_int_equal(counts_of(f).evicted_unused, 1);
    assert_int_equal(counts_of(f).evicted_idle, 0);
}

static void unused_connections_are_not_evicted_within_two_seconds(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < CONNECTIONS; i++)
        connect_and_use(f, i, false);
    rig_advance(&f->rig, UNUSED_MS - 1);
    begin_waiting(f);
    expect_still_waiting(f);
    rig_advance(&f->rig, 1);
    expect_served_in_place_of(f, 0);
}

static void longest_idle_connection_is_evicted_if_all_have_been_used(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < CONNECTIONS; i++) {
        connect_and_use(f, i, true);
        rig_advance(&f->rig, 1);
    }
    (void)peer_request(&f->connected[0], GET, 2);
    rig_advance(&f->rig, IDLE_MS);
    begin_waiting(f);
    expect_served_in_place_of(f, 1);
    assert_int_equal(counts_of(f).evicted_unused, 0);
    assert_int_equal(counts_of(f).evicted_idle, 1);
}

static void idle_connections_are_not_evicted_within_one_second(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < CONNECTIONS; i++)
        connect_and_use(f, i, true);
    rig_advance(&f->rig, IDLE_MS - 1);
    begin_waiting(f);
    expect_still_waiting(f);
    rig_advance(&f->rig, 1);
    expect_served_in_place_of(f, 0);
}

static void connection_that_becomes_idle_while_a_client_waits_is_evicted(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < CONNECTIONS; i++) {
        connect_and_use(f, i, false);
        (void)peer_send_text(&f->connected[i],
                             "GET /pl"); /* a connection with a partial request is not evicted */
    }
    rig_until(&f->rig, counts_of(f).requests_in_flight == CONNECTIONS);
    rig_advance(&f->rig, 2 * UNUSED_MS);
    begin_waiting(f);
    expect_still_waiting(f);
    (void)peer_request(&f->connected[2], "ain HTTP/1.1\r\nHost: a\r\n\r\n", 1);
    expect_still_waiting(f);
    rig_advance(&f->rig, 2 * IDLE_MS);
    expect_served_in_place_of(f, 2);
}

static void evicts_nothing_if_no_client_waits(void **state)
{
    struct full *f = *state;
    for (int i = 0; i < CONNECTIONS; i++)
        connect_and_use(f, i, i > 0);
    f->waiting.fd = -1;
    rig_advance(&f->rig, 10 * UNUSED_MS);
    rig_tick(&f->rig);
    assert_int_equal(counts_of(f).connections, CONNECTIONS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unused_connections_are_evicted_first_after_two_seconds),
        TEST(unused_connections_are_not_evicted_within_two_seconds),
        TEST(longest_idle_connection_is_evicted_if_all_have_been_used),
        TEST(idle_connections_are_not_evicted_within_one_second),
        TEST(connection_that_becomes_idle_while_a_client_waits_is_evicted),
        TEST(evicts_nothing_if_no_client_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
