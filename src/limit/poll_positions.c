/* The notes that wait for a command to ride with, and the questions. Knows Redis by its calls, and events by
 * their numbers only. */
#include "limit/poll_positions.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/number.h"
#include "limit/scripts.h"

#include <stdio.h>
#include <stdlib.h>

enum { NOTES_MAX = 64, FLUSH_MS = 500, KEEP_DAYS = 90 };

/* Lua's numbers are exact up to there; no event id comes near it, but a client may name one above. */
static const int64_t position_max = INT64_C(9007199254740991);

struct pending {
    struct uuid key_id;
    struct poll_update note;
};

struct cursors {
    uv_timer_t timer; /* of the oldest note */
    struct redis *redis;
    struct str name; /* of the hashes, up to the id of the key; in `text` */
    char text[POLL_KEY_MAX - UUID_TEXT_LEN];
    int count;
    struct pending pending[NOTES_MAX];
    struct poll_position_counts counts;
};

static struct str format_key(const struct cursors *c, const struct uuid *key_id, char out[POLL_KEY_MAX])
{
    memcpy(out, c->name.p, c->name.len);
    uuid_format(key_id, out + c->name.len);
    return str_make(out, c->name.len + UUID_TEXT_LEN);
}

/* ---- writing ---- */

enum { NOTE_NUMBERS = 4, NUMBER_MAX = 20 };

static struct str number(int64_t v, char text[NUMBER_MAX])
{
    return str_make(text, i64_format(v, text));
}

static void write_notes(const struct cursors *c)
{
    char keys[NOTES_MAX][POLL_KEY_MAX], texts[NOTES_MAX][NOTE_NUMBERS][NUMBER_MAX], days[NUMBER_MAX];
    struct str args[NOTES_MAX * (1 + NOTE_NUMBERS) + 1], *at = args + c->count;
    *at++ = number(KEEP_DAYS, days);
    for (int i = 0; i < c->count; i++) {
        const struct poll_update *n = &c->pending[i].note;
        args[i] = format_key(c, &c->pending[i].key_id, keys[i]);
        *at++ = number(n->after, texts[i][0]);
        *at++ = number(n->sent, texts[i][1]);
        *at++ = number(n->at_ms, texts[i][2]);
        *at++ = number(n->polls, texts[i][3]);
    }
    redis_send(c->redis, SCRIPT_RECORD_POLLS, args, c->count, (int)(at - args));
}

static void flush(struct cursors *c)
{
    if (!c->count)
        return;
    if (redis_is_up(c->redis))
        write_notes(c);
    else
        c->counts.dropped += (unsigned)c->count;
    c->count = 0;
    (void)uv_timer_stop(&c->timer);
}

static void on_timer(uv_timer_t *timer)
{
    flush(timer->data);
}

static void on_sending(void *ctx)
{
    flush(ctx);
}

/* ---- life ---- */

struct cursors *poll_positions_new(uv_loop_t *loop, struct redis *redis, const char *key_prefix)
{
    struct cursors *c = xcalloc(1, sizeof *c);
    CHECK(uv_timer_init(loop, &c->timer) == 0);
    c->timer.data = c;
    c->redis = redis;
    int len = snprintf(c->text, sizeof c->text, "%scursor:", key_prefix);
    CHECK(len > 0 && (size_t)len < sizeof c->text);
    c->name = str_make(c->text, (size_t)len);
    if (redis)
        redis_set_before_write(redis, on_sending, c);
    return c;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void poll_positions_close(struct cursors *c)
{
    if (!c)
        return;
    if (c->redis)
        redis_set_before_write(c->redis, NULL, NULL);
    uv_close((uv_handle_t *)&c->timer, on_closed);
}

/* ---- noting ---- */

static int64_t bounded(int64_t position)
{
    return position > position_max ? position_max : position;
}

static void join(struct poll_update *to, const struct poll_update *from)
{
    if (from->after != POSITION_UNCHANGED)
        to->after = bounded(from->after);
    if (bounded(from->sent) > to->sent)
        to->sent = bounded(from->sent);
    to->at_ms = from->at_ms > to->at_ms ? from->at_ms : to->at_ms;
    to->polls += from->polls;
}

static struct pending *find_pending(struct cursors *c, const struct uuid *key_id)
{
    for (int i = 0; i < c->count; i++)
        if (uuid_eq(&c->pending[i].key_id, key_id))
            return &c->pending[i];
    if (c->count == NOTES_MAX)
        flush(c);
    if (c->count == 0)
        CHECK(uv_timer_start(&c->timer, on_timer, FLUSH_MS, 0) == 0);
    struct pending *p = &c->pending[c->count++];
    *p = (struct pending){.key_id = *key_id, .note = {.after = POSITION_UNCHANGED}};
    return p;
}

void poll_positions_record(struct cursors *c, const struct uuid *key_id, const struct poll_update *note)
{
    if (!c->redis)
        return;
    c->counts.noted++;
    join(&find_pending(c, key_id)->note, note);
}

/* ---- reading ---- */

enum next poll_positions_load(struct cursors *c, const struct uuid *key_ids, int count, struct wait *w,
                              struct poll_positions_call *call)
{
    struct str args[POLL_POSITIONS_MAX];
    CHECK(count <= POLL_POSITIONS_MAX);
    call->count = count;
    call->answer =
        (struct redis_result){.integers = call->integers, .room = (size_t)count * POLL_POSITION_FIELDS};
    if (!c->redis || !count)
        return NEXT_MORE;
    for (int i = 0; i < count; i++)
        args[i] = format_key(c, &key_ids[i], call->keys[i]);
    return redis_call(c->redis, SCRIPT_LOAD_POLLS, args, count, count, w, &call->answer);
}

struct cursor poll_positions_get(const struct poll_positions_call *call, int i)
{
    CHECK(i >= 0 && i < call->count);
    const int64_t *n = call->integers + (ptrdiff_t)i * POLL_POSITION_FIELDS;
    if (!call->answer.ok || call->answer.count != call->answer.room || n[2] <= 0)
        return (struct cursor){.known = false};
    return (struct cursor){.known = true, .after = n[0], .sent = n[1], .at_ms = n[2], .polls = n[3]};
}

/* ---- counts ---- */

void poll_positions_observe_lag(struct cursors *c, int64_t events)
{
    metrics_observe_size(&c->counts.behind, events);
}

struct poll_position_counts poll_positions_counts(const struct cursors *c)
{
    return c->counts;
}
