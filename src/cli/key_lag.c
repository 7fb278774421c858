/* A short-lived loop around one question to Redis. */
#include "cli/key_lag.h"

#include "base/check.h"
#include "limit/scripts.h"
#include "store/read.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_MS = 1000 };

struct asking {
    uv_loop_t loop;
    uv_timer_t limit;
    struct redis *redis;
    struct poll_positions *cursors;
    struct waiter wait;
    struct poll_positions_call *call;
    bool over;
};

static void on_limit(uv_timer_t *timer)
{
    struct asking *a = timer->data;
    a->over = true;
}

/* ask() looks whether the wait is over. */
static void wake(struct waiter *w)
{
    (void)w;
}

static void open_redis(struct asking *a, const struct config *c, struct redis_options *options,
                       const struct redis_probes *probes)
{
    CHECK(uv_loop_init(&a->loop) == 0 && uv_timer_init(&a->loop, &a->limit) == 0);
    a->limit.data = a;
    CHECK(uv_timer_start(&a->limit, on_limit, LIMIT_MS, 0) == 0);
    a->redis = redis_new(&a->loop, options, redis_scripts, probes->probes, REDIS_PROBES);
    a->cursors = poll_positions_new(&a->loop, a->redis, c->redis.key_prefix);
    a->wait.wake = wake;
    while (a->redis && !a->over && !redis_is_up(a->redis) && !redis_is_unavailable(a->redis))
        (void)uv_run(&a->loop, UV_RUN_ONCE);
}

static void close_redis(struct asking *a)
{
    poll_positions_close(a->cursors);
    if (a->redis)
        redis_close(a->redis, NULL, NULL);
    uv_close((uv_handle_t *)&a->limit, NULL);
    CHECK(uv_run(&a->loop, UV_RUN_DEFAULT) == 0);
    CHECK(uv_loop_close(&a->loop) == 0);
}

/* False: no answer. */
static bool ask(struct asking *a, struct key_feed *feeds, int count)
{
    struct uuid ids[POLL_POSITIONS_MAX];
    for (int i = 0; i < count; i++)
        ids[i] = feeds[i].key_id;
    if (poll_positions_load(a->cursors, ids, count, &a->wait, a->call) == NEXT_WAIT)
        while (waiter_is_armed(&a->wait) && !a->over)
            (void)uv_run(&a->loop, UV_RUN_ONCE);
    waiter_cancel(&a->wait);
    for (int i = 0; i < count; i++) {
        feeds[i].answered = a->call->result.ok;
        feeds[i].cursor = poll_positions_get(a->call, i);
    }
    return a->call->result.ok;
}

static void count_behind(struct store *store, int64_t author_row, struct key_feed *feed)
{
    struct store_read read = {.store = store};
    if (feed->cursor.known)
        (void)store_count_events(&read, author_row, feed->cursor.after, LAG_MAX + 1, &feed->behind);
}

enum key_feed_state key_feed_read(const struct config *c, struct store *store, int64_t author_row,
                                  struct key_feed *feeds, size_t count, char *message, size_t size)
{
    struct redis_probes probes;
    struct redis_options options;
    struct asking a = {.over = false};
    bool ok = true;
    *message = '\0';
    if (!*c->redis.url)
        return KEY_FEED_NONE;
    struct error error = {0};
    if (redis_options_configured(&options, c, &error)) {
        (void)snprintf(message, size, "%s", error.text);
        return KEY_FEED_AWAY;
    }
    redis_probes_init(&probes, c->redis.key_prefix);
    a.call = xcalloc(1, sizeof *a.call);
    log_set(LOG_ERROR, c->log.format); /* the list itself says when Redis is away */
    open_redis(&a, c, &options, &probes);
    for (size_t i = 0; i < count && ok; i += POLL_POSITIONS_MAX)
        ok = ask(&a, feeds + i, count - i < POLL_POSITIONS_MAX ? (int)(count - i) : POLL_POSITIONS_MAX);
    close_redis(&a);
    log_set(c->log.level, c->log.format);
    free(a.call);
    for (size_t i = 0; i < count; i++)
        count_behind(store, author_row, &feeds[i]);
    return ok ? KEY_FEED_READ : KEY_FEED_AWAY;
}
