/* Reads and packs the gains of a video by day. */
#include "store/stored_days.h"

#include "store/daily_table.h"
#include "store/day_pack.h"
#include "store/rows.h"

/* --- the column `days` --- */

static void reverse(struct day_gain *days, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        const struct day_gain day = days[i];
        days[i] = days[count - 1 - i];
        days[count - 1 - i] = day;
    }
}

/* Stops at the newest day before `from`, so that statistics of a week decode only a few days of a video. */
static enum err scan_column(struct store *s, struct day_scan *scan, int32_t from, int32_t to,
                            int64_t *total_before)
{
    struct day_gain day;
    while (day_scan_next(scan, &day)) {
        if (day.date < from) {
            *total_before = day.gained_total;
            break;
        }
        if (day.date <= to)
            *VEC_ADD(&s->days) = day;
    }
    reverse(s->days.items, s->days.count);
    return scan->r.bad ? sql_report_damage(s->sql, "days of a video") : OK;
}

enum err stored_days_read(struct store *s, const struct stored_days *days, int32_t from, int32_t to,
                          int64_t *total_before)
{
    struct day_scan scan;
    s->days.count = 0;
    *total_before = 0;
    day_scan_begin(&scan, days->packed);
    if (scan.r.bad)
        return sql_report_damage(s->sql, "days of a video");
    return scan.left == days->total ? scan_column(s, &scan, from, to, total_before)
                                    : daily_table_read(s, days->video_row, from, to, total_before);
}

enum err stored_days_read_all(struct store *s, const struct stored_days *days)
{
    int64_t before;
    return stored_days_read(s, days, INT32_MIN, INT32_MAX, &before);
}

/* --- packing and loading days --- */

/* Returns true if the gains satisfy the CHECKs of days_pack(). Rows of a damaged table can have any values.
 */
static bool can_pack(const struct day_gain *days, size_t count)
{
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (days[i].gained < 0 || days[i].gained > GAINED_MAX - total)
            return false;
        total += days[i].gained;
    }
    return true;
}

enum err stored_days_pack(struct store *s, struct arena *a, struct video *video)
{
    buf_reset(&s->packed_days, PACKED_MAX_BYTES);
    if (!can_pack(s->days.items, s->days.count))
        return sql_report_damage(s->sql, "days of a video");
    days_pack(&s->packed_days, s->days.items, s->days.count);
    if (s->packed_days.failed)
        return ERR_FULL;
    video->days = arena_copy(a, buf_str(&s->packed_days));
    return OK;
}

enum err stored_days_load(struct store *s, struct arena *a, struct video *video)
{
    const struct stored_days days = stored_days_of(video);
    int64_t total;
    if (days_total(video->days, &total) && total == days.total) {
        video->days = arena_copy(a, video->days);
        return OK;
    }
    const enum err err = stored_days_read_all(s, &days);
    return err ? err : stored_days_pack(s, a, video);
}
