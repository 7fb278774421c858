/* The writer of the access log. Knows requests, not who serves them.
 *
 *   lines --(every 100 ms, or 64 KiB)--> writing --(a job on the pool)--> file
 *
 * `lines` is the loop's; `writing` is the job's while `busy`, else the rest of what a job could not write. */
#include "admin/access_log.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FLUSH_MS = 100,
    RETRY_MS = 1000,
    FLUSH_BYTES = 64 << 10,
    LINES_MAX_BYTES = 4 << 20, /* a disk that stands still for some seconds loses nothing */
    LINES_KEPT = 1 << 20,      /* of a buffer at rest */
    LINE_MAX_BYTES = 2 << 10,
    PIPE_BYTES = 4096, /* what a pipe takes without waiting when it is writable: PIPE_BUF */
    PATIENCE_MS = 100,
    MODE = 0640,
};

enum { OFF = -1 };

struct access_log {
    uv_loop_t *loop;
    uv_timer_t timer;
    uv_work_t work;
    int fd;      /* OFF: nowhere */
    int next_fd; /* when `switches` */
    bool switches;
    bool busy, ticking, closed;
    struct buf line, lines, writing;
    size_t written; /* of `writing` */
    int error;      /* errno of the last job; 0: all was written */
    int told;       /* what the log said last of writing: an errno; 0: all is well */
    struct access_log_counts counts;
};

/* ---- writing, on any thread ---- */

/* At most so many bytes that it does not block. */
static ssize_t write_piece(int fd, mode_t type, const char *p, size_t n)
{
    if (fd == STDERR_FILENO)
        return log_writer_write_some(p, n);
    if (S_ISREG(type))
        return write(fd, p, n);
    if (S_ISSOCK(type))
        return send(fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    return write(fd, p, n < PIPE_BYTES ? n : PIPE_BYTES);
}

/* Returns how much was written; less than `n` with `*error` set. */
static size_t write_some(int fd, const char *p, size_t n, int *error)
{
    struct stat st;
    size_t done = 0;
    *error = fstat(fd, &st) == 0 ? 0 : errno;
    while (done < n && !*error) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (poll(&ready, 1, PATIENCE_MS) == 0) {
            *error = EAGAIN;
            break;
        }
        ssize_t got = write_piece(fd, st.st_mode, p + done, n - done);
        if (got > 0)
            done += (size_t)got;
        else if (got == 0 || errno != EINTR)
            *error = got == 0 ? EIO : errno;
    }
    return done;
}

/* ---- jobs ---- */

static void on_timer(uv_timer_t *timer);

static void tick(struct access_log *l, uint64_t ms)
{
    if (l->ticking || l->closed)
        return;
    l->ticking = true;
    CHECK(uv_timer_start(&l->timer, on_timer, ms, 0) == 0);
}

static uint64_t count_lines(struct str s)
{
    uint64_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += s.p[i] == '\n';
    return n;
}

static struct str rest_of(const struct access_log *l)
{
    return str_make(l->writing.p + l->written, l->writing.len - l->written);
}

static void close_fd(int fd)
{
    if (fd != OFF && fd != STDERR_FILENO)
        (void)close(fd);
}

/* The end of a line whose beginning went to the old file does not go to the new one; whole lines do. */
static void change_file(struct access_log *l)
{
    struct str rest = rest_of(l), cut;
    if (rest.len && l->written && rest.p[-1] != '\n') {
        struct str behind = str_cut(rest, '\n', &cut);
        l->written += cut.len + 1;
        l->counts.dropped++;
        rest = behind;
    }
    close_fd(l->fd);
    l->fd = l->next_fd;
    l->switches = false;
    if (l->fd == OFF) {
        l->counts.dropped += count_lines(rest) + count_lines(buf_str(&l->lines));
        buf_reset(&l->lines, LINES_KEPT);
        l->written = l->writing.len;
    }
}

static void tell(struct access_log *l, int error)
{
    if (error == l->told)
        return;
    if (error)
        log_error("the access log cannot be written: %s; lines are dropped when %d KiB wait", strerror(error),
                  LINES_MAX_BYTES >> 10);
    else
        log_info("the access log is written again");
    l->told = error;
}

static void on_work(uv_work_t *work)
{
    struct access_log *l = work->data;
    struct str rest = rest_of(l);
    l->written += write_some(l->fd, rest.p, rest.len, &l->error);
}

static void flush(struct access_log *l);

static void on_written(uv_work_t *work, int status)
{
    struct access_log *l = work->data;
    CHECK(status == 0);
    l->busy = false;
    tell(l, l->error);
    if (l->switches)
        change_file(l);
    if (l->error)
        tick(l, RETRY_MS);
    else if (l->lines.len >= FLUSH_BYTES || l->written < l->writing.len)
        flush(l);
    else if (l->lines.len)
        tick(l, FLUSH_MS);
}

/* Starts a job when there is something to write and none is under way. */
static void flush(struct access_log *l)
{
    if (l->busy || l->closed || l->fd == OFF)
        return;
    if (l->written == l->writing.len) {
        struct buf empty = l->writing;
        buf_reset(&empty, LINES_KEPT);
        l->writing = l->lines;
        l->lines = empty;
        l->written = 0;
    }
    if (l->writing.len == 0)
        return;
    l->busy = true;
    CHECK(uv_queue_work(l->loop, &l->work, on_work, on_written) == 0);
}

static void on_timer(uv_timer_t *timer)
{
    struct access_log *l = timer->data;
    l->ticking = false;
    flush(l);
}

/* ---- lines ---- */

static void append_uuid(struct buf *b, struct str name, const struct uuid *id)
{
    json_key(b, name);
    if (id)
        json_uuid(b, id);
    else
        json_null(b);
}

static void build_line(struct buf *b, const struct request *r, bool complete, int64_t us)
{
    json_open(b, '{');
    JSON_TIME(b, "time", clock_wall_ms());
    JSON_STR(b, "request_id", r->id);
    JSON_STR(b, "method", str_from_cstr(request_method_name(r->method)));
    JSON_STR(b, "route", str_from_cstr(route_name(r)));
    if (r->res.status)
        JSON_I64(b, "status", r->res.status);
    else
        JSON_NULL(b, "status");
    JSON_I64(b, "bytes", (int64_t)r->res.bytes_sent);
    json_key(b, STR("ms"));
    buf_printf(b, "%lld.%03lld", (long long)us / 1000, (long long)us % 1000);
    append_uuid(b, STR("key_id"), r->key_id);
    append_uuid(b, STR("author_id"), r->author_id);
    JSON_STR(b, "client", r->client_address);
    JSON_STR(b, "limiter", str_from_cstr(r->limiter));
    JSON_BOOL(b, "complete", complete);
    json_close(b, '}');
    buf_append_char(b, '\n');
}

void access_log_append(struct access_log *l, const struct request *r, bool complete, int64_t us)
{
    if ((l->fd == OFF && !l->switches) || l->closed)
        return;
    buf_reset(&l->line, LINE_MAX_BYTES);
    build_line(&l->line, r, complete, us < 0 ? 0 : us);
    bool fits = l->lines.len + l->line.len <= LINES_MAX_BYTES;
    if (!fits && !l->told)
        tell(l, EAGAIN); /* the job has not failed, but does not come to its end */
    if (!fits || l->line.failed) {
        l->counts.dropped++;
        return;
    }
    buf_append(&l->lines, buf_str(&l->line));
    l->counts.lines++;
    if (l->lines.len >= FLUSH_BYTES && !l->error)
        flush(l);
    else
        tick(l, FLUSH_MS);
}

/* ---- life ---- */

struct access_log *access_log_new(uv_loop_t *loop)
{
    struct access_log *l = xcalloc(1, sizeof *l);
    l->loop = loop;
    l->fd = OFF;
    l->work.data = l;
    buf_init(&l->line, LINE_MAX_BYTES);
    buf_init(&l->lines, LINES_MAX_BYTES);
    buf_init(&l->writing, LINES_MAX_BYTES);
    CHECK(uv_timer_init(loop, &l->timer) == 0);
    l->timer.data = l;
    return l;
}

static int open_target(const char *target)
{
    if (!*target)
        return OFF;
    if (strcmp(target, "-") == 0)
        return STDERR_FILENO;
    /* O_NONBLOCK: of a FIFO, neither opening nor writing waits for a reader. */
    int fd = open(target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, MODE);
    return fd < 0 ? -errno - 1 : fd; /* below OFF */
}

enum err access_log_set_target(struct access_log *l, const char *target, struct error *error)
{
    int fd = open_target(target);
    if (fd < OFF)
        return error_set(error, ERR_IO, "[log] access: %s: %s", target, strerror(-fd - 1));
    if (l->switches)
        close_fd(l->next_fd);
    l->next_fd = fd;
    l->switches = true;
    /* What was collected belongs to the old file: a job writes it, and then changes. */
    flush(l);
    if (!l->busy)
        change_file(l);
    flush(l);
    return OK;
}

struct access_log_counts access_log_counts(const struct access_log *l)
{
    return l->counts;
}

void access_log_close(struct access_log *l)
{
    l->closed = true;
    uv_close((uv_handle_t *)&l->timer, NULL);
}

void access_log_free(struct access_log *l)
{
    CHECK(!l->busy);
    if (l->fd != OFF) {
        struct str rest = rest_of(l);
        if (write_some(l->fd, rest.p, rest.len, &l->error) == rest.len)
            (void)write_some(l->fd, l->lines.p, l->lines.len, &l->error);
    }
    close_fd(l->fd);
    buf_fini(&l->line);
    buf_fini(&l->lines);
    buf_fini(&l->writing);
    free(l);
}
