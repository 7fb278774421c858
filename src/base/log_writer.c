/* The queue and the thread. Two buffers of fixed size: callers fill one while the thread writes the other. */
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

enum state { DIRECT, RUNNING, STOPPING, ABANDONED };

static struct {
    pthread_mutex_t lock; /* of everything here but `descriptor` */
    pthread_cond_t changed;
    enum state state;
    int64_t stop_by_us; /* while STOPPING */
    bool writing;       /* the thread has a batch */
    pthread_t thread;
    char *queue, *batch;
    size_t queued;
    uint64_t dropped, unreported;
    log_writer_report_fn *report;
    pthread_mutex_t descriptor; /* held from the look whether there is room to the end of the write */
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

/* Whole lines that one write(2) takes without mixing them with those of other processes. */
static size_t piece_of(const char *p, size_t n)
{
    size_t len = n < PIPE_BUF ? n : PIPE_BUF;
    const char *end = memrchr(p, '\n', len);
    return end ? (size_t)(end - p) + 1 : len;
}

/* False: standard error takes nothing any more, or there is no time to wait. */
static bool write_batch(const char *p, size_t n)
{
    while (n) {
        ssize_t done = log_writer_write_some(p, piece_of(p, n));
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

/* Takes what is queued, and the report of what was dropped behind it. Returns 0 when there is nothing left to
 * do. Called with the lock held. */
static size_t take_batch(void)
{
    while (!writer.queued && !writer.unreported && writer.state == RUNNING)
        CHECK(pthread_cond_wait(&writer.changed, &writer.lock) == 0);
    size_t n = writer.queued;
    char *taken = writer.queue;
    writer.queue = writer.batch;
    writer.batch = taken;
    writer.queued = 0;
    if (writer.unreported)
        n += writer.report(taken + n, REPORT_BYTES, writer.unreported);
    writer.unreported = 0;
    return n;
}

static void *run(void *unused)
{
    size_t n;
    (void)unused;
    CHECK(pthread_mutex_lock(&writer.lock) == 0);
    while (writer.state != ABANDONED && (n = take_batch()) > 0) {
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

enum err log_writer_start(log_writer_report_fn *report)
{
    sigset_t all, before;
    CHECK(writer.state == DIRECT);
    writer.queue = malloc(QUEUE_BYTES + REPORT_BYTES);
    writer.batch = malloc(QUEUE_BYTES + REPORT_BYTES);
    writer.report = report;
    writer.state = RUNNING;
    (void)sigfillset(&all); /* signals are for the event loop */
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
    const enum state state = writer.state;
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
