/* The floor of expiry as rows of the table meta. */
#include "store/stored_floor.h"

#include "base/check.h"
#include "store/handle.h"

static const struct str FLOOR = {"expiry_floor", 12}, AHEAD_WALL = {"expiry_ahead_wall", 17},
                        AHEAD_FOR = {"expiry_ahead_for", 16};

static enum err get(struct store *s, struct str key, int64_t *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_META);
    *out = 0;
    db_bind_text(q, 1, key);
    enum err err = db_one(&s->db, q);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    *out = db_i64(q, 0);
    db_reset(q);
    return OK;
}

enum err store_get_expiry(struct store *s, struct expiry_state *out)
{
    enum err err = get(s, FLOOR, &out->floor_ms);
    if (!err)
        err = get(s, AHEAD_WALL, &out->ahead_wall_ms);
    return err ? err : get(s, AHEAD_FOR, &out->ahead_for_ms);
}

static enum err put(struct store *s, struct str key, int64_t value)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_META_PUT);
    db_bind_text(q, 1, key);
    db_bind_i64(q, 2, value);
    return db_write(&s->db, q);
}

enum err store_put_expiry(struct store *s, const struct expiry_state *state)
{
    enum err err = put(s, FLOOR, state->floor_ms);
    if (!err)
        err = put(s, AHEAD_WALL, state->ahead_wall_ms);
    return err ? err : put(s, AHEAD_FOR, state->ahead_for_ms);
}
