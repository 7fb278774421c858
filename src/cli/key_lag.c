/* A short-lived event loop around the Redis calls. */
#include "cli/key_lag.h"

#include "base/check.h"
#include "limit/scripts.h"
#include "store/read.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEADLINE_MS = 1000 };

struct lag_query {
    uv_loop_t loop;
    uv_timer_t deadline;
    struct redis *redis;
    struct poll_positions *positions;
    struct waiter wait;
    struct poll_positions_call *call;
    bool timed_out;
};

static void on_deadline(uv_timer_t *timer)
{
    struct lag_query *a = timer->data;
    a->timed_out = true;
}

/* load() checks the wait itself. */
static void wake(struct waiter *w)
{
    (void)w;
}

static void open_redis(struct lag_query *a, const struct config *c, struct redis_options *options,
                       const struct redis_probes *probes)
{
    CHECK(uv_loop_init(&a->loop) == 0 && uv_timer_init(&a->loop, &a->deadline) == 0);
    a->deadline.data = a;
    CHECK(uv_timer_start(&a->deadline, on_deadline, DEADLINE_MS, 0) == 0);
    a->redis = redis_new(&a->loop, options, redis_scripts, probes->probes, REDIS_PROBES);
    a->positions = poll_positions_new(&a->loop, a->redis, c->redis.key_prefix);
    a->wait.wake = wake;
    while (a->redis && !a->timed_out && !redis_is_up(a->redis) && !redis_is_unavailable(a->redis))
        (void)uv_run(&a->loop, UV_RUN_ONCE);
}

static void close_redis(struct lag_query *a)
{
    poll_positions_close(a->positions);
    if (a->redis)
        redis_close(a->redis, NULL, NULL);
    uv_close((uv_handle_t *)&a->deadline, NULL);
    CHECK(uv_run(&a->loop, UV_RUN_DEFAULT) == 0);
    CHECK(uv_loop_close(&a->loop) == 0);
}

/* Returns false if Redis did not reply. */
static bool load(struct lag_query *a, struct key_lag *lags, int count)
{
    struct uuid ids[POLL_POSITIONS_MAX];
    for (int i = 0; i < count; i++)
        ids[i] = lags[i].key_id;
    if (poll_positions_load(a->positions, ids, count, &a->wait, a->call) == NEXT_WAIT)
        while (waiter_is_armed(&a->wait) && !a->timed_out)
            (void)uv_run(&a->loop, UV_RUN_ONCE);
    waiter_cancel(&a->wait);
    for (int i = 0; i < count; i++) {
        lags[i].is_read = a->call->result.ok;
        lags[i].position = poll_positions_get(a->call, i);
    }
    return a->call->result.ok;
}

static void count_events(struct store *store, int64_t author_row, struct key_lag *lag)
{
    struct store_read read = {.store = store};
    if (lag->position.known)
        (void)store_count_events(&read, author_row, lag->position.after, LAG_MAX + 1, &lag->events);
}

enum key_lag_state key_lag_read(const struct config *c, struct store *store, int64_t author_row,
                                struct key_lag *lags, size_t count, struct error *error)
{
    struct redis_probes probes;
    struct redis_options options;
    struct lag_query a = {.timed_out = false};
    bool ok = true;
    *error = (struct error){0};
    if (!*c->redis.url)
        return KEY_LAG_NO_REDIS;
    if (redis_options_configured(&options, c, error))
        return KEY_LAG_UNAVAILABLE;
    redis_probes_init(&probes, c->redis.key_prefix);
    a.call = xcalloc(1, sizeof *a.call);
    log_set(LOG_ERROR, c->log.format); /* the list shows that Redis is unavailable */
    open_redis(&a, c, &options, &probes);
    for (size_t i = 0; i < count && ok; i += POLL_POSITIONS_MAX)
        ok = load(&a, lags + i, count - i < POLL_POSITIONS_MAX ? (int)(count - i) : POLL_POSITIONS_MAX);
    close_redis(&a);
    log_set(c->log.level, c->log.format);
    free(a.call);
    for (size_t i = 0; i < count; i++)
        count_events(store, author_row, &lags[i]);
    return ok ? KEY_LAG_READ : KEY_LAG_UNAVAILABLE;
}
