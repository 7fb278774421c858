/* Poll positions: how far each API key has read the feed of events. Redis stores a hash {after, sent, at,
 * polls} per key. Poll positions are only shown to authors and operators; no page of the feed depends on
 * them. Without Redis they are unknown.
 *
 * The position of a key is the parameter `after` of its last poll. When a client has processed a page, it
 * passes the page's `next_cursor` as `after` of the next poll. So an event that was sent counts as lag until
 * the next poll acknowledges it, and a client that crashes on the same page again and again does not look up
 * to date. A poll of the newest events (order=desc without `before`), and a poll that finds no new event, set
 * the position to the newest event. */
#ifndef VT_LIMIT_POLL_POSITIONS_H
#define VT_LIMIT_POLL_POSITIONS_H

#include "base/uuid.h"
#include "limit/scripts.h"
#include "redis/redis.h"

struct poll_positions;

/* Creates the recorder and registers it with redis_set_before_write(). If `redis` is NULL, nothing is
 * recorded. */
struct poll_positions *poll_positions_new(uv_loop_t *loop, struct redis *redis, const char *key_prefix);

/* Closes the recorder. Its memory is freed when its timer has closed. Call before redis_close(). `p` may be
 * NULL. */
void poll_positions_close(struct poll_positions *p);

/* ---- recording a position ---- */

enum { POSITION_UNCHANGED = -1 };

/* One update of a key's position. */
struct poll_update {
    int64_t after; /* the new position, or POSITION_UNCHANGED */
    int64_t sent;  /* id of the newest event that was sent; 0 if none */
    int64_t at_ms; /* time of the poll, by the wall clock */
    int polls;     /* number of polls to add: 1 for the first update of a request, 0 for later ones */
};

/* Records an update. Updates wait until other commands are written to Redis, but at most half a second. They
 * are then sent in one call. Several updates of one key are merged. */
void poll_positions_record(struct poll_positions *p, const struct uuid *key_id,
                           const struct poll_update *update);

/* ---- loading positions ---- */

struct poll_position {
    bool known; /* false if the key has not polled for about 90 days, or if Redis did not reply */
    /* The same members as in struct poll_update, but `polls` is the total. */
    int64_t after, sent, at_ms, polls;
};

enum { POLL_POSITIONS_MAX = 50, POLL_POSITION_FIELDS = 4 };

/* The data of one call; must stay valid while the waiter is armed. */
struct poll_positions_call {
    struct redis_result result;
    int count;
    int64_t integers[POLL_POSITIONS_MAX * POLL_POSITION_FIELDS];
    char redis_keys[POLL_POSITIONS_MAX][REDIS_KEY_MAX];
};

/* Loads the positions of up to POLL_POSITIONS_MAX keys. Returns NEXT_MORE if Redis is unavailable; otherwise
 * returns NEXT_WAIT, and `w` completes within REDIS_DEADLINE_MS. In both cases, call poll_positions_get()
 * afterwards. */
enum next poll_positions_load(struct poll_positions *p, const struct uuid *key_ids, int count,
                              struct waiter *w, struct poll_positions_call *call);

/* Returns the position of key_ids[i]. Call after poll_positions_load(). */
struct poll_position poll_positions_get(const struct poll_positions_call *call, int i);

/* The lag of a key is the number of events of its author that are newer than its position
 * (store_count_events()). Counting stops after LAG_MAX events: LAG_MAX + 1 means more than LAG_MAX. */
enum { LAG_MAX = 1000 };

/* ---- metrics ---- */

struct poll_position_counts {
    unsigned long long recorded; /* updates */
    unsigned long long dropped;  /* merged updates, dropped because Redis was unavailable: one per key */
    struct metrics_size_histogram lag; /* for each poll: the lag of the key when the poll arrived */
};

/* Returns the totals since the start. */
struct poll_position_counts poll_positions_get_counts(const struct poll_positions *p);

/* Adds the lag of a poll, in events, to the metric of lags. */
void poll_positions_observe_lag(struct poll_positions *p, int64_t events);

#endif
