/* Collects updates of poll positions and sends them with the next command to Redis; loads positions. */
#include "limit/poll_positions.h"

#include "base/check.h"
#include "base/number.h"

#include <stdlib.h>

enum { PENDING_MAX = 64, FLUSH_MS = 500, EXPIRE_DAYS = 90 };

/* The maximum position that is stored, because Lua numbers are exact only up to this value. Event ids are
 * much smaller, but a client may send any number as `after`. */
static const int64_t position_max = INT64_C(9007199254740991);

struct pending_update {
    struct uuid key_id;
    struct poll_update update;
};

struct poll_positions {
    uv_timer_t timer; /* runs while updates are pending */
    struct redis *redis;
    struct redis_key_family keys;
    int count;
    struct pending_update pending[PENDING_MAX];
    struct poll_position_counts counts;
};

/* ---- writing positions to Redis ---- */

enum { UPDATE_NUMBERS = 4, NUMBER_MAX = I64_TEXT_MAX };

static struct str format_number(int64_t v, char text[NUMBER_MAX])
{
    return str_make(text, i64_format(v, text));
}

static void send_pending(const struct poll_positions *p)
{
    char keys[PENDING_MAX][REDIS_KEY_MAX], numbers[PENDING_MAX][UPDATE_NUMBERS][NUMBER_MAX], days[NUMBER_MAX];
    struct str args[PENDING_MAX * (1 + UPDATE_NUMBERS) + 1], *at = args + p->count;
    *at++ = format_number(EXPIRE_DAYS, days);
    for (int i = 0; i < p->count; i++) {
        const struct poll_update *u = &p->pending[i].update;
        args[i] = redis_key_format(&p->keys, &p->pending[i].key_id, keys[i]);
        *at++ = format_number(u->after, numbers[i][0]);
        *at++ = format_number(u->sent, numbers[i][1]);
        *at++ = format_number(u->at_ms, numbers[i][2]);
        *at++ = format_number(u->polls, numbers[i][3]);
    }
    redis_send(p->redis, SCRIPT_RECORD_POLLS, args, p->count, (int)(at - args));
}

static void flush(struct poll_positions *p)
{
    if (!p->count)
        return;
    if (redis_is_up(p->redis))
        send_pending(p);
    else
        p->counts.dropped += (unsigned)p->count;
    p->count = 0;
    (void)uv_timer_stop(&p->timer);
}

static void on_timer(uv_timer_t *timer)
{
    flush(timer->data);
}

static void before_write(void *ctx)
{
    flush(ctx);
}

/* ---- opening and closing ---- */

struct poll_positions *poll_positions_new(uv_loop_t *loop, struct redis *redis, const char *key_prefix)
{
    struct poll_positions *p = xcalloc(1, sizeof *p);
    CHECK(uv_timer_init(loop, &p->timer) == 0);
    p->timer.data = p;
    p->redis = redis;
    redis_key_family_init(&p->keys, key_prefix, POLL_KEYS);
    if (redis)
        redis_set_before_write(redis, before_write, p);
    return p;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void poll_positions_close(struct poll_positions *p)
{
    if (!p)
        return;
    if (p->redis)
        redis_set_before_write(p->redis, NULL, NULL);
    uv_close((uv_handle_t *)&p->timer, on_closed);
}

/* ---- recording a position ---- */

static int64_t clamp_position(int64_t position)
{
    return position > position_max ? position_max : position;
}

static void merge(struct poll_update *to, const struct poll_update *from)
{
    if (from->after != POSITION_UNCHANGED)
        to->after = clamp_position(from->after);
    if (clamp_position(from->sent) > to->sent)
        to->sent = clamp_position(from->sent);
    to->at_ms = from->at_ms > to->at_ms ? from->at_ms : to->at_ms;
    to->polls += from->polls;
}

static struct poll_update *find_or_add(struct poll_positions *p, const struct uuid *key_id)
{
    for (int i = 0; i < p->count; i++)
        if (uuid_eq(&p->pending[i].key_id, key_id))
            return &p->pending[i].update;
    if (p->count == PENDING_MAX)
        flush(p);
    if (p->count == 0)
        CHECK(uv_timer_start(&p->timer, on_timer, FLUSH_MS, 0) == 0);
    struct pending_update *pending = &p->pending[p->count++];
    *pending = (struct pending_update){.key_id = *key_id, .update = {.after = POSITION_UNCHANGED}};
    return &pending->update;
}

void poll_positions_record(struct poll_positions *p, const struct uuid *key_id,
                           const struct poll_update *update)
{
    if (!p->redis)
        return;
    p->counts.recorded++;
    merge(find_or_add(p, key_id), update);
}

/* ---- loading positions ---- */

enum next poll_positions_load(struct poll_positions *p, const struct uuid *key_ids, int count,
                              struct waiter *w, struct poll_positions_call *call)
{
    struct str args[POLL_POSITIONS_MAX];
    CHECK(count <= POLL_POSITIONS_MAX);
    call->count = count;
    call->result =
        (struct redis_result){.integers = call->integers, .room = (size_t)count * POLL_POSITION_FIELDS};
    if (!p->redis || !count)
        return NEXT_MORE;
    for (int i = 0; i < count; i++)
        args[i] = redis_key_format(&p->keys, &key_ids[i], call->redis_keys[i]);
    return redis_call(p->redis, SCRIPT_LOAD_POLLS, args, count, count, w, &call->result);
}

struct poll_position poll_positions_get(const struct poll_positions_call *call, int i)
{
    CHECK(i >= 0 && i < call->count);
    const int64_t *n = call->integers + (ptrdiff_t)i * POLL_POSITION_FIELDS;
    if (!call->result.ok || call->result.count != call->result.room || n[2] <= 0)
        return (struct poll_position){.known = false};
    return (struct poll_position){.known = true, .after = n[0], .sent = n[1], .at_ms = n[2], .polls = n[3]};
}

/* ---- metrics ---- */

void poll_positions_observe_lag(struct poll_positions *p, int64_t events)
{
    metrics_observe_size(&p->counts.lag, events);
}

struct poll_position_counts poll_positions_get_counts(const struct poll_positions *p)
{
    return p->counts;
}
