/* Collects uses of API keys (notes) and writes them with a job of the writer.
 *
 *   IDLE --key_usage_record()--> WRITING --usage_done()--> PAUSED --5 s later, notes pending--> WRITING
 *                                                             --5 s later, none pending---> IDLE
 *
 * The first note is submitted immediately. Notes that arrive during a job or a pause are submitted after
 * the pause, at most JOB_NOTES per job. */
#include "auth/key_usage.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "store/write.h"

#include <stdlib.h>

enum {
    WRITE_EVERY_MS = MINUTE_MS,
    NOTES_MAX = 16384,
    JOB_NOTES = 2000, /* storing them takes 3 ms of processor time, possibly on the core of the loop */
    RECENT_SLOTS = 65536
};

/* The pause limits how often commits invalidate the key caches (auth/key_cache.h). Tests move the clock by
 * minutes and wait for the pause to end. */
#ifdef VT_TEST_SEAMS
enum { PAUSE_MS = 1000 };
#else
enum { PAUSE_MS = 5000 };
#endif

struct key_use {
    int64_t key_row, at_ms;
};

struct key_usage {
    struct writer_job job;
    struct writer *writer;
    uv_timer_t pause;
    bool is_writing, is_paused, is_failing, is_closing;
    size_t pending_count, written_count;
    struct key_use *pending;             /* not yet submitted */
    struct key_use *written;             /* owned by the job while is_writing */
    struct key_use recent[RECENT_SLOTS]; /* the last note of each key. Two keys may share an element, which
                                            only causes more writes */
};

struct key_usage *key_usage_new(uv_loop_t *loop, struct writer *writer)
{
    struct key_usage *u = xcalloc(1, sizeof *u);
    CHECK(uv_timer_init(loop, &u->pause) == 0);
    u->pause.data = u;
    u->writer = writer;
    u->pending = xcalloc(NOTES_MAX, sizeof *u->pending);
    u->written = xcalloc(NOTES_MAX, sizeof *u->written);
    return u;
}

void key_usage_free(struct key_usage *u)
{
    if (!u)
        return;
    CHECK(!u->is_writing);
    free(u->pending);
    free(u->written);
    free(u);
}

static enum err usage_work(struct writer_job *job, struct store *store)
{
    const struct key_usage *u = LIST_ENTRY(job, struct key_usage, job);
    for (size_t i = 0; i < u->written_count; i++) {
        enum err err = store_set_key_used(store, u->written[i].key_row, u->written[i].at_ms);
        if (err)
            return err;
    }
    return OK;
}

static void on_pause_ended(uv_timer_t *timer);

static void usage_done(struct writer_job *job, enum err err)
{
    struct key_usage *u = LIST_ENTRY(job, struct key_usage, job);
    u->is_writing = false;
    if (err && err != ERR_CANCELED && !u->is_failing)
        log_warn("cannot store when API keys were last used: %s", err_name(err));
    u->is_failing = err != OK;
    if (u->is_closing)
        return;
    u->is_paused = true;
    CHECK(uv_timer_start(&u->pause, on_pause_ended, PAUSE_MS, 0) == 0);
}

/* Submits the oldest notes, up to `max`. */
static void submit(struct key_usage *u, size_t max)
{
    size_t count = u->pending_count < max ? u->pending_count : max;
    memcpy(u->written, u->pending, count * sizeof *u->pending);
    u->pending_count -= count;
    memmove(u->pending, u->pending + count, u->pending_count * sizeof *u->pending);
    u->written_count = count;
    u->job = (struct writer_job){.work = usage_work, .done = usage_done};
    u->is_writing = writer_submit(u->writer, &u->job) == OK;
}

static void on_pause_ended(uv_timer_t *timer)
{
    struct key_usage *u = timer->data;
    u->is_paused = false;
    if (u->pending_count)
        submit(u, JOB_NOTES);
}

/* If a job is running, the pending notes are lost, as they would be in a crash. The stored times of use are
 * then up to a minute too old. */
void key_usage_close(struct key_usage *u)
{
    u->is_closing = true;
    uv_close((uv_handle_t *)&u->pause, NULL);
    if (u->pending_count && !u->is_writing)
        submit(u, NOTES_MAX);
}

void key_usage_record(struct key_usage *u, const struct key_owner *owner)
{
    int64_t now = clock_wall_ms();
    struct key_use *recent = &u->recent[(size_t)owner->key_row % RECENT_SLOTS];
    if (owner->last_used_at != TIME_NONE && llabs(now - owner->last_used_at) < WRITE_EVERY_MS)
        return;
    if (recent->key_row == owner->key_row && llabs(now - recent->at_ms) < WRITE_EVERY_MS)
        return;
    if (u->pending_count == NOTES_MAX)
        return;
    *recent = u->pending[u->pending_count++] = (struct key_use){.key_row = owner->key_row, .at_ms = now};
    if (!u->is_writing && !u->is_paused)
        submit(u, JOB_NOTES);
}
