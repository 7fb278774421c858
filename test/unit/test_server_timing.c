/* Tests which clients get the Server-Timing field. */
#include "unit.h"

#include "http/server_timing.h"

#include <stdlib.h>

struct timing_request {
    struct http_server *server;
    struct exchange x;
    struct conn conn;
};

static void timing_request_init(struct timing_request *a, const char *peer)
{
    memset(a, 0, sizeof *a);
    a->server = calloc(1, sizeof *a->server);
    assert_non_null(a->server);
    a->server->options.timing = true;
    a->x.r.field[FIELD_X_VIEWTALLY_TIMING] = STR("1");
    a->conn.server = a->server;
    a->conn.x = &a->x;
    memcpy(a->conn.peer, peer, strlen(peer));
}

static bool is_shown_to(const char *peer)
{
    struct timing_request a;
    timing_request_init(&a, peer);
    const bool shown = server_timing_is_requested(&a.conn);
    free(a.server);
    return shown;
}

static void field_is_sent_to_clients_on_this_machine(void **state)
{
    (void)state;
    assert_true(is_shown_to("127.0.0.1"));
    assert_true(is_shown_to("127.9.8.7"));
    assert_true(is_shown_to("::1"));
    assert_true(is_shown_to("::ffff:127.0.0.1"));
    assert_false(is_shown_to("203.0.113.7"));
    assert_false(is_shown_to("10.127.0.1"));
    assert_false(is_shown_to("128.0.0.1"));
    assert_false(is_shown_to("::1:1"));
    assert_false(is_shown_to("::ffff:203.0.113.7"));
    assert_false(is_shown_to("2001:db8::1"));
    assert_false(is_shown_to("unknown"));
    assert_false(is_shown_to(""));
}

static void field_is_sent_through_a_unix_socket(void **state)
{
    struct timing_request a;
    (void)state;
    timing_request_init(&a, "unix");
    assert_false(server_timing_is_requested(&a.conn));
    a.conn.is_unix = true;
    assert_true(server_timing_is_requested(&a.conn));
    free(a.server);
}

static void field_is_not_sent_if_the_option_is_off_or_a_proxy_forwards_the_request(void **state)
{
    struct timing_request a;
    (void)state;
    timing_request_init(&a, "127.0.0.1");
    a.server->options.timing = false;
    assert_false(server_timing_is_requested(&a.conn));
    a.server->options.timing = true;
    a.x.r.field[FIELD_X_FORWARDED_FOR] = STR("");
    assert_false(server_timing_is_requested(&a.conn));
    free(a.server);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(field_is_sent_to_clients_on_this_machine),
        cmocka_unit_test(field_is_sent_through_a_unix_socket),
        cmocka_unit_test(field_is_not_sent_if_the_option_is_off_or_a_proxy_forwards_the_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
