/* Loads the poll positions in blocks, then counts the events after each position. */
#include "cli/key_lag.h"

#include "base/check.h"
#include "cli/redis_session.h"
#include "store/read.h"

#include <stdlib.h>

/* Loads one block of positions. Returns false if Redis did not reply. */
static bool load_block(struct redis_session *s, struct poll_positions *positions,
                       struct poll_positions_call *call, struct key_lag *lags, int count)
{
    struct uuid ids[POLL_POSITIONS_MAX];
    for (int i = 0; i < count; i++)
        ids[i] = lags[i].key_id;
    if (poll_positions_load(positions, ids, count, &s->waiter, call) == NEXT_WAIT)
        redis_session_wait(s);
    for (int i = 0; i < count; i++) {
        lags[i].is_read = call->result.ok;
        lags[i].position = poll_positions_get(call, i);
    }
    return call->result.ok;
}

static bool load_all(struct redis_session *s, const char *key_prefix, struct key_lag *lags, size_t count)
{
    struct poll_positions *positions = poll_positions_new(&s->loop, s->redis, key_prefix);
    struct poll_positions_call *call = xcalloc(1, sizeof *call);
    bool ok = true;
    for (size_t i = 0; i < count && ok; i += POLL_POSITIONS_MAX) {
        const size_t left = count - i;
        ok = load_block(s, positions, call, lags + i,
                        left < POLL_POSITIONS_MAX ? (int)left : POLL_POSITIONS_MAX);
    }
    free(call);
    poll_positions_close(positions);
    return ok;
}

enum key_lag_state key_lag_read(const struct config *c, struct store *store, int64_t author_row,
                                struct key_lag *lags, size_t count, struct error *error)
{
    struct redis_session session = {.timed_out = false};
    *error = (struct error){0};
    if (!*c->redis.url)
        return KEY_LAG_NO_REDIS;
    if (redis_session_open(&session, c, error))
        return KEY_LAG_UNAVAILABLE;
    const bool ok = load_all(&session, c->redis.key_prefix, lags, count);
    redis_session_close(&session);
    for (size_t i = 0; i < count; i++) {
        struct store_read read = {.store = store};
        if (lags[i].position.known)
            (void)store_count_events(&read, author_row, lags[i].position.after, LAG_MAX + 1, &lags[i].events);
    }
    return ok ? KEY_LAG_READ : KEY_LAG_UNAVAILABLE;
}
