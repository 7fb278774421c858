/* The writer thread and its queue: two buffers of fixed size. Callers fill one while the thread writes the
 * other. */
#include "base/log_writer.h"

#include "base/check.h"
#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { QUEUE_BYTES = 256 << 10, REPORT_BYTES = 256, POLL_MS = 50 };

/* DIRECT --log_writer_start()--> RUNNING --log_writer_stop()--> STOPPING --queue is empty--> DIRECT
 *                                                                  |
 *                                                                  +--timed out, or failed--> ABANDONED */
enum writer_state { DIRECT, RUNNING, STOPPING, ABANDONED };

static struct {
    pthread_mutex_t lock; /* protects all members except `descriptor` */
    pthread_cond_t changed;
    enum writer_state state;
    int64_t stop_by_us; /* deadline of STOPPING */
    bool writing;       /* the thread is writing a batch */
    pthread_t thread;
    char *queue, *batch;
    size_t queued;
    uint64_t dropped, unreported;
    log_writer_report_fn *report;
    pthread_mutex_t descriptor; /* makes poll() and write() one operation */
} writer = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .changed = PTHREAD_COND_INITIALIZER,
            .descriptor = PTHREAD_MUTEX_INITIALIZER};

ssize_t log_writer_write_some(const char *p, size_t n)
{
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    ssize_t done = -1;
    CHECK(pthread_mutex_lock(&writer.descriptor) == 0);
    const int ready = poll(&room, 1, 0);
    if (ready > 0)
        done = write(STDERR_FILENO, p, n < PIPE_BUF ? n : PIPE_BUF);
    else if (ready == 0)
        errno = EAGAIN;
    const int error = errno;
    CHECK(pthread_mutex_unlock(&writer.descriptor) == 0);
    errno = error;
    return done;
}

static bool is_out_of_time(void)
{
    CHECK(pthread_mutex_lock(&writer.lock) == 0);
    const bool out = writer.state == STOPPING && clock_work_us() >= writer.stop_by_us;
    CHECK(pthread_mutex_unlock(&writer.lock) == 0);
    return out;
}

/* Returns the length of the part to write next: as many whole lines as fit into PIPE_BUF bytes. A write(2) of
 * at most PIPE_BUF bytes to a pipe is atomic, so the lines of several processes do not mix. A line longer
 * than PIPE_BUF is split. */
static size_t atomic_length(const char *p, size_t n)
{
    size_t len = n < PIPE_BUF ? n : PIPE_BUF;
    const char *end = memrchr(p, '\n', len);
    return end ? (size_t)(end - p) + 1 : len;
}

/* Writes a batch. Returns false on failure, or if the deadline of STOPPING expires before all of it is
 * written. */
static bool write_batch(const char *p, size_t n)
{
    while (n) {
        ssize_t done = log_writer_write_some(p, atomic_length(p, n));
        if (done < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (done < 0) {
            struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
            if (is_out_of_time())
                return false;
            (void)poll(&room, 1, POLL_MS);
            continue;
        }
        p += done;
        n -= (size_t)done;
    }
    return true;
}

static uint64_t count_lines(const char *p, size_t n)
{
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += p[i] == '\n';
    return count;
}

/* Waits for lines, swaps the buffers, and appends the report of dropped lines to the batch. Returns the
 * length of the batch, or 0 if the thread must end. Precondition: the lock is held. */
static size_t next_batch(void)
{
    while (!writer.queued && !writer.unreported && writer.state == RUNNING)
        CHECK(pthread_cond_wait(&writer.changed, &writer.lock) == 0);
    size_t n = writer.queued;
    char *batch = writer.queue;
    writer.queue = writer.batch;
    writer.batch = batch;
    writer.queued = 0;
    if (writer.unreported)
        n += writer.report(batch + n, REPORT_BYTES, writer.unreported);
    writer.unreported = 0;
    return n;
}

static void *run(void *unused)
{
    size_t n;
    (void)unused;
    CHECK(pthread_mutex_lock(&writer.lock) == 0);
    while (writer.state != ABANDONED && (n = next_batch()) > 0) {
        const char *batch = writer.batch;
        writer.writing = true;
        CHECK(pthread_mutex_unlock(&writer.lock) == 0);
        const bool written = write_batch(batch, n);
        CHECK(pthread_mutex_lock(&writer.lock) == 0);
        writer.writing = false;
        if (!written)
            writer.dropped += count_lines(batch, n);
        if (!written && writer.state == STOPPING)
            writer.state = ABANDONED;
    }
    CHECK(pthread_mutex_unlock(&writer.lock) == 0);
    return NULL;
}

static void free_buffers(void)
{
    free(writer.queue);
    free(writer.batch);
    writer.queue = writer.batch = NULL;
    writer.queued = 0;
}

enum err log_writer_start(log_writer_report_fn *format_report)
{
    sigset_t all, before;
    CHECK(writer.state == DIRECT);
    writer.queue = malloc(QUEUE_BYTES + REPORT_BYTES);
    writer.batch = malloc(QUEUE_BYTES + REPORT_BYTES);
    writer.report = format_report;
    writer.state = RUNNING;
    (void)sigfillset(&all); /* the event loop handles signals */
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool runs = writer.queue && writer.batch && pthread_create(&writer.thread, NULL, run, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (runs) {
        (void)pthread_setname_np(writer.thread, "log-writer");
        return OK;
    }
    free_buffers();
    writer.state = DIRECT;
    return ERR_NOMEM;
}

void log_writer_stop(int timeout_ms)
{
    CHECK(pthread_mutex_lock(&writer.lock) == 0);
    const bool runs = writer.state == RUNNING;
    if (runs)
        writer.state = STOPPING;
    writer.stop_by_us = clock_work_us() + timeout_ms * INT64_C(1000);
    CHECK(pthread_cond_signal(&writer.changed) == 0);
    CHECK(pthread_mutex_unlock(&writer.lock) == 0);
    if (!runs)
        return;
    CHECK(pthread_join(writer.thread, NULL) == 0);
    free_buffers();
    if (writer.state == STOPPING)
        writer.state = DIRECT;
}

void log_writer_flush(int timeout_ms)
{
    const int64_t until_us = clock_work_us() + timeout_ms * INT64_C(1000);
    for (bool left = true; left && clock_work_us() < until_us;) {
        if (pthread_mutex_trylock(&writer.lock) == 0) {
            left = writer.state == RUNNING && (writer.queued || writer.writing);
            (void)pthread_mutex_unlock(&writer.lock);
        }
        if (left)
            (void)poll(NULL, 0, 1);
    }
}

bool log_writer_enqueue(struct str line)
{
    CHECK(pthread_mutex_lock(&writer.lock) == 0);
    const enum writer_state state = writer.state;
    const bool fits = (state == RUNNING || state == STOPPING) && writer.queued + line.len <= QUEUE_BYTES;
    if (fits) {
        memcpy(writer.queue + writer.queued, line.p, line.len);
        writer.queued += line.len;
        CHECK(pthread_cond_signal(&writer.changed) == 0);
    } else if (state != DIRECT) {
        writer.dropped++;
        writer.unreported++;
    }
    CHECK(pthread_mutex_unlock(&writer.lock) == 0);
    return state != DIRECT;
}

uint64_t log_writer_dropped(void)
{
    CHECK(pthread_mutex_lock(&writer.lock) == 0);
    const uint64_t dropped = writer.dropped;
    CHECK(pthread_mutex_unlock(&writer.lock) == 0);
    return dropped;
}
