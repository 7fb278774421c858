/* Where each API key stands in the feed of events (decision 6), kept in Redis: a hash {after, sent, at,
 * polls} per key. Advisory: nothing that a client can see depends on it, and without Redis it is simply not
 * known.
 *
 * A key's position is the `after` of its last poll. An integration that keeps `next_cursor` names with it
 * what it has dealt with, so an event that was sent counts as behind until the next poll acknowledges it: one
 * that crashes over a page again and again does not look as if it were up to date. Polls that name no
 * position of their own (order=desc) stand at the newest event, and so does everyone who was told that there
 * is nothing new. */
#ifndef VT_LIMIT_POLL_POSITIONS_H
#define VT_LIMIT_POLL_POSITIONS_H

#include "base/uuid.h"
#include "redis/redis.h"

struct cursors;

/* `redis` NULL: nothing is kept. Takes redis_set_before_write(). */
struct cursors *poll_positions_new(uv_loop_t *loop, struct redis *redis, const char *key_prefix);
/* Before redis_close(). Frees itself once its timer is closed. */
void poll_positions_close(struct cursors *c);

/* ---- writing ---- */

enum { POSITION_UNCHANGED = -1 };
struct poll_update {
    int64_t after; /* the position, or POSITION_UNCHANGED */
    int64_t sent;  /* the newest event id that was sent; 0: none */
    int64_t at_ms; /* wall clock */
    int polls;     /* how many polls this note stands for: 1 for a request, 0 for news of one */
};

/* Written with the next command that goes to Redis anyway, or half a second later: neither a round trip nor a
 * write of its own, and all that was noted by then is one call. Notes of one key are joined meanwhile. */
void poll_positions_record(struct cursors *c, const struct uuid *key_id, const struct poll_update *note);

/* ---- reading ---- */

struct cursor {
    bool known; /* false: never polled within 90 days, or Redis does not say */
    int64_t after, sent, at_ms, polls;
};

enum { POLL_POSITIONS_MAX = 50, POLL_KEY_MAX = 128, POLL_POSITION_FIELDS = 4 };

/* One question; in the asking request's arena. */
struct poll_positions_call {
    struct redis_result answer;
    int count;
    int64_t integers[POLL_POSITIONS_MAX * POLL_POSITION_FIELDS];
    char keys[POLL_POSITIONS_MAX][POLL_KEY_MAX];
};

/* Asks for up to POLL_POSITIONS_MAX keys in one command: NEXT_MORE when Redis is not up, else NEXT_WAIT for
 * at most REDIS_DEADLINE_MS. Then poll_positions_get() tells each, in the order of the question. */
enum next poll_positions_load(struct cursors *c, const struct uuid *key_ids, int count, struct wait *w,
                              struct poll_positions_call *call);
struct cursor poll_positions_get(const struct poll_positions_call *call, int i);

/* "Events behind" of a key are the author's events above its position (store_count_events), counted up to
 * this: more is "more than 1,000". */
enum { LAG_MAX = 1000 };

/* ---- for the metrics ---- */

struct poll_position_counts {
    unsigned long long noted, dropped; /* dropped: Redis was away */
    struct metrics_sizes behind;       /* of each poll when it came: LAG_MAX + 1 is more */
};
struct poll_position_counts poll_positions_counts(const struct cursors *c);
void poll_positions_observe_lag(struct cursors *c, int64_t events);

#endif
