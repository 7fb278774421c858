/* Drives the PostgreSQL link for the Python tests. Usage: pg_driver URL HOLD_MS, with the password in
 * PG_DRIVER_PASSWORD. Reads commands from standard input; all lines of one read run in one loop iteration:
 *
 *   q ID STATEMENT N   starts a query with the parameter N     c ID      cancels it
 *   s                  prints the status                       x         closes the link and exits
 *   t                  prints `ticked` after the link has checked its deadlines
 *   fault N            makes the N-th allocation or libuv call from now on fail
 *   bench STATEMENT N BATCH COUNT
 *                      runs COUNT batches of BATCH queries; prints the number of queries, the CPU time of
 *                      this process and the elapsed time
 *
 * Prints `r ID SQLSTATE VALUE timeline=N ERROR` for each completed query (VALUE is the sum of the first
 * column), `state NAME` when the state of the link has changed, and `closed` at the end. If PG_DRIVER_BARE is
 * set, the link has no statements. */
#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/number.h"
#include "pg/pg_link.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* TICKS_MS: the time in which the link checks its deadlines twice. */
enum { SLOTS = 4096, INPUT_MAX = 1 << 17, TICKS_MS = 100 };

static const struct pg_statement statements[] = {
    {"one", "SELECT 1::bigint WHERE $1::bigint IS NOT NULL", true},
    {"echo", "SELECT $1::bigint", true},
    {"divide", "SELECT 100 / $1::bigint", true},
    {"series", "SELECT i FROM generate_series(1::bigint, $1::bigint) i", true},
    {"nap", "SELECT 1::bigint FROM pg_sleep($1::bigint / 1000.0)", true},
    {"count", "SELECT count(*) FROM notes WHERE id = $1::bigint", true},
    {"note", "INSERT INTO notes (id) VALUES ($1::bigint)", false},
    {"deferred", "INSERT INTO deferred_notes (id) VALUES ($1::bigint)", false},
    {"heads",
     "SELECT author_id, rev, feed_rev, keys_rev, last_event_id FROM heads WHERE author_id = ANY "
     "($1::bigint[])",
     true},
};
enum { STATEMENTS = sizeof statements / sizeof *statements, HEADS = STATEMENTS - 1 };

struct slot {
    struct waiter waiter; /* must be first, because on_reply() and on_bench_reply() cast it to the slot */
    struct pg_reply reply;
    struct driver *driver;
    int id;
    int64_t sum;
};

struct driver {
    uv_loop_t loop;
    uv_pipe_t in;
    uv_check_t check;
    uv_timer_t tick;
    struct pg_link *link;
    enum pg_link_state printed;
    struct slot slots[SLOTS];
    char input[INPUT_MAX];
    size_t len;
    bool is_closing;
    struct {
        int statement, n, batch, left, pending;
        int64_t rows, count, cpu_us, wall_us;
    } bench;
};

static struct driver driver;

static bool sum_rows(void *ctx, const struct pg_result *result)
{
    struct slot *s = ctx;
    s->sum = 0;
    for (int i = 0; i < pg_result_rows(result); i++) {
        struct pg_row row = {.result = result, .row = i};
        s->sum += pg_row_i64(&row, 0);
        if (row.bad)
            return false;
    }
    return true;
}

static void print_reply(struct slot *s)
{
    printf("r %d %s %" PRId64 " timeline=%u %s\n", s->id, *s->reply.sqlstate ? s->reply.sqlstate : "-",
           s->sum, s->reply.incarnation.timeline, err_name(s->reply.err));
    (void)fflush(stdout);
}

static void on_reply(struct waiter *w)
{
    print_reply((struct slot *)w);
}

static int find_statement(const char *name)
{
    for (int i = 0; i < STATEMENTS; i++)
        if (strcmp(statements[i].name, name) == 0)
            return i;
    return -1;
}

static void add_parameter(struct pg_params *params, int statement, int64_t n)
{
    int64_t ids[1024];
    pg_params_init(params);
    if (statement != HEADS) {
        pg_params_add_i64(params, n);
        return;
    }
    for (int i = 0; i < n && i < 1024; i++)
        ids[i] = 1 + (driver.bench.count * 64 + i) % 10000;
    pg_params_add_i64s(params, ids, (int)n);
}

static void start_query(struct slot *s, int statement, int64_t n)
{
    struct pg_params params;
    add_parameter(&params, statement, n);
    if (pg_link_query(s->driver->link, statement, &params, &s->waiter, &s->reply) == NEXT_MORE)
        print_reply(s);
}

static void command_query(struct driver *d, const char *line)
{
    int id;
    char name[20];
    int64_t n;
    if (sscanf(line, "q %d %19s %" SCNd64, &id, name, &n) != 3 || find_statement(name) < 0)
        return;
    struct slot *s = &d->slots[id];
    *s = (struct slot){.waiter = {.wake = on_reply}, .driver = d, .id = id};
    s->reply.decode = sum_rows;
    s->reply.ctx = s;
    start_query(s, find_statement(name), n);
}

static void print_status(const struct driver *d)
{
    const struct pg_status s = pg_link_get_status(d->link);
    const struct pg_counts c = pg_link_get_counts(d->link);
    printf("status state=%s held=%d in_flight=%d age=%" PRId64 " timeline=%u started=%" PRId64
           " synchronous=%d batches=%llu resent=%llu losses=%llu failure=%s host=%s reason=%s\n",
           pg_link_state_name(s.state), s.held, s.in_flight, s.barrier_age_ms, s.incarnation.timeline,
           s.incarnation.started_us, s.is_synchronous, c.batches, c.resent, c.losses,
           pg_failure_name(s.failure), s.host, s.reason);
    (void)fflush(stdout);
}

/* ---- bench ---- */

static void bench_round(struct driver *d);

static int64_t cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void on_bench_reply(struct waiter *w)
{
    struct driver *d = ((struct slot *)w)->driver;
    CHECK(((struct slot *)w)->reply.err == OK);
    if (--d->bench.pending > 0)
        return;
    if (--d->bench.left > 0) {
        bench_round(d);
        return;
    }
    printf("bench queries=%" PRId64 " cpu_us=%" PRId64 " wall_us=%" PRId64 "\n", d->bench.count,
           cpu_us() - d->bench.cpu_us, clock_work_us() - d->bench.wall_us);
    (void)fflush(stdout);
}

static void bench_round(struct driver *d)
{
    d->bench.pending = d->bench.batch;
    for (int i = 0; i < d->bench.batch; i++) {
        struct slot *s = &d->slots[i];
        *s = (struct slot){.waiter = {.wake = on_bench_reply}, .driver = d, .id = i};
        s->reply.decode = sum_rows;
        s->reply.ctx = s;
        start_query(s, d->bench.statement, d->bench.n);
        d->bench.count++;
    }
}

static void command_bench(struct driver *d, const char *line)
{
    char name[20];
    if (sscanf(line, "bench %19s %d %d %d", name, &d->bench.n, &d->bench.batch, &d->bench.left) != 4)
        return;
    d->bench.statement = find_statement(name);
    d->bench.count = 0;
    d->bench.cpu_us = cpu_us();
    d->bench.wall_us = clock_work_us();
    bench_round(d);
}

/* ---- commands ---- */

static void on_link_closed(void *ctx)
{
    struct driver *d = ctx;
    printf("closed\n");
    uv_close((uv_handle_t *)&d->in, NULL);
    uv_close((uv_handle_t *)&d->check, NULL);
    uv_close((uv_handle_t *)&d->tick, NULL);
}

static void close_all(struct driver *d)
{
    if (d->is_closing)
        return;
    d->is_closing = true;
    for (int i = 0; i < SLOTS; i++)
        waiter_cancel(&d->slots[i].waiter);
    pg_link_close(d->link, on_link_closed, d);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    printf("ticked\n");
    (void)fflush(stdout);
}

static void run_line(struct driver *d, const char *line)
{
    if (line[0] == 'q')
        command_query(d, line);
    else if (line[0] == 'c')
        waiter_cancel(&d->slots[strtol(line + 1, NULL, 10) % SLOTS].waiter);
    else if (line[0] == 's')
        print_status(d);
    else if (line[0] == 't')
        CHECK(uv_timer_start(&d->tick, on_tick, TICKS_MS, 0) == 0);
    else if (line[0] == 'f')
        fault_arm((unsigned)strtoul(line + 6, NULL, 10), false);
    else if (line[0] == 'b')
        command_bench(d, line);
    else if (line[0] == 'x')
        close_all(d);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct driver *d = handle->data;
    (void)size;
    *buf = uv_buf_init(d->input + d->len, (unsigned)(sizeof d->input - d->len - 1));
}

static void on_input(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct driver *d = stream->data;
    (void)buf;
    if (n < 0) {
        close_all(d);
        return;
    }
    d->len += (size_t)n;
    d->input[d->len] = 0;
    char *line = d->input, *end;
    for (; !d->is_closing && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        run_line(d, line);
    }
    d->len -= (size_t)(line - d->input);
    memmove(d->input, line, d->len);
}

static void on_check(uv_check_t *check)
{
    struct driver *d = check->data;
    const enum pg_link_state state = d->is_closing ? d->printed : pg_link_get_status(d->link).state;
    if (state == d->printed)
        return;
    d->printed = state;
    printf("state %s\n", pg_link_state_name(state));
    (void)fflush(stdout);
}

static int start_link(struct driver *d, char **argv)
{
    struct pg_options where;
    struct error error = {0};
    if (pg_options_parse(&where, argv[1], getenv("PG_DRIVER_PASSWORD"), NULL, &error)) {
        printf("invalid %s\n", error.text);
        pg_options_fini(&where);
        return 2;
    }
    const struct pg_link_options options = {.statements = statements,
                                            .statement_count = getenv("PG_DRIVER_BARE") ? 0 : STATEMENTS,
                                            .process = "driver",
                                            .hold_ms = (int)strtol(argv[2], NULL, 10),
                                            .held_max = PG_QUEUE_MAX};
    d->link = pg_link_new(&d->loop, &where, &options);
    return d->link ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct driver *d = &driver;
    if (argc != 3 || !clock_use_test_file())
        return 2;
    clock_test_connections();
    log_set(LOG_INFO, LOG_TEXT);
    CHECK(uv_loop_init(&d->loop) == 0);
    int status = start_link(d, argv);
    if (status)
        return status;
    CHECK(uv_pipe_init(&d->loop, &d->in, 0) == 0 && uv_check_init(&d->loop, &d->check) == 0);
    CHECK(uv_timer_init(&d->loop, &d->tick) == 0);
    d->in.data = d->check.data = d;
    CHECK(uv_check_start(&d->check, on_check) == 0 && uv_pipe_open(&d->in, 0) == 0);
    CHECK(uv_read_start((uv_stream_t *)&d->in, on_alloc, on_input) == 0);
    CHECK(uv_run(&d->loop, UV_RUN_DEFAULT) == 0);
    CHECK(uv_loop_close(&d->loop) == 0); /* no handle is left */
    return 0;
}
