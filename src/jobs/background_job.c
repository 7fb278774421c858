/* Uses one timer, and one thread while the job runs. */
#include "jobs/background_job.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"

#include <sys/resource.h>

/* The interval at which the timer calls check(). */
#ifdef VT_TEST_SEAMS
enum { CHECK_MS = 50 };
#else
enum { CHECK_MS = 1000 };
#endif

enum {
    BUSY_PAUSE_MS = 5 * 1000,
    /* Not the default, which is 128 KiB with musl and depends on `ulimit -s` with glibc. A refresh uses less
     * than 96 KiB. */
    STACK_BYTES = 1024 * 1024,
};

static void on_thread(void *arg)
{
    struct background_job *job = arg;
    /* On Linux, this call changes only the calling thread. */
    (void)setpriority(PRIO_PROCESS, 0, job->type->nice);
    job->type->work(job->ctx);
    CHECK(uv_async_send(&job->async) == 0);
}

int background_job_start(struct background_job *job)
{
    const uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE, .stack_size = STACK_BYTES};
    CHECK(!job->is_running && !job->is_closing);
    const int status = FAULT_OR(UV_EAGAIN, uv_thread_create_ex(&job->thread, &options, on_thread, job));
    job->is_running = status == 0;
    return status;
}

void background_job_check(struct background_job *job)
{
    if (!job->is_running && !job->is_closing)
        job->type->check(job->ctx);
}

static void on_timer(uv_timer_t *timer)
{
    background_job_check(timer->data);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct background_job *job = handle->data;
    if (--job->open_handles == 0)
        job->type->closed(job->ctx);
}

static void close_handles(struct background_job *job)
{
    uv_close((uv_handle_t *)&job->timer, on_handle_closed);
    uv_close((uv_handle_t *)&job->async, on_handle_closed);
}

static void on_ended(uv_async_t *async)
{
    struct background_job *job = async->data;
    CHECK(uv_thread_join(&job->thread) == 0);
    job->is_running = false;
    job->type->ended(job->ctx);
    if (job->is_closing)
        close_handles(job);
    else
        background_job_check(job);
}

void background_job_open(struct background_job *job, uv_loop_t *loop, const struct background_job_type *type,
                         void *ctx)
{
    *job = (struct background_job){.type = type, .ctx = ctx, .open_handles = 2};
    atomic_init(&job->stop, false);
    job->timer.data = job->async.data = job;
    CHECK(uv_timer_init(loop, &job->timer) == 0 && uv_async_init(loop, &job->async, on_ended) == 0);
    CHECK(uv_timer_start(&job->timer, on_timer, 0, CHECK_MS) == 0);
}

void background_job_close(struct background_job *job)
{
    CHECK(!job->is_closing);
    job->is_closing = true;
    atomic_store(&job->stop, true);
    if (!job->is_running)
        close_handles(job);
}

bool background_job_is_paused(const struct background_job *job)
{
    return clock_mono_ms() < job->not_before_mono;
}

void background_job_pause_while_busy(struct background_job *job)
{
    job->not_before_mono = clock_mono_ms() + BUSY_PAUSE_MS;
}

int64_t background_job_pause_after_failure(struct background_job *job)
{
    const struct background_job_type *type = job->type;
    job->failed_pause_ms = job->failed_pause_ms ? 2 * job->failed_pause_ms : type->failed_pause_ms;
    if (job->failed_pause_ms > type->failed_pause_max_ms)
        job->failed_pause_ms = type->failed_pause_max_ms;
    job->not_before_mono = clock_mono_ms() + job->failed_pause_ms;
    return job->failed_pause_ms;
}

void background_job_clear_failures(struct background_job *job)
{
    job->failed_pause_ms = 0;
}
