/* The state machine of the client: attempts to connect, probes, and reactions to failed calls. The connection
 * is in redis_connection.c; pending calls are in redis_calls.c. */
#include "redis/redis.h"

#include "base/check.h"
#include "base/fault.h"
#include "base/number.h"
#include "base/backoff.h"
#include "redis/redis_calls.h"
#include "redis/redis_connection.h"
#include "redis/redis_reply.h"
#include "redis/redis_status.h"

#include <stdlib.h>

enum { OPEN_MS = 1000, PROBE_MS = 1000, SHA_LEN = 40 };

enum redis_state { REDIS_DOWN, REDIS_OPENING, REDIS_UP, REDIS_BROKEN, REDIS_CLOSED };

/* One command of a round of probes: loads the script, or sends the probe, with the number `index`. */
struct probe_command {
    struct redis_command command; /* must be the first member */
    struct redis *redis;
    int index;
};

struct redis_hook {
    void (*fn)(void *ctx); /* NULL if not set */
    void *ctx;
};

struct redis {
    uv_loop_t *loop;
    uv_timer_t retry; /* the pause before the next attempt, or the timeout of the current attempt */
    uv_prepare_t prepare;
    struct redis_hook before_wait, before_write, closed;
    struct redis_connection *connection;
    struct redis_calls calls;
    enum redis_state state;
    struct redis_status status;
    struct backoff backoff;
    bool
        is_trying; /* an attempt to connect or a round of probes is in progress, and `retry` is its timeout */
    const char *const *scripts;
    int script_count, loaded;
    char sha[REDIS_SCRIPTS_MAX][SHA_LEN + 1];
    struct probe_command loads[REDIS_SCRIPTS_MAX];
    const struct redis_probe *probes;
    int probe_count, probed;
    struct probe_command probe_commands[REDIS_PROBES_MAX];
    int open_handles;
};

static void on_retry(uv_timer_t *timer);

/* ---- state of the connection ---- */

static void redis_enter(struct redis *r, enum redis_state state)
{
    static const unsigned char edges[] = {
        [REDIS_DOWN] = 1 << REDIS_OPENING | 1 << REDIS_DOWN,
        [REDIS_OPENING] = 1 << REDIS_UP | 1 << REDIS_DOWN,
        [REDIS_UP] = 1 << REDIS_BROKEN | 1 << REDIS_DOWN,
        [REDIS_BROKEN] = 1 << REDIS_UP | 1 << REDIS_DOWN,
    };
    CHECK(r->state != REDIS_CLOSED && (state == REDIS_CLOSED || edges[r->state] & 1 << state));
    r->state = state;
    r->is_trying = state == REDIS_OPENING;
    if (state == REDIS_UP)
        redis_status_record_up(&r->status);
}

/* Enters DOWN or BROKEN. */
static void redis_fail(struct redis *r, enum redis_state state, enum redis_failure failure,
                       const char *reason)
{
    redis_enter(r, state);
    redis_status_record_loss(&r->status, failure, reason);
}

static void retry_later(struct redis *r)
{
    r->is_trying = false;
    CHECK(uv_timer_start(&r->retry, on_retry, (uint64_t)backoff_next(&r->backoff), 0) == 0);
}

/* Enter DOWN first, because dropping the connection completes waiters, which may call Redis again. */
static void go_down(struct redis *r, enum redis_failure failure, const char *reason)
{
    if (r->state == REDIS_CLOSED)
        return;
    redis_fail(r, REDIS_DOWN, failure, reason);
    redis_connection_drop(r->connection);
    retry_later(r);
}

static void on_lost(void *ctx, enum redis_failure failure, const char *reason)
{
    go_down(ctx, failure, reason);
}

static void on_call_ended(void *ctx, const char *failure)
{
    struct redis *r = ctx;
    if (r->state != REDIS_UP)
        return;
    if (failure) {
        redis_status_record_failed_call(&r->status);
        redis_fail(r, REDIS_BROKEN, REDIS_FAILED_CALL, failure);
        retry_later(r);
    } else {
        redis_status_record_successful_call(&r->status);
        backoff_reset(&r->backoff);
    }
}

/* ---- script calls ---- */

struct evalsha {
    int count;
    struct str args[REDIS_ARGS_MAX + 3];
    char number[I64_TEXT_MAX];
};

static void format_evalsha(const struct redis *r, struct evalsha *e, int script, const struct str *args,
                           int keys, int count)
{
    CHECK(script < r->script_count && keys <= count && count <= REDIS_ARGS_MAX);
    e->count = count + 3;
    e->args[0] = STR("EVALSHA");
    e->args[1] = str_make(r->sha[script], SHA_LEN);
    e->args[2] = str_make(e->number, i64_format(keys, e->number));
    memcpy(e->args + 3, args, (size_t)count * sizeof *args);
}

enum next redis_call(struct redis *r, int script, const struct str *args, int keys, int count,
                     struct waiter *w, struct redis_result *out)
{
    struct evalsha e;
    out->ok = false;
    out->count = 0;
    if (r->state != REDIS_UP)
        return NEXT_MORE;
    CHECK(!waiter_is_armed(w));
    format_evalsha(r, &e, script, args, keys, count);
    return redis_calls_start(&r->calls, r->connection, e.args, e.count, w, out);
}

void redis_send(struct redis *r, int script, const struct str *args, int keys, int count)
{
    struct evalsha e;
    if (r->state != REDIS_UP)
        return;
    format_evalsha(r, &e, script, args, keys, count);
    (void)redis_connection_send(r->connection, NULL, e.args, e.count);
}

void redis_set_before_wait(struct redis *r, void (*before_wait)(void *ctx), void *ctx)
{
    r->before_wait = (struct redis_hook){before_wait, ctx};
}

void redis_set_before_write(struct redis *r, void (*before_write)(void *ctx), void *ctx)
{
    r->before_write = (struct redis_hook){before_write, ctx};
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct redis *r = prepare->data;
    if (r->before_wait.fn)
        r->before_wait.fn(r->before_wait.ctx);
    if (r->before_write.fn && redis_connection_has_output(r->connection))
        r->before_write.fn(r->before_write.ctx);
    redis_connection_flush(r->connection);
}

/* ---- probing a new connection ---- */

static bool is_probing(const struct redis *r)
{
    return r->is_trying && (r->state == REDIS_OPENING || r->state == REDIS_BROKEN);
}

/* Also drops a connection that is otherwise healthy: after a failover, it may lead to the old master, while
 * the host name already has the address of the new one. */
static void probe_failed(struct redis *r, const struct redisReply *reply)
{
    const char *error = redis_reply_error(reply);
    go_down(r, REDIS_FAILED_CALL, error ? error : "a probe got an unexpected reply");
}

static void on_probed(struct redis_command *command, const struct redisReply *reply)
{
    const struct probe_command *p = (const struct probe_command *)command;
    struct redis *r = p->redis;
    if (!reply || !is_probing(r))
        return;
    if (!redis_reply_is_array(reply) || r->probed != p->index) {
        probe_failed(r, reply);
        return;
    }
    if (++r->probed < r->probe_count)
        return;
    redis_enter(r, REDIS_UP);
    (void)uv_timer_stop(&r->retry);
}

/* Sends all probes. If there is no memory for one of them, its reply is missing, and the timeout ends the
 * round of probes. */
static void send_probes(struct redis *r)
{
    r->probed = 0;
    for (int i = 0; i < r->probe_count; i++) {
        const struct redis_probe *p = &r->probes[i];
        struct evalsha e;
        format_evalsha(r, &e, p->script, p->args, p->keys, p->count);
        r->probe_commands[i] = (struct probe_command){.command = {on_probed}, .redis = r, .index = i};
        (void)redis_connection_send(r->connection, &r->probe_commands[i].command, e.args, e.count);
    }
}

static void on_loaded(struct redis_command *command, const struct redisReply *reply)
{
    const struct probe_command *p = (const struct probe_command *)command;
    struct redis *r = p->redis;
    if (!reply || !is_probing(r))
        return;
    const struct str sha = redis_reply_string(reply);
    if (sha.len != SHA_LEN) {
        probe_failed(r, reply);
        return;
    }
    memcpy(r->sha[p->index], sha.p, SHA_LEN);
    if (++r->loaded == r->script_count)
        send_probes(r);
}

/* Starts a round of probes: loads the scripts, and then runs them on Redis keys that belong to no API key. So
 * a problem that would make calls fail (a missing permission, a replica, full memory, a cluster redirect) is
 * detected before the first call. */
static void start_probes(struct redis *r)
{
    r->loaded = 0;
    r->is_trying = true;
    CHECK(uv_timer_start(&r->retry, on_retry, PROBE_MS, 0) == 0);
    for (int i = 0; i < r->script_count; i++) {
        const struct str load[] = {STR("SCRIPT"), STR("LOAD"), str_from_cstr(r->scripts[i])};
        r->loads[i] = (struct probe_command){.command = {on_loaded}, .redis = r, .index = i};
        (void)redis_connection_send(r->connection, &r->loads[i].command, load, 3);
    }
}

static void on_connected(void *ctx)
{
    start_probes(ctx);
}

static void attempt(struct redis *r)
{
    redis_enter(r, REDIS_OPENING);
    CHECK(uv_timer_start(&r->retry, on_retry, OPEN_MS, 0) == 0);
    redis_connection_open(r->connection);
}

/* Starts the next attempt or round of probes, or ends the current one after its timeout. */
static void on_retry(uv_timer_t *timer)
{
    struct redis *r = timer->data;
    if (r->state == REDIS_DOWN)
        attempt(r);
    else if (r->is_trying)
        go_down(r, REDIS_FAILED_CONNECTION, redis_connection_explain(r->connection, "no reply in time"));
    else if (r->state == REDIS_BROKEN)
        start_probes(r);
}

/* ---- creating and closing ---- */

static void on_handle_closed(uv_handle_t *handle)
{
    struct redis *r = handle->data;
    if (--r->open_handles > 0)
        return;
    const struct redis_hook closed = r->closed;
    redis_connection_free(r->connection);
    free(r);
    if (closed.fn)
        closed.fn(closed.ctx);
}

static void on_deadline_closed(uv_handle_t *handle)
{
    handle->data = LIST_ENTRY(handle->data, struct redis, calls);
    on_handle_closed(handle);
}

struct redis *redis_new(uv_loop_t *loop, struct redis_options *options, const char *const *scripts,
                        const struct redis_probe *probes, int probe_count)
{
    struct redis *r = try_calloc(1, sizeof *r);
    if (!r) {
        redis_options_fini(options);
        return NULL;
    }
    const struct redis_connection_events events = {.connected = on_connected, .lost = on_lost, .ctx = r};
    r->connection = redis_connection_new(loop, options, &events);
    if (!r->connection) {
        free(r);
        return NULL;
    }
    r->loop = loop;
    r->scripts = scripts;
    while (scripts[r->script_count])
        r->script_count++;
    CHECK(r->script_count <= REDIS_SCRIPTS_MAX && probe_count <= REDIS_PROBES_MAX);
    r->probes = probes;
    r->probe_count = probe_count;
    backoff_reset(&r->backoff);
    redis_calls_init(&r->calls, loop, on_call_ended, r);
    /* These libuv calls cannot fail. */
    CHECK(uv_timer_init(loop, &r->retry) == 0 && uv_prepare_init(loop, &r->prepare) == 0);
    CHECK(uv_prepare_start(&r->prepare, on_prepare) == 0);
    if (FAULT_OR(UV_EIO, uv_random(NULL, NULL, &r->backoff.random, sizeof r->backoff.random, 0, NULL)))
        r->backoff.random = uv_hrtime();
    r->retry.data = r->prepare.data = r;
    r->open_handles = 3;
    attempt(r);
    return r;
}

void redis_close(struct redis *r, void (*closed)(void *ctx), void *ctx)
{
    r->closed = (struct redis_hook){closed, ctx};
    redis_enter(r, REDIS_CLOSED);
    redis_connection_drop(r->connection);
    CHECK(list_is_empty(&r->calls.pending));
    uv_close((uv_handle_t *)&r->retry, on_handle_closed);
    uv_close((uv_handle_t *)&r->prepare, on_handle_closed);
    uv_close((uv_handle_t *)&r->calls.deadline, on_deadline_closed);
}

bool redis_is_up(const struct redis *r)
{
    return r->state == REDIS_UP;
}

bool redis_is_unavailable(const struct redis *r)
{
    return redis_status_is_unavailable(&r->status);
}

enum redis_failure redis_get_last_failure(const struct redis *r)
{
    return r->status.failure;
}

const char *redis_failure_reason(const struct redis *r)
{
    return r->status.reason;
}

struct redis_counts redis_get_counts(const struct redis *r)
{
    return r->calls.counts;
}
