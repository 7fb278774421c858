/* Pending calls and their deadlines.
 *
 *   PENDING --reply, late, or connection lost--> waiter completes --reply, or connection lost--> freed
 *   PENDING --waiter_cancel()--> no waiter --reply, or connection lost--> freed */
#include "redis/redis_calls.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"
#include "redis/redis_reply.h"

#include <stdlib.h>

enum { CALL_MAGIC = 0x43616c6c };

struct pending_call {
    struct redis_command command; /* must be the first member */
    unsigned magic;
    struct redis_calls *calls;
    struct list link;      /* link in calls->pending */
    struct waiter *waiter; /* NULL if canceled or late */
    struct redis_result *out;
    int64_t sent_ms;  /* monotonic; for the deadline */
    uint64_t sent_ns; /* for the metrics */
};

static void arm_deadline(struct redis_calls *calls);

static void complete(struct pending_call *call)
{
    struct waiter *w = call->waiter;
    call->waiter = NULL;
    call->out = NULL;
    list_remove(&call->link);
    if (w)
        waiter_complete(w);
}

static void cancel(struct waiter *w)
{
    struct pending_call *call = w->call;
    CHECK(call->magic == CALL_MAGIC);
    call->waiter = NULL;
    call->out = NULL;
}

static void on_deadline(uv_timer_t *timer)
{
    struct redis_calls *calls = timer->data;
    const int64_t now_ms = clock_mono_ms();
    bool late = false;
    while (!list_is_empty(&calls->pending)) {
        struct pending_call *call = LIST_ENTRY(calls->pending.next, struct pending_call, link);
        if (now_ms - call->sent_ms < REDIS_DEADLINE_MS)
            break;
        late = true;
        calls->counts.late++;
        calls->counts.failed++;
        complete(call);
    }
    if (late)
        calls->ended(calls->ctx, "no reply in time");
    arm_deadline(calls);
}

static void arm_deadline(struct redis_calls *calls)
{
    if (list_is_empty(&calls->pending)) {
        (void)uv_timer_stop(&calls->deadline);
        return;
    }
    const int64_t sent_ms = LIST_ENTRY(calls->pending.next, struct pending_call, link)->sent_ms;
    const int64_t left_ms = sent_ms + REDIS_DEADLINE_MS - clock_mono_ms();
    CHECK(uv_timer_start(&calls->deadline, on_deadline, (uint64_t)(left_ms > 0 ? left_ms : 0), 0) == 0);
}

/* Stores the reply for the waiter. Returns NULL, or the reason if the call failed. */
static const char *store_result(struct pending_call *call, const struct redisReply *reply)
{
    call->out->ok = redis_reply_integers(reply, call->out);
    call->calls->counts.failed += !call->out->ok;
    metrics_observe(&call->calls->counts.times, (int64_t)((uv_hrtime() - call->sent_ns) / 1000));
    return call->out->ok ? NULL : "unexpected reply";
}

static void on_replied(struct redis_command *command, const struct redisReply *reply)
{
    struct pending_call *call = (struct pending_call *)command;
    const struct redis_calls *calls = call->calls;
    CHECK(call->magic == CALL_MAGIC);
    const bool has_waiter = call->out != NULL;
    const char *failure = has_waiter ? store_result(call, reply) : NULL;
    const char *error = redis_reply_error(reply);
    if (error)
        failure = error;
    if (reply && (has_waiter || failure))
        calls->ended(calls->ctx, failure);
    complete(call);
    call->magic = 0;
    free(call);
}

enum next redis_calls_start(struct redis_calls *calls, struct redis_connection *connection,
                            const struct str *args, int count, struct waiter *w, struct redis_result *out)
{
    struct pending_call *call = try_malloc(sizeof *call);
    if (!call)
        return NEXT_MORE;
    *call = (struct pending_call){.command = {on_replied},
                                  .magic = CALL_MAGIC,
                                  .calls = calls,
                                  .waiter = w,
                                  .out = out,
                                  .sent_ms = clock_mono_ms(),
                                  .sent_ns = uv_hrtime()};
    list_init(&call->link);
    if (!redis_connection_send(connection, &call->command, args, count)) {
        free(call);
        return NEXT_MORE;
    }
    calls->counts.calls++;
    const bool is_first = list_is_empty(&calls->pending);
    list_add_last(&calls->pending, &call->link);
    if (is_first)
        arm_deadline(calls);
    w->cancel = cancel;
    w->call = call;
    return NEXT_WAIT;
}

void redis_calls_init(struct redis_calls *calls, uv_loop_t *loop,
                      void (*ended)(void *ctx, const char *failure), void *ctx)
{
    list_init(&calls->pending);
    CHECK(uv_timer_init(loop, &calls->deadline) == 0); /* this libuv call cannot fail */
    calls->deadline.data = calls;
    calls->ended = ended;
    calls->ctx = ctx;
}
