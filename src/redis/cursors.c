/* The notes that wait for a command to ride with, and the questions. Knows Redis by its calls, and events by
 * their numbers only. */
#include "redis/cursors.h"

#include "base/check.h"
#include "redis/scripts.h"

#include <stdio.h>
#include <stdlib.h>

enum { NOTES_MAX = 64, FLUSH_MS = 500, KEEP_DAYS = 90 };

/* Lua's numbers are exact up to there; no event id comes near it, but a client may name one above. */
static const int64_t position_max = INT64_C(9007199254740991);

struct pending {
    struct uuid key_id;
    struct cursor_note note;
};

struct cursors {
    uv_timer_t timer; /* of the oldest note */
    struct redis *redis;
    const char *key_prefix;
    int count;
    struct pending pending[NOTES_MAX];
    struct cursor_counts counts;
};

struct cursors *cursors_new(uv_loop_t *loop, struct redis *redis, const char *key_prefix)
{
    struct cursors *c = xcalloc(1, sizeof *c);
    CHECK(uv_timer_init(loop, &c->timer) == 0);
    c->timer.data = c;
    c->redis = redis;
    c->key_prefix = key_prefix;
    return c;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void cursors_close(struct cursors *c)
{
    if (!c)
        return;
    uv_close((uv_handle_t *)&c->timer, on_closed);
}

static struct str format_key(const struct cursors *c, const struct uuid *key_id, char out[CURSOR_KEY_MAX])
{
    char id[UUID_TEXT_LEN];
    uuid_format(key_id, id);
    int len = snprintf(out, CURSOR_KEY_MAX, "%scursor:%.*s", c->key_prefix, UUID_TEXT_LEN, id);
    CHECK(len > 0 && len < CURSOR_KEY_MAX);
    return str_make(out, (size_t)len);
}

/* ---- writing ---- */

static void write_note(struct cursors *c, const struct pending *p)
{
    enum { NUMBERS = 5, NUMBER_MAX = 24 };
    char key[CURSOR_KEY_MAX], text[NUMBERS][NUMBER_MAX];
    const int64_t numbers[NUMBERS] = {p->note.after, p->note.sent, p->note.at_ms, p->note.polls, KEEP_DAYS};
    struct str args[1 + NUMBERS] = {format_key(c, &p->key_id, key)};
    for (int i = 0; i < NUMBERS; i++) {
        int len = snprintf(text[i], NUMBER_MAX, "%lld", (long long)numbers[i]);
        args[i + 1] = str_make(text[i], (size_t)len);
    }
    redis_tell(c->redis, SCRIPT_NOTE_CURSOR, args, 1, 1 + NUMBERS);
}

void cursors_flush(struct cursors *c)
{
    if (!c->count)
        return;
    bool up = redis_is_up(c->redis);
    for (int i = 0; i < c->count && up; i++)
        write_note(c, &c->pending[i]);
    c->counts.dropped += up ? 0 : (unsigned)c->count;
    c->count = 0;
    (void)uv_timer_stop(&c->timer);
}

static void on_timer(uv_timer_t *timer)
{
    cursors_flush(timer->data);
}

static int64_t bounded(int64_t position)
{
    return position > position_max ? position_max : position;
}

static void join(struct cursor_note *to, const struct cursor_note *from)
{
    if (from->after != CURSOR_UNCHANGED)
        to->after = bounded(from->after);
    if (bounded(from->sent) > to->sent)
        to->sent = bounded(from->sent);
    to->at_ms = from->at_ms > to->at_ms ? from->at_ms : to->at_ms;
    to->polls += from->polls;
}

static struct pending *find_pending(struct cursors *c, const struct uuid *key_id)
{
    for (int i = 0; i < c->count; i++)
        if (uuid_cmp(&c->pending[i].key_id, key_id) == 0)
            return &c->pending[i];
    if (c->count == NOTES_MAX)
        cursors_flush(c);
    if (c->count == 0)
        CHECK(uv_timer_start(&c->timer, on_timer, FLUSH_MS, 0) == 0);
    struct pending *p = &c->pending[c->count++];
    *p = (struct pending){.key_id = *key_id, .note = {.after = CURSOR_UNCHANGED}};
    return p;
}

void cursors_note(struct cursors *c, const struct uuid *key_id, const struct cursor_note *note)
{
    if (!c->redis)
        return;
    c->counts.noted++;
    join(&find_pending(c, key_id)->note, note);
}

/* ---- reading ---- */

enum next cursors_read(struct cursors *c, const struct uuid *key_ids, int count, struct wait *w,
                       struct cursors_call *call)
{
    struct str args[CURSORS_READ_MAX];
    CHECK(count <= CURSORS_READ_MAX);
    call->count = count;
    call->answer = (struct redis_answer){.integers = call->integers, .room = (size_t)count * CURSOR_FIELDS};
    if (!c->redis || !count)
        return NEXT_MORE;
    for (int i = 0; i < count; i++)
        args[i] = format_key(c, &key_ids[i], call->keys[i]);
    return redis_run(c->redis, SCRIPT_READ_CURSORS, args, count, count, w, &call->answer);
}

struct cursor cursors_get(const struct cursors_call *call, int i)
{
    CHECK(i >= 0 && i < call->count);
    const int64_t *n = call->integers + (ptrdiff_t)i * CURSOR_FIELDS;
    if (!call->answer.ok || call->answer.count != call->answer.room || n[2] <= 0)
        return (struct cursor){.known = false};
    return (struct cursor){.known = true, .after = n[0], .sent = n[1], .at_ms = n[2], .polls = n[3]};
}

/* ---- counts ---- */

void cursors_observe_behind(struct cursors *c, int64_t events)
{
    metrics_observe_size(&c->counts.behind, events);
}

struct cursor_counts cursors_counts(const struct cursors *c)
{
    return c->counts;
}
