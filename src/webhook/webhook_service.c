/* Starts and stops the thread of the dispatcher.
 *
 *   RUNNING --webhook_service_close()--> CLOSING --thread ended, on_ended()--> freed */
#include "webhook/webhook_service.h"

#include "base/check.h"
#include "base/log.h"

#include <stdlib.h>
#include <sys/resource.h>

enum { NICE = 5, STACK_BYTES = 1024 * 1024 };

struct webhook_service {
    struct config config; /* a copy, because a reload may change the original */
    struct dispatcher_options options;
    struct dispatcher_counts counts;
    bool is_running;
    uv_thread_t thread;
    uv_sem_t opened;
    uv_async_t stop;  /* handle on the loop of the dispatcher */
    uv_async_t ended; /* handle on the caller's loop */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

static void on_opened(void *ctx)
{
    uv_sem_post(&((struct webhook_service *)ctx)->opened);
}

static void on_thread(void *arg)
{
    struct webhook_service *s = arg;
    /* HTTP requests have priority over webhooks. On Linux, setpriority() changes only the calling thread. */
    (void)setpriority(PRIO_PROCESS, 0, NICE);
    dispatcher_run(&s->options, on_opened, s);
    CHECK(uv_async_send(&s->ended) == 0);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct webhook_service *s = handle->data;
    void (*closed)(void *ctx) = s->closed;
    void *ctx = s->closed_ctx;
    config_fini(&s->config);
    uv_sem_destroy(&s->opened);
    free(s);
    closed(ctx);
}

static void on_ended(uv_async_t *ended)
{
    struct webhook_service *s = ended->data;
    CHECK(uv_thread_join(&s->thread) == 0);
    uv_close((uv_handle_t *)&s->ended, on_handle_closed);
}

struct webhook_service *webhook_service_open(uv_loop_t *loop, const struct config *config,
                                             struct ticket_lock *write_lock)
{
    const uv_thread_options_t thread = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK_BYTES};
    struct webhook_service *s = xcalloc(1, sizeof *s);
    config_copy(&s->config, config);
    s->options = (struct dispatcher_options){
        .config = &s->config, .write_lock = write_lock, .counts = &s->counts, .stop = &s->stop};
    s->ended.data = s;
    CHECK(uv_async_init(loop, &s->ended, on_ended) == 0 && uv_sem_init(&s->opened, 0) == 0);
    if (!s->config.webhooks.enabled)
        return s;
    const int status = uv_thread_create_ex(&s->thread, &thread, on_thread, s);
    s->is_running = status == 0;
    if (s->is_running)
        uv_sem_wait(&s->opened);
    else
        log_error("webhooks: no deliveries until the server is restarted: cannot start a thread: %s",
                  uv_strerror(status));
    return s;
}

void webhook_service_close(struct webhook_service *s, void (*closed)(void *ctx), void *ctx)
{
    CHECK(!s->closed);
    s->closed = closed;
    s->closed_ctx = ctx;
    if (s->is_running)
        CHECK(uv_async_send(&s->stop) == 0);
    else
        uv_close((uv_handle_t *)&s->ended, on_handle_closed);
}

const struct dispatcher_counts *webhook_service_counts(const struct webhook_service *s)
{
    return &s->counts;
}
