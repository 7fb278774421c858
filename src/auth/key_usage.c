/* Notes of key use.
 *
 *   QUIET --key_usage_record()--> WRITING --usage_done()--> RESTING --5 s later, notes--> WRITING
 *                                                             --5 s later, none---> QUIET
 *
 * The first note is written at once; what is noted meanwhile goes into the next jobs. */
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
    JOB_NOTES = 2000, /* 3 ms of a processor, which the loop may have to share */
    RECENT_SLOTS = 65536
};

/* Each commit makes all owners of keys be looked up anew (auth/key_cache.h). Tests move the clock on by
 * minutes and wait for this. */
#ifdef VT_TEST_SEAMS
enum { REST_MS = 1000 };
#else
enum { REST_MS = 5000 };
#endif

struct key_use {
    int64_t key_row, at_ms;
};

struct key_usage {
    struct writer_job job;
    struct writer *writer;
    uv_timer_t rest;
    bool writing, resting, failing, closing;
    size_t open_count, writing_count;
    struct key_use *open;    /* noted, not yet handed over */
    struct key_use *written; /* belongs to the job while `writing` */
    struct key_use
        recent[RECENT_SLOTS]; /* the last note of a key; direct-mapped, a collision only costs a write */
};

struct key_usage *key_usage_new(uv_loop_t *loop, struct writer *writer)
{
    struct key_usage *u = xcalloc(1, sizeof *u);
    CHECK(uv_timer_init(loop, &u->rest) == 0);
    u->rest.data = u;
    u->writer = writer;
    u->open = xcalloc(NOTES_MAX, sizeof *u->open);
    u->written = xcalloc(NOTES_MAX, sizeof *u->written);
    return u;
}

void key_usage_free(struct key_usage *u)
{
    if (!u)
        return;
    CHECK(!u->writing);
    free(u->open);
    free(u->written);
    free(u);
}

static enum err usage_work(struct writer_job *job, struct store *store)
{
    const struct key_usage *u = LIST_ENTRY(job, struct key_usage, job);
    for (size_t i = 0; i < u->writing_count; i++) {
        enum err e = store_set_key_used(store, u->written[i].key_row, u->written[i].at_ms);
        if (e)
            return e;
    }
    return OK;
}

static void on_rested(uv_timer_t *timer);

static void usage_done(struct writer_job *job, enum err e)
{
    struct key_usage *u = LIST_ENTRY(job, struct key_usage, job);
    u->writing = false;
    if (e && e != ERR_CANCELED && !u->failing)
        log_warn("the last use of API keys cannot be written: %s", err_name(e));
    u->failing = e != OK;
    if (u->closing)
        return;
    u->resting = true;
    CHECK(uv_timer_start(&u->rest, on_rested, REST_MS, 0) == 0);
}

/* The oldest notes, up to `most`. */
static void submit(struct key_usage *u, size_t most)
{
    size_t count = u->open_count < most ? u->open_count : most;
    memcpy(u->written, u->open, count * sizeof *u->open);
    u->open_count -= count;
    memmove(u->open, u->open + count, u->open_count * sizeof *u->open);
    u->writing_count = count;
    u->job = (struct writer_job){.work = usage_work, .done = usage_done};
    u->writing = writer_submit(u->writer, &u->job) == OK;
}

static void on_rested(uv_timer_t *timer)
{
    struct key_usage *u = timer->data;
    u->resting = false;
    if (u->open_count)
        submit(u, JOB_NOTES);
}

/* A job may be under way: what is noted then is lost, as in a crash. It is a minute of a time of last use. */
void key_usage_close(struct key_usage *u)
{
    u->closing = true;
    uv_close((uv_handle_t *)&u->rest, NULL);
    if (u->open_count && !u->writing)
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
    if (u->open_count == NOTES_MAX)
        return;
    *recent = u->open[u->open_count++] = (struct key_use){.key_row = owner->key_row, .at_ms = now};
    if (!u->writing && !u->resting)
        submit(u, JOB_NOTES);
}
