/* Runs a loop of its own until the last reply has arrived. */
#include "redis/redis_inspection.h"

#include "base/check.h"
#include "redis/redis_connection.h"
#include "redis/redis_reply.h"

#include <stdio.h>

struct redis_inspection {
    struct redis_command command; /* must be the first member */
    uv_loop_t loop;
    uv_timer_t deadline;
    struct redis_connection *connection;
    struct redis_inspected *commands;
    int count, next;
    uint64_t sent_ns;
    bool is_over;
    enum redis_failure failure;
    struct error *error; /* has a code after a failure */
};

static void fail(struct redis_inspection *i, enum redis_failure failure, const char *reason)
{
    i->is_over = true;
    i->failure = failure;
    (void)error_set(i->error, ERR_IO, "%s", reason);
}

static void send_next(struct redis_inspection *i)
{
    i->is_over = i->next == i->count;
    if (i->is_over)
        return;
    const struct redis_inspected *c = &i->commands[i->next];
    i->sent_ns = uv_hrtime();
    if (redis_connection_send(i->connection, &i->command, c->words, c->count))
        redis_connection_flush(i->connection);
    else
        fail(i, REDIS_FAILED_CALL, "out of memory");
}

static void on_inspected(struct redis_command *command, const struct redisReply *reply)
{
    struct redis_inspection *i = (struct redis_inspection *)command;
    if (!reply || i->is_over)
        return;
    struct redis_inspected *c = &i->commands[i->next++];
    c->took_us = (int64_t)((uv_hrtime() - i->sent_ns) / 1000);
    c->has_reply = true;
    c->is_error = redis_reply_error(reply) != NULL;
    redis_reply_append(reply, &c->reply);
    send_next(i);
}

static void on_connected(void *ctx)
{
    send_next(ctx);
}

static void on_lost(void *ctx, enum redis_failure failure, const char *reason)
{
    struct redis_inspection *i = ctx;
    if (!i->is_over)
        fail(i, failure, reason);
}

static void on_deadline(uv_timer_t *timer)
{
    fail(timer->data, REDIS_FAILED_CONNECTION, "no reply in time");
}

static void run(struct redis_inspection *i)
{
    redis_connection_open(i->connection);
    while (!i->is_over && uv_run(&i->loop, UV_RUN_ONCE))
        continue;
    i->is_over = true;
    redis_connection_drop(i->connection);
}

enum err redis_inspect(struct redis_options *options, struct redis_inspected *commands, int count,
                       int timeout_ms, enum redis_failure *failure, struct error *error)
{
    struct redis_inspection i = {
        .command = {on_inspected}, .commands = commands, .count = count, .error = error};
    const struct redis_connection_events events = {.connected = on_connected, .lost = on_lost, .ctx = &i};
    error->code = OK;
    CHECK(uv_loop_init(&i.loop) == 0 && uv_timer_init(&i.loop, &i.deadline) == 0);
    i.deadline.data = &i;
    CHECK(uv_timer_start(&i.deadline, on_deadline, (uint64_t)timeout_ms, 0) == 0);
    i.connection = redis_connection_new(&i.loop, options, &events);
    if (i.connection)
        run(&i);
    else
        fail(&i, REDIS_FAILED_CONNECTION, "out of memory");
    uv_close((uv_handle_t *)&i.deadline, NULL);
    CHECK(uv_run(&i.loop, UV_RUN_DEFAULT) == 0);
    if (i.connection)
        redis_connection_free(i.connection);
    CHECK(uv_run(&i.loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&i.loop) == 0);
    *failure = i.failure;
    return error->code;
}
