/* The hooks that hiredis calls to read and write. The adapter that comes with hiredis changes the watched
 * events of the socket twice per command, which costs four system calls. */
#include "redis/redis_poll.h"

#include "base/check.h"
#include "base/fault.h"
#include "redis/redis_memory.h"

#include <hiredis/async.h>
#include <stdlib.h>

struct redis_watcher {
    redisAsyncContext *context; /* NULL if hiredis has freed the context */
    uv_poll_t poll;             /* on_closed() frees the struct when this handle has closed */
    int watched;
    bool wants_write; /* write at the end of this loop iteration */
    bool is_writing;
    void (*too_large)(redisAsyncContext *context);
    size_t reply_bytes; /* memory of the reply that is being received */
    bool is_complete;   /* this read completed a reply */
};

static void receive(struct redis_watcher *w)
{
    const size_t before = redis_memory_used();
    w->is_complete = false;
    redisAsyncHandleRead(w->context);
    const size_t after = redis_memory_used();
    if (w->is_complete)
        w->reply_bytes = 0;
    else if (after > before)
        w->reply_bytes += after - before;
    if (w->context && w->reply_bytes > REDIS_REPLY_BYTES_MAX)
        w->too_large(w->context);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct redis_watcher *w = poll->data;
    int happened = status ? w->watched : events;
    if (w->context && happened & UV_READABLE)
        receive(w);
    if (w->context && happened & UV_WRITABLE)
        redisAsyncHandleWrite(w->context);
}

/* Sets the events to watch. A failure is ignored: the connection attempt or the pending calls then time out,
 * which closes the connection. */
static void watch(struct redis_watcher *w, int events)
{
    if (events == w->watched)
        return;
    int status =
        FAULT_OR(UV_ENOMEM, events ? uv_poll_start(&w->poll, events, on_event) : uv_poll_stop(&w->poll));
    if (status == 0)
        w->watched = events;
}

static void add_read(void *data)
{
    struct redis_watcher *w = data;
    watch(w, w->watched | UV_READABLE);
}

static void del_read(void *data)
{
    struct redis_watcher *w = data;
    watch(w, w->watched & ~UV_READABLE);
}

/* hiredis calls this function for each new command, during a write if the socket accepts no more bytes, and
 * while connecting, because a socket becomes writable when it is connected. For a new command, the write
 * waits for the end of the loop iteration. */
static void add_write(void *data)
{
    struct redis_watcher *w = data;
    if (w->is_writing || !(w->context->c.flags & REDIS_CONNECTED))
        watch(w, w->watched | UV_WRITABLE);
    else
        w->wants_write = true;
    if (w->is_writing && !(w->watched & UV_WRITABLE))
        w->wants_write = true; /* the socket could not be watched: try again in the next iteration */
}

static void del_write(void *data)
{
    struct redis_watcher *w = data;
    w->wants_write = false;
    watch(w, w->watched & ~UV_WRITABLE);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void cleanup(void *data)
{
    struct redis_watcher *w = data;
    w->context = NULL;
    uv_close((uv_handle_t *)&w->poll, on_closed);
}

bool redis_poll_attach(redisAsyncContext *context, uv_loop_t *loop,
                       void (*too_large)(redisAsyncContext *context))
{
    struct redis_watcher *w = try_calloc(1, sizeof *w);
    if (!w)
        return false;
    if (FAULT_OR(UV_ENOMEM, uv_poll_init_socket(loop, &w->poll, context->c.fd)) != 0) {
        free(w);
        return false;
    }
    w->poll.data = w;
    w->context = context;
    w->too_large = too_large;
    context->ev.data = w;
    context->ev.addRead = add_read;
    context->ev.delRead = del_read;
    context->ev.addWrite = add_write;
    context->ev.delWrite = del_write;
    context->ev.cleanup = cleanup;
    return true;
}

void redis_poll_reply_complete(redisAsyncContext *context)
{
    struct redis_watcher *w = context->ev.data;
    if (w)
        w->is_complete = true;
}

bool redis_poll_wants_write(const redisAsyncContext *context)
{
    const struct redis_watcher *w = context->ev.data;
    return w->wants_write;
}

void redis_poll_write(redisAsyncContext *context)
{
    struct redis_watcher *w = context->ev.data;
    if (!w->wants_write || w->watched & UV_WRITABLE)
        return;
    w->wants_write = false;
    w->is_writing = true;
    redisAsyncHandleWrite(context);
    w->is_writing = false; /* `w` is still valid: it is freed only after the loop has closed the handle */
}
