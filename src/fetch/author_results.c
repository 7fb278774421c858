/* Results until they are written: an author's readings as one step, and what was found out about posts and
 * accounts.
 *
 * An author's step is applied when every lane has gone past the author and nothing of it is open: then its
 * readings of all platforms have one instant, that of the last answer. A lane that is behind is waited for,
 * but for VISIT_WAIT_MS after the last answer and with HELD_MOST readings over all authors at most; what
 * comes later is a step of its own. Two minutes are longer than a call with all its repeats takes when a
 * platform is only slow, and short against the hour after which the next readings come; and what is not
 * applied is lost when the machine fails. */
#include "fetch/engine.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>

enum { VISIT_WAIT_MS = 120 * 1000, HELD_MOST = 50000, NOTES_MOST = 1000, TEXTS_BLOCK = 64 * 1024 };

/* --- visits, in the order of the walk --- */

static size_t place_of(const struct engine *e, const struct position *at)
{
    size_t low = 0, high = e->visit_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (position_cmp(&e->visits[middle]->at, at) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct visit *visit_at(struct engine *e, const struct position *at)
{
    const size_t i = place_of(e, at);
    if (i < e->visit_count && position_cmp(&e->visits[i]->at, at) == 0)
        return e->visits[i];
    if (e->visit_count == e->visit_cap) {
        e->visit_cap = e->visit_cap ? 2 * e->visit_cap : 256;
        e->visits = xrealloc(e->visits, e->visit_cap * sizeof(struct visit *));
    }
    struct visit *v = xcalloc(1, sizeof *v);
    v->at = *at;
    v->answered_at = TIME_NONE;
    memmove(e->visits + i + 1, e->visits + i, (e->visit_count - i) * sizeof(struct visit *));
    e->visits[i] = v;
    e->visit_count++;
    return v;
}

static void visit_free(struct visit *v)
{
    free(v->readings);
    free(v->video_posted_at);
    free(v);
}

void visit_free_all(struct engine *e)
{
    for (size_t i = 0; i < e->visit_count; i++)
        visit_free(e->visits[i]);
    free(e->visits);
    free(e->posts);
    free(e->notes);
    arena_fini(&e->post_texts);
}

void visit_add(struct engine *e, struct visit *v, const struct ask *ask, enum platform platform)
{
    if (v->count == v->cap) {
        v->cap = v->cap ? 2 * v->cap : 8;
        v->readings = xrealloc(v->readings, v->cap * sizeof *v->readings);
        v->video_posted_at = xrealloc(v->video_posted_at, v->cap * sizeof *v->video_posted_at);
    }
    struct reading *r = &v->readings[v->count];
    *r = (struct reading){.video_row = ask->video_row, .platform = platform, .not_of_views = true};
    memcpy(r->counts, ask->counts, sizeof r->counts);
    r->not_of_views = r->counts[COUNT_VIEWS] == COUNT_NONE;
    v->video_posted_at[v->count++] = ask->video_posted_at;
    v->answered_at = clock_wall_ms();
    v->answered_mono = clock_mono_ms();
    e->held++;
}

/* --- applying --- */

static bool is_passed(const struct engine *e, const struct visit *v)
{
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        const struct lane *lane = &e->lanes[p];
        if (lane->active && !lane->ended && v->at.pass < lane->passes && position_cmp(&lane->at, &v->at) < 0)
            return false;
    }
    return v->parts_open == 0;
}

/* A video whose thirty days came to their end while the others were waited for is not read any more. */
static void drop_expired(struct visit *v)
{
    size_t kept = 0;
    for (size_t i = 0; i < v->count; i++)
        if (v->answered_at <= v->video_posted_at[i] + VIDEO_LIFE_DAYS * DAY_MS) {
            v->video_posted_at[kept] = v->video_posted_at[i];
            v->readings[kept++] = v->readings[i];
        }
    v->count = kept;
}

static enum err apply(struct engine *e, struct visit *v)
{
    e->held -= v->count;
    drop_expired(v);
    const enum err err = run_queue_step(e->run, v->answered_at, v->readings, v->count);
    e->gathered += v->count;
    v->count = 0;
    return err;
}

enum err visit_apply(struct engine *e, bool all)
{
    const int64_t now = clock_mono_ms();
    enum err err = OK;
    size_t kept = 0;
    for (size_t i = 0; i < e->visit_count; i++) {
        struct visit *v = e->visits[i];
        const bool passed = is_passed(e, v);
        const bool due = all || passed || e->held > HELD_MOST || now - v->answered_mono >= VISIT_WAIT_MS;
        if (!err && v->count && due)
            err = apply(e, v);
        if (passed && !v->count)
            visit_free(v);
        else
            e->visits[kept++] = v;
    }
    e->visit_count = kept;
    return err;
}

/* --- notes --- */

void note_post(struct engine *e, const struct platform_post *post)
{
    if (e->post_count == e->post_cap) {
        e->post_cap = e->post_cap ? 2 * e->post_cap : 256;
        e->posts = xrealloc(e->posts, e->post_cap * sizeof *e->posts);
    }
    if (!e->post_texts.block_size)
        arena_init(&e->post_texts, TEXTS_BLOCK);
    struct platform_post *to = &e->posts[e->post_count++];
    *to = *post;
    to->post_id = arena_copy(&e->post_texts, post->post_id);
    if (post->resolved_id.p)
        to->resolved_id = arena_copy(&e->post_texts, post->resolved_id);
}

void note_account(struct engine *e, const struct note *note)
{
    if (e->note_count == e->note_cap) {
        e->note_cap = e->note_cap ? 2 * e->note_cap : 256;
        e->notes = xrealloc(e->notes, e->note_cap * sizeof *e->notes);
    }
    e->notes[e->note_count++] = *note;
}

static enum err write_note(struct engine *e, const struct note *n)
{
    const struct str text = str_from_cstr(n->text);
    switch (n->kind) {
    case NOTE_OK: return store_credential_ok(e->store, n->row, n->at);
    case NOTE_FAILED:
        return store_credential_failed(e->store, n->row, n->version, text, n->at, CREDENTIAL_FINE);
    case NOTE_SIGN_IN:
        return store_credential_failed(e->store, n->row, n->version, text, n->at, CREDENTIAL_SIGN_IN);
    case NOTE_TIER: return store_set_credential_tier(e->store, n->row, n->tier, text, n->at);
    }
    return OK;
}

static enum err write_some(struct engine *e, size_t *posts, size_t *notes)
{
    enum err err = OK;
    for (int n = 0; n < NOTES_MOST && *posts < e->post_count && !err; n++)
        err = store_put_platform_post(e->store, &e->posts[(*posts)++]);
    for (int n = 0; n < NOTES_MOST && *notes < e->note_count && !err; n++) {
        err = write_note(e, &e->notes[(*notes)++]);
        if (err == ERR_NOT_FOUND) /* the account was removed meanwhile */
            err = OK;
    }
    for (int api = 0; api < PLATFORM_APIS && !err; api++)
        if (e->gates[api].changed)
            err = gate_save(e, &e->gates[api]);
    return err;
}

static bool has_changed(const struct engine *e)
{
    bool changed = false;
    for (int api = 0; api < PLATFORM_APIS; api++)
        changed = changed || e->gates[api].changed;
    return changed;
}

enum err note_flush(struct engine *e)
{
    size_t posts = 0, notes = 0;
    while (posts < e->post_count || notes < e->note_count || has_changed(e)) {
        enum err err = run_begin(e->run);
        if (err)
            return err;
        err = write_some(e, &posts, &notes);
        if (err) {
            run_rollback(e->run);
            return run_fail(e->run, err, "the database says: %s", err_name(err));
        }
        err = run_commit(e->run);
        if (err)
            return err;
    }
    e->post_count = e->note_count = 0;
    arena_reset(&e->post_texts);
    return OK;
}
