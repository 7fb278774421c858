/* Compares videos.days with the table `daily`, in one snapshot. */
#include "store/sqlite/days_check.h"

#include "store/day_pack.h"
#include "store/sqlite/diagnosis.h"
#include "store/handle.h"
#include "store/rows.h"

/* Fills s->days with the video's rows in the table `daily`, except rows without a gain. */
static enum err read_rows(struct store *s, int64_t video_row)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_DAYS);
    enum err err;
    sql_bind_i64(q, 1, video_row);
    sql_bind_i64(q, 2, INT32_MIN);
    sql_bind_i64(q, 3, INT32_MAX);
    s->days.count = 0;
    while (sql_row(s->sql, q, &err)) {
        const struct day_gain day = row_to_day_gain(q);
        if (day.gained)
            *VEC_ADD(&s->days) = day;
    }
    return err;
}

static bool equal_rows(struct str packed, const struct day_gain *rows, size_t count)
{
    struct day_scan scan;
    struct day_gain day;
    day_scan_begin(&scan, packed);
    while (day_scan_next(&scan, &day)) {
        if (!count || day.date != rows[count - 1].date || day.gained != rows[count - 1].gained)
            return false;
        count--;
    }
    return !scan.r.bad && !count;
}

static enum err check_video(struct store *s, struct sql_statement *q, int64_t *bad)
{
    struct str packed = sql_text(q, 3);
    int64_t total;
    const bool is_sound = days_total(packed, &total);
    if (is_sound && total != sql_i64(q, 1) - sql_i64(q, 2))
        return OK;
    const enum err err = read_rows(s, sql_i64(q, 0));
    *bad += !err && (!is_sound || !equal_rows(packed, s->days.items, s->days.count));
    return err;
}

static enum err check_videos(struct store *s, void *ctx)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_DAYS_OF_VIDEOS);
    enum err err;
    sql_bind_i64(q, 1, INT64_MIN);
    sql_bind_i64(q, 2, INT64_MAX);
    while (sql_row(s->sql, q, &err)) {
        err = check_video(s, q, ctx);
        if (err) {
            sql_reset(q);
            break;
        }
    }
    return err;
}

enum err days_check_count_bad_videos(const char *path, int64_t *bad, struct error *error)
{
    const struct store_options options = {.path = path, .mode = STORE_READ};
    struct store *s;
    enum err err = store_open(&s, &options, error);
    if (err)
        return err;
    *bad = 0;
    err = store_run_in_snapshot(s, check_videos, bad);
    store_close(s);
    return err ? diagnose_failure(err, path, error) : OK;
}
