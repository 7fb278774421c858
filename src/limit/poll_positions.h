/* Poll positions: how far each API key has read the feed of events (decision 6). A hash {after, sent, at,
 * polls} per key in Redis. Advisory: no response depends on it, and without Redis positions are unknown.
 *
 * The position of a key is the `after` of its last poll. A client passes `next_cursor` as `after` once it has
 * processed a page, so an event that was sent counts as lag until the next poll acknowledges it: a client
 * that crashes over the same page again and again does not look up to date. The position is the newest event
 * for polls without a position of their own (order=desc) and for polls that found no new event. */
#ifndef VT_LIMIT_POLL_POSITIONS_H
#define VT_LIMIT_POLL_POSITIONS_H

#include "base/uuid.h"
#include "limit/scripts.h"
#include "redis/redis.h"

struct poll_positions;

/* `redis` NULL: nothing is recorded. Registers itself with redis_set_before_write(). */
struct poll_positions *poll_positions_new(uv_loop_t *loop, struct redis *redis, const char *key_prefix);
/* Call before redis_close(). Frees itself when its timer has closed. NULL is allowed. */
void poll_positions_close(struct poll_positions *p);

/* ---- recording ---- */

enum { POSITION_UNCHANGED = -1 };
struct poll_update {
    int64_t after; /* the position, or POSITION_UNCHANGED */
    int64_t sent;  /* id of the newest event that was sent; 0: none */
    int64_t at_ms; /* wall clock */
    int polls;     /* polls to add: 1 for a request, 0 for a later update of the same request */
};

/* Updates wait for the next write to Redis, at most half a second, and then share one call. Several updates
 * of one key are merged. */
void poll_positions_record(struct poll_positions *p, const struct uuid *key_id,
                           const struct poll_update *update);

/* ---- loading ---- */

struct poll_position {
    bool known; /* false: no poll in the last 90 days, or Redis did not reply */
    int64_t after, sent, at_ms, polls;
};

enum { POLL_POSITIONS_MAX = 50, POLL_POSITION_FIELDS = 4 };

/* One call; in the arena of the request. */
struct poll_positions_call {
    struct redis_result result;
    int count;
    int64_t integers[POLL_POSITIONS_MAX * POLL_POSITION_FIELDS];
    char keys[POLL_POSITIONS_MAX][REDIS_KEY_MAX];
};

/* Loads the positions of up to POLL_POSITIONS_MAX keys: NEXT_MORE if Redis is unavailable, else NEXT_WAIT for
 * at most REDIS_DEADLINE_MS. Afterwards poll_positions_get() returns the position of key_ids[i]. */
enum next poll_positions_load(struct poll_positions *p, const struct uuid *key_ids, int count,
                              struct waiter *w, struct poll_positions_call *call);
struct poll_position poll_positions_get(const struct poll_positions_call *call, int i);

/* The lag of a key is the number of the author's events after its position (store_count_events), counted up
 * to LAG_MAX; LAG_MAX + 1 means more. */
enum { LAG_MAX = 1000 };

/* ---- metrics ---- */

struct poll_position_counts {
    unsigned long long recorded, dropped; /* dropped: Redis was unavailable */
    struct metrics_sizes lag;             /* of each poll on arrival */
};
struct poll_position_counts poll_positions_counts(const struct poll_positions *p);
void poll_positions_observe_lag(struct poll_positions *p, int64_t events);

#endif
