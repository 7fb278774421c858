/* The hooks that hiredis calls when it wants to read or write. Its own adapter changes the watched events of
 * the socket twice for each command, four system calls. */
#include "redis/redis_poll.h"

#include "base/check.h"
#include "base/fault.h"
#include "redis/redis_memory.h"

#include <hiredis/async.h>
#include <stdlib.h>

struct events {
    redisAsyncContext *context; /* NULL: gone */
    uv_poll_t poll;             /* frees the struct when it is closed */
    int watched;
    bool wants_write; /* before the loop waits */
    bool writing;
    void (*too_large)(redisAsyncContext *context);
    size_t reply_bytes; /* memory of the reply that is being received */
    bool replied;       /* one was completed by this read */
};

static void receive(struct events *e)
{
    const size_t before = redis_memory_used();
    e->replied = false;
    redisAsyncHandleRead(e->context);
    const size_t after = redis_memory_used();
    if (e->replied)
        e->reply_bytes = 0;
    else if (after > before)
        e->reply_bytes += after - before;
    if (e->context && e->reply_bytes > REDIS_REPLY_BYTES_MAX)
        e->too_large(e->context);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct events *e = poll->data;
    int happened = status ? e->watched : events;
    if (e->context && happened & UV_READABLE)
        receive(e);
    if (e->context && happened & UV_WRITABLE)
        redisAsyncHandleWrite(e->context);
}

/* If it fails, what was watched before stays watched, and the deadline of the attempt or of the calls that
 * wait ends the connection. */
static void watch(struct events *e, int events)
{
    if (events == e->watched)
        return;
    int status =
        FAULT_OR(UV_ENOMEM, events ? uv_poll_start(&e->poll, events, on_event) : uv_poll_stop(&e->poll));
    if (status == 0)
        e->watched = events;
}

static void add_read(void *data)
{
    struct events *e = data;
    watch(e, e->watched | UV_READABLE);
}

static void del_read(void *data)
{
    struct events *e = data;
    watch(e, e->watched & ~UV_READABLE);
}

/* While it is being written, this says that the socket is full; before it is connected, that nothing else
 * would tell. */
static void add_write(void *data)
{
    struct events *e = data;
    if (e->writing || !(e->context->c.flags & REDIS_CONNECTED))
        watch(e, e->watched | UV_WRITABLE);
    else
        e->wants_write = true;
    if (e->writing && !(e->watched & UV_WRITABLE))
        e->wants_write = true; /* it could not be watched: try again in the next iteration */
}

static void del_write(void *data)
{
    struct events *e = data;
    e->wants_write = false;
    watch(e, e->watched & ~UV_WRITABLE);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void cleanup(void *data)
{
    struct events *e = data;
    e->context = NULL;
    uv_close((uv_handle_t *)&e->poll, on_closed);
}

bool redis_poll_attach(redisAsyncContext *context, uv_loop_t *loop,
                       void (*too_large)(redisAsyncContext *context))
{
    struct events *e = try_calloc(1, sizeof *e);
    if (!e)
        return false;
    if (FAULT_OR(UV_ENOMEM, uv_poll_init_socket(loop, &e->poll, context->c.fd)) != 0) {
        free(e);
        return false;
    }
    e->poll.data = e;
    e->context = context;
    e->too_large = too_large;
    context->ev.data = e;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = cleanup;
    return true;
}

void redis_poll_reply_complete(redisAsyncContext *context)
{
    struct events *e = context->ev.data;
    if (e)
        e->replied = true;
}

bool redis_poll_wants_write(const redisAsyncContext *context)
{
    const struct events *e = context->ev.data;
    return e->wants_write;
}

void redis_poll_write(redisAsyncContext *context)
{
    struct events *e = context->ev.data;
    if (!e->wants_write || e->watched & UV_WRITABLE)
        return;
    e->wants_write = false;
    e->writing = true;
    redisAsyncHandleWrite(context);
    e->writing = false; /* freed only when the loop has closed the handle */
}
