/* Reads and writes the clock floor for expiry, which is stored in rows of the table meta. */
#include "store/stored_floor.h"

#include "store/handle.h"

static const struct str FLOOR = {"expiry_floor", 12}, AHEAD_WALL = {"expiry_ahead_wall", 17},
                        AHEAD_FOR = {"expiry_ahead_for", 16};

static enum err get(struct store *s, struct str key, int64_t *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_META);
    sql_bind_text(q, 1, key);
    *out = 0;
    enum err err = sql_one_i64(s->sql, q, out);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err store_get_expiry_floor(struct store *s, struct expiry_state *out)
{
    enum err err = get(s, FLOOR, &out->floor_ms);
    if (err)
        return err;
    err = get(s, AHEAD_WALL, &out->ahead_wall_ms);
    if (err)
        return err;
    return get(s, AHEAD_FOR, &out->ahead_for_ms);
}

static enum err put(struct store *s, struct str key, int64_t value)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_META_PUT);
    sql_bind_text(q, 1, key);
    sql_bind_i64(q, 2, value);
    return sql_write(s->sql, q);
}

enum err store_put_expiry_floor(struct store *s, const struct expiry_state *state)
{
    enum err err = put(s, FLOOR, state->floor_ms);
    if (err)
        return err;
    err = put(s, AHEAD_WALL, state->ahead_wall_ms);
    if (err)
        return err;
    return put(s, AHEAD_FOR, state->ahead_for_ms);
}
