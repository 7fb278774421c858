/* Makes the n-th allocation or call of libuv fail, for every n. Every request must get a verdict: if Redis
 * cannot be used, from the windows of this process. After the fault, Redis must be used again. The Redis
 * server is a socket of this process that replies like the scripts. */
#include "unit.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "limit/limiter.h"
#include "limit/scripts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    WORDS_MAX = 512,
    INPUT_MAX = 1 << 16,
    LIMIT = 60,
    FAULTS_MAX = 400,
};

struct rig {
    uv_loop_t loop;
    uv_timer_t tick; /* wakes the loop, so that the server runs */
    struct redis *redis;
    struct limiter *limiter;
    struct redis_probes probes;
    int listener, fd, port; /* fd -1: no connection */
    int scripts;            /* number of scripts loaded on this connection */
    size_t len;
    char in[INPUT_MAX];
};

/* ---- the fake Redis server ---- */

static void listen_on(struct rig *rig)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    rig->fd = -1;
    rig->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(rig->listener >= 0);
    assert_int_equal(bind(rig->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(rig->listener, 16), 0);
    assert_int_equal(getsockname(rig->listener, (struct sockaddr *)&address, &len), 0);
    rig->port = ntohs(address.sin_port);
}

/* Parses the first command of the input. Returns its length in bytes, 0 if it is incomplete. */
static size_t read_command(const struct rig *rig, struct str words[WORDS_MAX], int *count)
{
    const char *at = rig->in, *end = rig->in + rig->len;
    if (!memchr(at, '\n', rig->len))
        return 0;
    *count = (int)strtol(at + 1, NULL, 10);
    assert_in_range(*count, 1, WORDS_MAX);
    at = (const char *)memchr(at, '\n', rig->len) + 1;
    for (int i = 0; i < *count; i++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line)
            return 0;
        size_t size = (size_t)strtol(at + 1, NULL, 10);
        if ((size_t)(end - line) < size + 3)
            return 0;
        words[i] = str_make(line + 1, size);
        at = line + 1 + size + 2;
    }
    return (size_t)(at - rig->in);
}

static void reply_integers(struct buf *out, int count, int value)
{
    buf_printf(out, "*%d\r\n", count);
    for (int i = 0; i < count; i++)
        buf_printf(out, ":%d\r\n", value);
}

/* Replies to a command as Redis does when it runs viewtally's scripts. The fake SHA-1 of the n-th script
 * is the digit n, forty times. */
static void reply(struct rig *rig, struct buf *out, const struct str *words, int count)
{
    if (str_eq(words[0], STR("SCRIPT"))) {
        buf_append(out, STR("$40\r\n"));
        for (int i = 0; i < 40; i++)
            buf_append_char(out, (char)('0' + rig->scripts));
        buf_append(out, STR("\r\n"));
        rig->scripts++;
        return;
    }
    assert_str(words[0], "EVALSHA");
    switch (words[1].p[0] - '0') {
    case SCRIPT_LIMIT: reply_integers(out, 2 * (count - 4), 1); break; /* 1 more allowed, 1 ms until reset */
    case SCRIPT_LOAD_POLLS: reply_integers(out, 4 * (count - 3), 0); break;
    default: reply_integers(out, 0, 0);
    }
}

static void serve_input(struct rig *rig)
{
    static char room[INPUT_MAX];
    struct buf out = buf_on(room, sizeof room);
    struct str words[WORDS_MAX];
    int count;
    size_t size;
    while ((size = read_command(rig, words, &count)) > 0) {
        reply(rig, &out, words, count);
        rig->len -= size;
        memmove(rig->in, rig->in + size, rig->len);
    }
    if (out.len)
        (void)send(rig->fd, out.p, out.len, MSG_NOSIGNAL);
}

static void serve(struct rig *rig)
{
    int fd = accept4(rig->listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd >= 0) {
        if (rig->fd >= 0)
            close(rig->fd);
        rig->fd = fd;
        rig->len = 0;
        rig->scripts = 0;
    }
    if (rig->fd < 0)
        return;
    ssize_t n = read(rig->fd, rig->in + rig->len, sizeof rig->in - rig->len);
    if (n > 0) {
        rig->len += (size_t)n;
        serve_input(rig);
    } else if (n == 0 || errno != EAGAIN) {
        close(rig->fd);
        rig->fd = -1;
    }
}

/* ---- the loop and clock of the test ---- */

static void run_iteration(struct rig *rig)
{
    (void)uv_run(&rig->loop, UV_RUN_ONCE);
    serve(rig);
}

#define until(rig, condition)                                                                                \
    do {                                                                                                     \
        int64_t until_limit_us = clock_work_us() + 60000000;                                                 \
        while (!(condition)) {                                                                               \
            run_iteration(rig);                                                                              \
            assert_true(clock_work_us() < until_limit_us);                                                   \
        }                                                                                                    \
    } while (0)

static void start(struct rig *rig, const char *host)
{
    struct redis_options options = {.host = strdup(host), .port = rig->port};
    assert_non_null(options.host);
    rig->redis = redis_new(&rig->loop, &options, redis_scripts, rig->probes.probes, REDIS_PROBES);
}

/* The monotonic clock of the test advances by 1 ms per timer tick, and the server runs in each iteration
 * of the loop. So only calls that were lost time out, even on a busy machine. */
static int64_t *test_clock_ms;

static void on_tick(uv_timer_t *tick)
{
    (void)tick;
    test_clock_ms[1]++;
}

static struct rig *rig_new(void)
{
    struct rig *rig = calloc(1, sizeof *rig);
    assert_non_null(rig);
    assert_int_equal(uv_loop_init(&rig->loop), 0);
    assert_int_equal(uv_timer_init(&rig->loop, &rig->tick), 0);
    assert_int_equal(uv_timer_start(&rig->tick, on_tick, 1, 1), 0);
    redis_probes_init(&rig->probes, "viewtally:");
    listen_on(rig);
    return rig;
}

static void rig_free(struct rig *rig)
{
    if (rig->limiter)
        limiter_detach_redis(rig->limiter);
    if (rig->redis)
        redis_close(rig->redis, NULL, NULL);
    uv_close((uv_handle_t *)&rig->tick, NULL);
    assert_int_equal(uv_run(&rig->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    limiter_free(rig->limiter);
    if (rig->fd >= 0)
        close(rig->fd);
    close(rig->listener);
    free(rig);
}

static void wake(struct waiter *w)
{
    (void)w;
}

/* Sends one request, which must be admitted. Returns the source of the verdict. */
static enum limiter_source acquire(struct rig *rig, int64_t key)
{
    struct waiter w = {.wake = wake};
    struct limiter_call call;
    if (limiter_acquire(rig->limiter, key, &(struct uuid){{0}}, clock_mono_ms(), &w, &call) == NEXT_WAIT)
        until(rig, !waiter_is_armed(&w));
    limiter_decide(rig->limiter, &call);
    assert_true(call.verdict.admitted);
    assert_int_equal(call.verdict.limit, LIMIT);
    return call.source;
}

/* Waits until Redis decides a request. Uses a different key each time, because on a busy machine a reply
 * may be late and the request then counts in the window of the process. */
static void expect_redis_decides(struct rig *rig)
{
    int64_t key = 1000;
    do
        until(rig, redis_is_up(rig->redis));
    while (acquire(rig, key++) != LIMITER_REDIS);
}

/* ---- tests ---- */

static bool connect_with_fault(const char *host, unsigned n, bool is_permanent)
{
    struct rig *rig = rig_new();
    fault_arm(n, is_permanent);
    start(rig, host);
    if (rig->redis)
        until(rig, redis_is_up(rig->redis) || redis_is_unavailable(rig->redis));
    bool has_failed = fault_count() > 0;
    fault_arm(0, false);
    assert_true(rig->redis || has_failed);
    if (rig->redis) {
        rig->limiter = limiter_new(LIMIT, rig->redis, "viewtally:");
        expect_redis_decides(rig);
    }
    rig_free(rig);
    return has_failed;
}

static void survives_a_failure_of_each_call_while_connecting(void **state)
{
    (void)state;
    for (int is_permanent = 0; is_permanent < 2; is_permanent++) {
        unsigned n = 1;
        while (n < FAULTS_MAX && connect_with_fault("127.0.0.1", n, is_permanent))
            n++;
        assert_in_range(n, 15, FAULTS_MAX - 1);
    }
}

/* Faults are injected only on this thread. So this tests the start of the lookup and the handling of its
 * result, but not the allocations of the thread that looks up the name. */
static void survives_a_failed_name_lookup(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 6; n++)
        assert_true(connect_with_fault("localhost", n, false));
}

static bool acquire_with_fault(unsigned n, bool is_permanent)
{
    struct rig *rig = rig_new();
    start(rig, "127.0.0.1");
    rig->limiter = limiter_new(LIMIT, rig->redis, "viewtally:");
    /* No request is made before the fault, so that the allocations of the first request can fail, too. */
    until(rig, redis_is_up(rig->redis));
    fault_arm(n, is_permanent);
    for (int64_t key = 1; key <= 3; key++)
        (void)acquire(rig, key);
    bool has_failed = fault_count() > 0;
    fault_arm(0, false);
    expect_redis_decides(rig);
    rig_free(rig);
    return has_failed;
}

static void survives_a_failure_of_each_call_during_a_rate_limit_check(void **state)
{
    (void)state;
    for (int is_permanent = 0; is_permanent < 2; is_permanent++) {
        unsigned n = 1;
        while (n < FAULTS_MAX && acquire_with_fault(n, is_permanent))
            n++;
        assert_in_range(n, 8, FAULTS_MAX - 1);
    }
}

static int set_up(void **state)
{
    (void)state;
    static const int64_t start[2] = {0, 1000000};
    char path[] = "/tmp/vt-redis-XXXXXX";
    int fd = mkstemp(path);
    log_set(LOG_ERROR, LOG_TEXT);
    if (fd < 0 || write(fd, start, sizeof start) != sizeof start)
        return -1;
    test_clock_ms = mmap(NULL, sizeof start, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    const bool used =
        test_clock_ms != MAP_FAILED && setenv("VIEWTALLY_TEST_CLOCK", path, 1) == 0 && clock_use_test_file();
    (void)close(fd);
    (void)unlink(path);
    return used ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_a_failure_of_each_call_while_connecting),
        cmocka_unit_test(survives_a_failed_name_lookup),
        cmocka_unit_test(survives_a_failure_of_each_call_during_a_rate_limit_check),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
