/* Runs the child process on an event loop of its own, which blocks the caller. */
#include "doctor/child_process.h"

#include "base/check.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { TIMEOUT_MS = 10000, READ_BYTES = 16 << 10, ERRORS_MAX = 16 << 10 };

struct child_output {
    uv_pipe_t pipe;
    struct buf *to;
    char room[READ_BYTES];
};

struct child_process {
    uv_process_t process;
    uv_timer_t timer;
    struct child_output output[2]; /* standard output and error */
    int64_t status;
};

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    struct child_output *o = handle->data;
    (void)size;
    *buf = uv_buf_init(o->room, sizeof o->room);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct child_output *o = stream->data;
    if (n > 0)
        buf_append(o->to, str_make(buf->base, (size_t)n));
    else if (n < 0)
        uv_close((uv_handle_t *)stream, NULL);
}

static void on_exit_status(uv_process_t *process, int64_t status, int signal)
{
    struct child_process *p = process->data;
    p->status = signal ? 128 + signal : status;
    uv_close((uv_handle_t *)process, NULL);
}

static void close_once(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Kills the child if it is still running, and closes the pipes. The pipes can stay open after the child has
 * exited, because a process that the child started may have inherited them. */
static void on_timeout(uv_timer_t *timer)
{
    struct child_process *p = timer->data;
    if (!uv_is_closing((uv_handle_t *)&p->process))
        (void)uv_process_kill(&p->process, SIGKILL);
    for (int i = 0; i < 2; i++)
        close_once((uv_handle_t *)&p->output[i].pipe);
}

static unsigned timeout_ms(void)
{
#ifdef VT_TEST_SEAMS
    const char *ms = getenv("VIEWTALLY_TEST_CHILD_TIMEOUT_MS");
    if (ms)
        return (unsigned)strtoul(ms, NULL, 10);
#endif
    return TIMEOUT_MS;
}

static void open_output(struct child_output *o, uv_loop_t *loop, struct buf *to,
                        uv_stdio_container_t *container)
{
    o->to = to;
    CHECK(uv_pipe_init(loop, &o->pipe, 0) == 0);
    o->pipe.data = o;
    *container = (uv_stdio_container_t){.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
                                        .data.stream = (uv_stream_t *)&o->pipe};
}

/* Returns the exit status of the process (128 + signal if it was killed), or a negative error of libuv. */
static int64_t run_process(struct child_process *p, uv_loop_t *loop, const char *program,
                           const char *const arguments[], struct buf *out, struct buf *errors)
{
    uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}};
    open_output(&p->output[0], loop, out, &stdio[1]);
    open_output(&p->output[1], loop, errors, &stdio[2]);
    /* libuv passes `args` to execvp(3), which does not change them. */
    const uv_process_options_t options = {.file = program,
                                          .args = (char **)(uintptr_t)arguments,
                                          .exit_cb = on_exit_status,
                                          .stdio = stdio,
                                          .stdio_count = 3};
    CHECK(uv_timer_init(loop, &p->timer) == 0);
    uv_unref((uv_handle_t *)&p->timer); /* the loop ends when the process and both pipes are closed */
    p->process.data = p->timer.data = p;
    const int failed = uv_spawn(loop, &p->process, &options);
    if (failed)
        uv_close((uv_handle_t *)&p->process, NULL);
    else
        CHECK(uv_timer_start(&p->timer, on_timeout, timeout_ms(), 0) == 0);
    for (int i = 0; i < 2; i++)
        if (failed || uv_read_start((uv_stream_t *)&p->output[i].pipe, on_alloc, on_read))
            uv_close((uv_handle_t *)&p->output[i].pipe, NULL);
    CHECK(uv_run(loop, UV_RUN_DEFAULT) == 0);
    uv_close((uv_handle_t *)&p->timer, NULL);
    CHECK(uv_run(loop, UV_RUN_DEFAULT) == 0);
    return failed ? failed : p->status;
}

enum err child_process_run(const char *program, const char *const arguments[], struct buf *out,
                           struct error *error)
{
    static struct child_process process;
    struct buf errors;
    struct str line;
    uv_loop_t loop;
    buf_init(&errors, ERRORS_MAX);
    memset(&process, 0, sizeof process);
    CHECK(uv_loop_init(&loop) == 0);
    const int64_t status = run_process(&process, &loop, program, arguments, out, &errors);
    CHECK(uv_loop_close(&loop) == 0);
    (void)str_cut(str_make(errors.p ? errors.p : "", errors.len), '\n', &line);
    enum err err = OK;
    if (status)
        err = error_set(error, ERR_IO, "%s %s failed (status %lld): %.*s", program,
                        arguments[1] ? arguments[1] : "", (long long)status, (int)line.len, line.p);
    buf_fini(&errors);
    return err;
}
