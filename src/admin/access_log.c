/* Writes the access log.
 *
 *   lines --(every 100 ms or 64 KiB)--> writing --(job on the thread pool)--> file
 *
 * `lines` belongs to the loop. While `busy` is true, `writing` belongs to the job. Otherwise it contains the
 * bytes that the last job could not write. */
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
    LINES_MAX_BYTES = 4 << 20, /* maximum size of `lines`: enough for a disk that blocks for some seconds */
    LINES_RETAINED = 1 << 20,  /* maximum capacity that `lines` and `writing` keep when they are emptied */
    LINE_MAX_BYTES = 2 << 10,
    PIPE_BYTES = 4096, /* PIPE_BUF: number of bytes that a writable pipe accepts without blocking */
    WRITABLE_TIMEOUT_MS = 100,
    MODE = 0640,
};

enum { OFF = -1 };

struct access_log {
    uv_loop_t *loop;
    uv_timer_t timer;
    uv_work_t work;
    int fd;      /* OFF if lines are not written */
    int next_fd; /* valid if `switching` */
    bool switching;
    bool busy, timer_started, closed;
    struct buf line, lines, writing;
    size_t written; /* number of bytes of `writing` that have been written */
    int error;      /* errno of the last job; 0 if it wrote everything */
    int reported;   /* most recently logged errno; 0 if none was logged, or if the recovery was logged */
    struct access_log_counts counts;
};

/* ---- writing, on any thread ---- */

/* Writes as many bytes as possible without blocking. Returns the result of write(2). */
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

/* Returns the number of bytes written. If it is less than `n`, `*error` is an errno. */
static size_t write_some(int fd, const char *p, size_t n, int *error)
{
    struct stat st;
    size_t done = 0;
    *error = fstat(fd, &st) == 0 ? 0 : errno;
    while (done < n && !*error) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (poll(&ready, 1, WRITABLE_TIMEOUT_MS) == 0) {
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

/* ---- jobs that write the lines and switch the file ---- */

static void on_timer(uv_timer_t *timer);

static void start_timer(struct access_log *l, uint64_t ms)
{
    if (l->timer_started || l->closed)
        return;
    l->timer_started = true;
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

/* Switches to the next file. Lines that are not written yet will be written to the new file. If the old file
 * ends with the first part of a line, the rest of the line is dropped. */
static void switch_file(struct access_log *l)
{
    struct str rest = rest_of(l), cut;
    if (rest.len && l->written && rest.p[-1] != '\n') {
        struct str whole_lines = str_cut(rest, '\n', &cut);
        l->written += cut.len + 1;
        l->counts.dropped++;
        rest = whole_lines;
    }
    close_fd(l->fd);
    l->fd = l->next_fd;
    l->switching = false;
    if (l->fd == OFF) {
        l->counts.dropped += count_lines(rest) + count_lines(buf_str(&l->lines));
        buf_reset(&l->lines, LINES_RETAINED);
        l->written = l->writing.len;
    }
}

static void report(struct access_log *l, int error)
{
    if (error == l->reported)
        return;
    if (error)
        log_error("cannot write the access log: %s; lines are dropped when %d KiB are waiting",
                  strerror(error), LINES_MAX_BYTES >> 10);
    else
        log_info("the access log can be written again");
    l->reported = error;
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
    report(l, l->error);
    if (l->switching)
        switch_file(l);
    if (l->error)
        start_timer(l, RETRY_MS);
    else if (l->lines.len >= FLUSH_BYTES || l->written < l->writing.len)
        flush(l);
    else if (l->lines.len)
        start_timer(l, FLUSH_MS);
}

/* Starts a job if there is something to write and no job is running. */
static void flush(struct access_log *l)
{
    if (l->busy || l->closed || l->fd == OFF)
        return;
    if (l->written == l->writing.len) {
        struct buf empty = l->writing;
        buf_reset(&empty, LINES_RETAINED);
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
    l->timer_started = false;
    flush(l);
}

/* ---- building lines ---- */

static void append_uuid(struct buf *b, struct str name, const struct uuid *id)
{
    json_key(b, name);
    if (id)
        json_uuid(b, id);
    else
        json_null(b);
}

static void build_line(struct buf *b, const struct request *r, bool response_complete, int64_t us)
{
    json_open(b, '{');
    JSON_TIME(b, "time", clock_wall_ms());
    JSON_STR(b, "request_id", r->id);
    JSON_STR(b, "trace_id", r->trace_id);
    JSON_STR(b, "parent_id", r->parent_id);
    JSON_STR(b, "method", str_from_cstr(request_method_name(r->method)));
    JSON_STR(b, "route", str_from_cstr(route_name(r)));
    if (r->res.status)
        JSON_I64(b, "status", r->res.status);
    else
        JSON_NULL(b, "status");
    JSON_I64(b, "bytes", (int64_t)r->res.bytes_sent);
    JSON_KEY(b, "ms");
    buf_printf(b, "%lld.%03lld", (long long)us / 1000, (long long)us % 1000);
    append_uuid(b, STR("key_id"), r->key_id);
    append_uuid(b, STR("author_id"), r->author_id);
    JSON_STR(b, "client", r->client_address);
    JSON_STR(b, "limiter", str_from_cstr(r->limiter));
    JSON_BOOL(b, "complete", response_complete);
    json_close(b, '}');
    buf_append_char(b, '\n');
}

void access_log_append(struct access_log *l, const struct request *r, bool response_complete, int64_t us)
{
    if ((l->fd == OFF && !l->switching) || l->closed)
        return;
    buf_reset(&l->line, LINE_MAX_BYTES);
    build_line(&l->line, r, response_complete, us < 0 ? 0 : us);
    bool fits = l->lines.len + l->line.len <= LINES_MAX_BYTES;
    if (!fits && !l->reported)
        report(l, EAGAIN); /* a job that is blocked has not reported an error */
    if (!fits || l->line.failed) {
        l->counts.dropped++;
        return;
    }
    buf_append(&l->lines, buf_str(&l->line));
    l->counts.lines++;
    if (l->lines.len >= FLUSH_BYTES && !l->error)
        flush(l);
    else
        start_timer(l, FLUSH_MS);
}

/* ---- opening and closing the log ---- */

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
    /* O_NONBLOCK, because opening or writing a FIFO must not wait for a reader. */
    int fd = open(target, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, MODE);
    return fd < 0 ? -errno - 1 : fd; /* an error is less than OFF (-1) */
}

enum err access_log_set_target(struct access_log *l, const char *target, struct error *error)
{
    int fd = open_target(target);
    if (fd < OFF)
        return error_set(error, ERR_IO, "[log] access: %s: %s", target, strerror(-fd - 1));
    if (l->switching)
        close_fd(l->next_fd);
    l->next_fd = fd;
    l->switching = true;
    /* The collected lines belong to the old file. A job writes them; then on_written() switches to the new
     * file. */
    flush(l);
    if (!l->busy)
        switch_file(l);
    flush(l);
    return OK;
}

struct access_log_counts access_log_get_counts(const struct access_log *l)
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
