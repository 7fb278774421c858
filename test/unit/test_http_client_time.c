/* Tests the deadlines of the HTTP client with a monotonic clock that the test advances. */
#include "unit.h"

#include "net/http_client.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t ahead_s; /* how far the monotonic clock of this process is ahead of the real one */

/* Replaces the function of the C library for libuv and libcurl, too, which are linked into this program. */
int clock_gettime(clockid_t id, struct timespec *out)
{
    const int code = (int)syscall(SYS_clock_gettime, id, out);
    if (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_RAW || id == CLOCK_MONOTONIC_COARSE)
        out->tv_sec += ahead_s;
    return code;
}

struct rig {
    uv_loop_t loop;
    struct http_client *client;
    int listener, connection; /* of the server; connection is -1 before the request has arrived */
    int ended;                /* number of completed calls */
    enum transport_error error;
    int status;
};

static void on_done(void *ctx, const struct http_result *r)
{
    struct rig *rig = ctx;
    rig->ended++;
    rig->error = r->error;
    rig->status = r->response.status;
}

static void on_closed(void *ctx)
{
    (void)ctx;
}

/* Starts a call with this time limit, and runs the loop until the server has read the request. */
static void open_rig(struct rig *rig, int64_t timeout_ms)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    char origin[64], byte;
    const struct http_client_options options = {.allow_http = true,
                                                .connect_timeout_ms = timeout_ms,
                                                .timeout_ms = timeout_ms,
                                                .body_max = 1000,
                                                .host_connections = 1};
    *rig = (struct rig){.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), .connection = -1};
    assert_int_equal(bind(rig->listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(rig->listener, 1), 0);
    assert_int_equal(getsockname(rig->listener, (struct sockaddr *)&address, &len), 0);
    (void)snprintf(origin, sizeof origin, "http://127.0.0.1:%d", ntohs(address.sin_port));
    const struct http_request request = {.origin = origin, .method = "GET", .path = STR("/")};
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    rig->client = http_client_new(&rig->loop, &options);
    (void)http_client_send(rig->client, &request, on_done, rig);
    while (rig->connection < 0 || recv(rig->connection, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1) {
        (void)uv_run(&rig->loop, UV_RUN_NOWAIT);
        if (rig->connection < 0)
            rig->connection = accept(rig->listener, NULL, NULL);
    }
}

static void close_rig(struct rig *rig)
{
    http_client_close(rig->client, on_closed, rig);
    assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    (void)close(rig->connection);
    (void)close(rig->listener);
}

static void let_seconds_pass(struct rig *rig, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        ahead_s++;
        (void)uv_run(&rig->loop, UV_RUN_NOWAIT);
        (void)uv_run(&rig->loop, UV_RUN_NOWAIT);
    }
}

/* A receiver of webhooks may take all of [webhooks] timeout_ms before it sends the first byte. */
static void server_may_be_silent_until_shortly_before_the_timeout(void **state)
{
    static const char response[] = "HTTP/1.1 204 No Content\r\n\r\n";
    struct rig rig;
    (void)state;
    open_rig(&rig, 300000);
    let_seconds_pass(&rig, 240);
    assert_int_equal(rig.ended, 0);
    assert_int_equal(send(rig.connection, response, sizeof response - 1, 0), sizeof response - 1);
    while (!rig.ended)
        (void)uv_run(&rig.loop, UV_RUN_ONCE);
    assert_int_equal(rig.error, TRANSPORT_OK);
    assert_int_equal(rig.status, 204);
    close_rig(&rig);
}

static void call_ends_when_timeout_ms_have_passed(void **state)
{
    struct rig rig;
    (void)state;
    open_rig(&rig, 300000);
    let_seconds_pass(&rig, 301);
    assert_int_equal(rig.ended, 1);
    assert_int_equal(rig.error, TRANSPORT_TIMEOUT);
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_may_be_silent_until_shortly_before_the_timeout),
        cmocka_unit_test(call_ends_when_timeout_ms_have_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
