/* Log lines about the connection are suppressed: the command itself reports that Redis is unavailable. */
#include "cli/redis_session.h"

#include "base/check.h"
#include "base/log.h"

enum { SESSION_MS = 1000 };

static void on_deadline(uv_timer_t *timer)
{
    struct redis_session *s = timer->data;
    s->timed_out = true;
}

/* The callback of the waiter. Does nothing, because redis_session_wait() checks the state of the waiter. */
static void wake(struct waiter *w)
{
    (void)w;
}

enum err redis_session_open(struct redis_session *s, const struct config *c, struct error *error)
{
    struct redis_options options;
    enum err err = redis_options_from_config(&options, c, error);
    if (err)
        return err;
    s->config = c;
    s->waiter.wake = wake;
    redis_probes_init(&s->probes, c->redis.key_prefix);
    CHECK(uv_loop_init(&s->loop) == 0 && uv_timer_init(&s->loop, &s->deadline) == 0);
    s->deadline.data = s;
    CHECK(uv_timer_start(&s->deadline, on_deadline, SESSION_MS, 0) == 0);
    log_set(LOG_NOTHING, c->log.format);
    s->redis = redis_new(&s->loop, &options, redis_scripts, s->probes.probes, REDIS_PROBES);
    CHECK(s->redis);
    while (!s->timed_out && !redis_is_up(s->redis) && !redis_is_unavailable(s->redis))
        (void)uv_run(&s->loop, UV_RUN_ONCE);
    return OK;
}

void redis_session_wait(struct redis_session *s)
{
    while (waiter_is_armed(&s->waiter) && !s->timed_out)
        (void)uv_run(&s->loop, UV_RUN_ONCE);
    waiter_cancel(&s->waiter);
}

void redis_session_close(struct redis_session *s)
{
    redis_close(s->redis, NULL, NULL);
    uv_close((uv_handle_t *)&s->deadline, NULL);
    CHECK(uv_run(&s->loop, UV_RUN_DEFAULT) == 0);
    CHECK(uv_loop_close(&s->loop) == 0);
    log_set(s->config->log.level, s->config->log.format);
}
