/* Runs the statements of the table `daily`. */
#include "store/daily_table.h"

#include "store/engine.h"
#include "store/rows.h"

bool daily_table_exists(const struct store *s)
{
    return s->engine->has_daily;
}

enum err daily_table_read(struct store *s, int64_t video_row, int32_t from, int32_t to, int64_t *total_before)
{
    enum err err;
    if (!daily_table_exists(s))
        return sql_report_damage(s->sql, "days of a video");
    struct sql_statement *q = sql_use(s->sql, QUERY_DAYS);
    sql_bind_i64(q, 1, video_row);
    sql_bind_i64(q, 2, INT32_MIN);
    sql_bind_i64(q, 3, to);
    while (sql_row(s->sql, q, &err)) {
        const struct day_gain day = row_to_day_gain(q);
        if (day.date < from)
            *total_before = day.gained_total;
        else
            *VEC_ADD(&s->days) = day;
    }
    return err;
}

enum err daily_table_add(struct store *s, int64_t video_row, int32_t day, int64_t gained)
{
    if (!daily_table_exists(s))
        return OK;
    struct sql_statement *q = sql_use(s->sql, QUERY_GAIN_ADD);
    sql_bind_i64(q, 1, video_row);
    sql_bind_i64(q, 2, day);
    sql_bind_i64(q, 3, gained);
    return sql_write(s->sql, q);
}

static struct sql_statement *use_with_day(struct store *s, enum query query, int64_t video_row,
                                          const struct day_gain *day)
{
    struct sql_statement *q = sql_use(s->sql, query);
    sql_bind_i64(q, 1, video_row);
    sql_bind_i64(q, 2, day->date);
    sql_bind_i64(q, 3, day->gained);
    sql_bind_i64(q, 4, day->gained_total);
    return q;
}

enum err daily_table_insert(struct store *s, int64_t video_row, const struct day_gain *day)
{
    if (!daily_table_exists(s))
        return OK;
    return sql_write(s->sql, use_with_day(s, QUERY_DAY_INSERT, video_row, day));
}

static enum err delete_day(struct store *s, int64_t video_row, int32_t day)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_DAY_DELETE);
    sql_bind_i64(q, 1, video_row);
    sql_bind_i64(q, 2, day);
    return sql_update(s->sql, q);
}

enum err daily_table_replace(struct store *s, int64_t video_row, const struct day_gain *day)
{
    if (!daily_table_exists(s))
        return OK;
    return day->gained ? sql_update(s->sql, use_with_day(s, QUERY_DAY_SET, video_row, day))
                       : delete_day(s, video_row, day->date);
}

enum err daily_table_delete(struct store *s, int64_t video_row, int64_t *count)
{
    int changes = 0;
    if (!daily_table_exists(s))
        return OK;
    struct sql_statement *q = sql_use(s->sql, QUERY_ERASE_DAILY);
    sql_bind_i64(q, 1, video_row);
    const enum err err = sql_write_count(s->sql, q, &changes);
    *count += changes;
    return err;
}
