/* The hooks that hiredis calls when it wants to read or write. Its own adapter changes the watched events of
 * the socket twice for each command, four system calls. */
#include "redis/events.h"

#include "base/check.h"

#include <hiredis/async.h>
#include <stdlib.h>

struct events {
    redisAsyncContext *context; /* NULL: gone */
    uv_poll_t poll;             /* frees the struct when it is closed */
    int watched;
    bool wants_write; /* before the loop waits */
    bool writing;
};

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct events *e = poll->data;
    int happened = status ? e->watched : events;
    if (e->context && happened & UV_READABLE)
        redisAsyncHandleRead(e->context);
    if (e->context && happened & UV_WRITABLE)
        redisAsyncHandleWrite(e->context);
}

static void watch(struct events *e, int events)
{
    if (events == e->watched)
        return;
    e->watched = events;
    int status = events ? uv_poll_start(&e->poll, events, on_event) : uv_poll_stop(&e->poll);
    CHECK(status == 0);
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

bool redis_events_attach(redisAsyncContext *context, uv_loop_t *loop)
{
    struct events *e = xcalloc(1, sizeof *e);
    if (uv_poll_init_socket(loop, &e->poll, context->c.fd) != 0) {
        free(e);
        return false;
    }
    e->poll.data = e;
    e->context = context;
    context->ev.data = e;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = cleanup;
    return true;
}

bool redis_events_want_write(const redisAsyncContext *context)
{
    const struct events *e = context->ev.data;
    return e->wants_write;
}

void redis_events_write(redisAsyncContext *context)
{
    struct events *e = context->ev.data;
    if (!e->wants_write || e->watched & UV_WRITABLE)
        return;
    e->wants_write = false;
    e->writing = true;
    redisAsyncHandleWrite(context);
    e->writing = false; /* freed only when the loop has closed the handle */
}
