/* Makes allocations of hiredis fail while the client connects: the process must continue and free all memory
 * when the client is closed. test_redis_faults.c tests that the client connects again. */
#include "unit.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "redis/redis_memory.h"
#include "limit/scripts.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FAILURES_MAX = 400, ITERATIONS = 6 };

/* A socket that accepts connections and never replies. */
static int listen_silently(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, FAILURES_MAX), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static struct redis *connect_to(uv_loop_t *loop, int port, const struct redis_probes *probes)
{
    struct redis_options options = {.host = strdup("127.0.0.1"), .port = port};
    assert_non_null(options.host);
    return redis_new(loop, &options, redis_scripts, probes->probes, REDIS_PROBES);
}

/* Lets each allocation of the handshake fail: first alone, and then together with all later ones. */
static void survives_every_failed_allocation(void **state)
{
    struct redis_probes probes;
    int port, fd = listen_silently(&port);
    (void)state;
    log_set(LOG_ERROR, LOG_TEXT);
    redis_probes_init(&probes, "viewtally:");
    for (int n = 0; n < FAILURES_MAX; n++) {
        uv_loop_t loop;
        assert_int_equal(uv_loop_init(&loop), 0);
        redis_memory_install();
        const size_t before = redis_memory_used();
        fault_arm((unsigned)n / 2 + 1, n % 2);
        struct redis *r = connect_to(&loop, port, &probes);
        for (int i = 0; i < ITERATIONS; i++)
            (void)uv_run(&loop, UV_RUN_NOWAIT);
        assert_true(!r || !redis_is_up(r));
        fault_arm(0, false);
        if (r)
            redis_close(r, NULL, NULL);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(uv_loop_close(&loop), 0);
        assert_int_equal(redis_memory_used(), before);
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(survives_every_failed_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
