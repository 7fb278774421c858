/* Collects the uses of API keys and writes them with a job of the writer.
 *
 *   IDLE --key_usage_record()--> WRITING --usage_done()--> PAUSED --5 s later, uses pending--> WRITING
 *                                                             --5 s later, none pending---> IDLE
 *
 * The first use is submitted immediately. Uses that are recorded during a job or a pause are submitted after
 * the pause, at most JOB_USES per job. */
#include "auth/key_usage.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "store/write.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum {
    WRITE_EVERY_MS = MINUTE_MS,
    USES_MAX = 16384,
    JOB_USES = 2000, /* writing this many uses takes 3 ms of processor time, possibly on the core that runs
                         the loop */
    RECENT_SLOTS = 65536
};

/* The pause limits how often commits invalidate the key caches (auth/key_cache.h). The pause is shorter in
 * test builds, because tests wait for its end. */
#ifdef VT_TEST_SEAMS
enum { PAUSE_MS = 1000 };
#else
enum { PAUSE_MS = 5000 };
#endif

struct key_use {
    int64_t key_row, at_ms;
    char address[INET6_ADDRSTRLEN]; /* address of the client; only for the first use of the key, otherwise ""
                                     */
};

struct recent_use {
    int64_t key_row, at_ms;
};

struct key_usage {
    struct writer_job job, last_job; /* `last_job` writes the pending uses on shutdown */
    struct writer *writer;
    uv_timer_t pause;
    bool is_writing, is_writing_last, is_paused, is_failing, is_closing;
    size_t pending_count, written_count;
    struct key_use *pending;                /* not yet submitted */
    struct key_use *written;                /* owned by the job while is_writing */
    struct recent_use recent[RECENT_SLOTS]; /* the most recently recorded use of each key. Two keys may share
                                               an element, which only causes more writes */
};

struct key_usage *key_usage_new(uv_loop_t *loop, struct writer *writer)
{
    struct key_usage *u = xcalloc(1, sizeof *u);
    CHECK(uv_timer_init(loop, &u->pause) == 0);
    u->pause.data = u;
    u->writer = writer;
    u->pending = xcalloc(USES_MAX, sizeof *u->pending);
    u->written = xcalloc(USES_MAX, sizeof *u->written);
    return u;
}

void key_usage_free(struct key_usage *u)
{
    if (!u)
        return;
    CHECK(!u->is_writing && !u->is_writing_last);
    free(u->pending);
    free(u->written);
    free(u);
}

static enum err write_uses(struct store *store, const struct key_use *uses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct key_use *use = &uses[i];
        enum err err = store_set_key_used(store, use->key_row, use->at_ms, str_from_cstr(use->address));
        if (err)
            return err;
    }
    return OK;
}

static enum err usage_work(struct writer_job *job, struct store *store)
{
    const struct key_usage *u = LIST_ENTRY(job, struct key_usage, job);
    return write_uses(store, u->written, u->written_count);
}

static void on_pause_ended(uv_timer_t *timer);

static void record_result(struct key_usage *u, enum err err)
{
    if (err && err != ERR_CANCELED && !u->is_failing)
        log_warn("cannot store when API keys were last used: %s", err_name(err));
    u->is_failing = err != OK;
}

static void usage_done(struct writer_job *job, enum err err)
{
    struct key_usage *u = LIST_ENTRY(job, struct key_usage, job);
    u->is_writing = false;
    record_result(u, err);
    if (u->is_closing)
        return;
    u->is_paused = true;
    CHECK(uv_timer_start(&u->pause, on_pause_ended, PAUSE_MS, 0) == 0);
}

/* Submits the oldest uses, up to `max`. */
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
        submit(u, JOB_USES);
}

static enum err last_work(struct writer_job *job, struct store *store)
{
    const struct key_usage *u = LIST_ENTRY(job, struct key_usage, last_job);
    return write_uses(store, u->pending, u->pending_count);
}

static void last_done(struct writer_job *job, enum err err)
{
    struct key_usage *u = LIST_ENTRY(job, struct key_usage, last_job);
    u->is_writing_last = false;
    record_result(u, err);
}

/* Submits the final job, which writes `pending`. A job that is still running uses `written`, so both can be
 * in the queue of the writer. */
void key_usage_close(struct key_usage *u)
{
    u->is_closing = true;
    uv_close((uv_handle_t *)&u->pause, NULL);
    if (!u->pending_count)
        return;
    u->last_job = (struct writer_job){.work = last_work, .done = last_done};
    u->is_writing_last = writer_submit(u->writer, &u->last_job) == OK;
}

void key_usage_record(struct key_usage *u, const struct key_owner *owner, struct str address)
{
    int64_t now = clock_wall_ms();
    struct recent_use *recent = &u->recent[(size_t)owner->key_row % RECENT_SLOTS];
    if (owner->last_used_at != TIME_NONE && llabs(now - owner->last_used_at) < WRITE_EVERY_MS)
        return;
    if (recent->key_row == owner->key_row && llabs(now - recent->at_ms) < WRITE_EVERY_MS)
        return;
    if (u->is_closing || u->pending_count == USES_MAX)
        return;
    *recent = (struct recent_use){.key_row = owner->key_row, .at_ms = now};
    struct key_use *use = &u->pending[u->pending_count++];
    *use = (struct key_use){.key_row = owner->key_row, .at_ms = now};
    if (owner->last_used_at == TIME_NONE && address.p && address.len < sizeof use->address)
        memcpy(use->address, address.p, address.len);
    if (!u->is_writing && !u->is_paused)
        submit(u, JOB_USES);
}
