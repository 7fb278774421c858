/* Statistics by account and by platform. Adds up the gains of all videos in memory, one sum per period. If
 * grouped by platform, also adds up the rows of author_daily. Gains that are missing in author_daily are not
 * split by platform (store/author_days.h); they form a row without a platform. So on every date, the sum of
 * the rows equals the sum of the gains of all videos. All rows list the same dates. */
#include "api/api.h"
#include "api/csv.h"
#include "api/stats.h"
#include "store/author_days.h"

enum { ROWS_PER_SLICE = 2000, UNSPLIT = PLATFORM_COUNT, SPLIT_ROWS = PLATFORM_COUNT + 1 };

/* The sums of a row. */
struct sums {
    int64_t before;              /* sum of the baselines and of all gains before the range */
    int64_t gained[PERIODS_MAX]; /* by period */
};

struct totals {
    int64_t first_reading_at; /* the author's first reading; INT64_MAX: none */
    int32_t last;             /* the last date to list */
    struct sums all, split[SPLIT_ROWS];
    struct author author;
    struct author_days_query days;
    struct author_days_progress days_progress;
};

struct totals *totals_new(struct request *r)
{
    return arena_alloc(&r->arena, sizeof(struct totals));
}

void totals_append_csv_head(struct buf *b, enum stats_group group)
{
    buf_append(b, group == STATS_BY_ACCOUNT ? STR("date,account_id,account_name,views,views_total\r\n")
                                            : STR("date,platform,views,views_total\r\n"));
}

/* ---- adding up ---- */

/* Adds `value` to `*sum`. Saturates at AUTHOR_GAINED_MAX. */
static void add(int64_t *sum, int64_t value)
{
    *sum = value < AUTHOR_GAINED_MAX - *sum ? *sum + value : AUTHOR_GAINED_MAX;
}

static bool on_video(void *ctx, const struct stats_video *row)
{
    const struct request *r = ctx;
    const struct stats *s = stats_of(r);
    struct totals *t = s->totals;
    if (row->first_reading_at < t->first_reading_at)
        t->first_reading_at = row->first_reading_at;
    add(&t->all.before, row->baseline);
    add(&t->all.before, row->gained_before);
    for (size_t i = 0; i < row->day_count && row->days[i].date <= t->last; i++)
        add(&t->all.gained[periods_find(&s->periods, row->days[i].date)], row->days[i].gained);
    return true;
}

static void on_author_day(void *ctx, const struct author_day *day)
{
    const struct request *r = ctx;
    const struct stats *s = stats_of(r);
    struct sums *sums = &s->totals->split[day->platform];
    add(day->day < s->from ? &sums->before : &sums->gained[periods_find(&s->periods, day->day)], day->gained);
}

/* Sets `*rest` to `all` minus the sum of the platforms. If that sum exceeds `all`, which only a damaged
 * database can cause, reduces the platforms. */
static void split_rest(int64_t all, int64_t *const parts[PLATFORM_COUNT], int64_t *rest)
{
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        if (*parts[p] > all)
            *parts[p] = all;
        all -= *parts[p];
    }
    *rest = all;
}

static void compute_unsplit(const struct stats *s)
{
    struct totals *t = s->totals;
    int64_t *parts[PLATFORM_COUNT];
    for (int p = 0; p < PLATFORM_COUNT; p++)
        parts[p] = &t->split[p].before;
    split_rest(t->all.before, parts, &t->split[UNSPLIT].before);
    for (int i = 0; i < s->periods.count; i++) {
        for (int p = 0; p < PLATFORM_COUNT; p++)
            parts[p] = &t->split[p].gained[i];
        split_rest(t->all.gained[i], parts, &t->split[UNSPLIT].gained[i]);
    }
}

/* ---- rows of the response ---- */

/* A position in the listed periods. The listed periods begin at the author's first reading or at the start of
 * the range, whichever is later, and end at totals.last. */
struct period_total {
    int index;
    int64_t gained, total;
};

static struct period_total before_first(const struct stats *s, const struct sums *sums)
{
    const struct totals *t = s->totals;
    struct period_total p = {.index = s->periods.count, .total = sums->before};
    if (t->first_reading_at == INT64_MAX)
        return p;
    const int32_t date = date_of(t->first_reading_at);
    const int32_t first = date > s->from ? date : s->from;
    if (first <= t->last)
        p.index = periods_find(&s->periods, first) - 1;
    return p;
}

static bool next_period(const struct stats *s, const struct sums *sums, struct period_total *p)
{
    if (++p->index >= s->periods.count || s->periods.starts[p->index] > s->totals->last)
        return false;
    p->gained = sums->gained[p->index];
    p->total += p->gained;
    return true;
}

static void json_days(struct buf *b, const struct stats *s, const struct sums *sums)
{
    struct period_total p = before_first(s, sums);
    JSON_KEY(b, "days");
    json_open(b, '[');
    while (next_period(s, sums, &p)) {
        json_open(b, '{');
        JSON_DATE(b, "date", s->periods.starts[p.index]);
        JSON_I64(b, "views", p.gained);
        JSON_I64(b, "views_total", p.total);
        json_close(b, '}');
    }
    json_close(b, ']');
}

/* Appends the cells that identify the row. */
static void csv_identity(struct buf *b, const struct stats *s, int platform)
{
    if (s->group == STATS_BY_ACCOUNT) {
        csv_append_uuid(b, &s->totals->author.id);
        csv_append_text(b, s->totals->author.name);
    } else {
        csv_append_text(b, platform == UNSPLIT ? STR("") : platform_name((enum platform)platform));
    }
}

static void csv_days(struct buf *b, const struct stats *s, const struct sums *sums, int platform)
{
    struct period_total p = before_first(s, sums);
    while (next_period(s, sums, &p)) {
        csv_append_date(b, s->periods.starts[p.index]);
        csv_identity(b, s, platform);
        csv_append_i64(b, p.gained);
        csv_append_i64(b, p.total);
        csv_end_line(b);
    }
}

static void append_account(struct buf *b, const struct stats *s)
{
    if (s->csv) {
        csv_days(b, s, &s->totals->all, UNSPLIT);
        return;
    }
    json_open(b, '{');
    JSON_KEY(b, "account");
    json_open(b, '{');
    JSON_UUID(b, "id", &s->totals->author.id);
    JSON_STR(b, "name", s->totals->author.name);
    json_close(b, '}');
    json_days(b, s, &s->totals->all);
    json_close(b, '}');
}

/* Returns true if the row belongs to the response: it has at least one listed period, and its total at the
 * end is above 0. */
static bool is_listed(const struct stats *s, const struct sums *sums)
{
    struct period_total p = before_first(s, sums);
    bool has_period = false;
    while (next_period(s, sums, &p))
        has_period = true;
    return has_period && p.total > 0;
}

static void append_platforms(struct buf *b, const struct stats *s)
{
    for (int p = 0; p < SPLIT_ROWS; p++) {
        const struct sums *sums = &s->totals->split[p];
        if (!is_listed(s, sums))
            continue;
        if (s->csv) {
            csv_days(b, s, sums, p);
            continue;
        }
        json_open(b, '{');
        if (p == UNSPLIT)
            JSON_NULL(b, "platform");
        else
            JSON_STR(b, "platform", platform_name((enum platform)p));
        json_days(b, s, sums);
        json_close(b, '}');
    }
}

/* ---- steps that each add a slice of rows ---- */

static enum next author_done_step(struct request *r)
{
    struct stats *s = stats_of(r);
    enum next next;
    s->progress.author_rev = s->totals->author.rev;
    if (stats_slice_interrupted(r, &next))
        return next;
    append_account(&r->res.body, s);
    return stats_finish(r);
}

static enum next days_slice_step(struct request *r);

static enum next days_slice_done_step(struct request *r)
{
    struct stats *s = stats_of(r);
    struct totals *t = s->totals;
    enum next next;
    s->progress.author_rev = t->days_progress.author_rev;
    if (stats_slice_interrupted(r, &next))
        return next;
    if (t->days_progress.more) {
        t->days.after = t->days_progress.next;
        return stream_next_slice(r, &s->stream, days_slice_step);
    }
    compute_unsplit(s);
    append_platforms(&r->res.body, s);
    return stats_finish(r);
}

static enum next days_slice_step(struct request *r)
{
    struct totals *t = stats_of(r)->totals;
    r->step = days_slice_done_step;
    return store_list_author_days(&endpoint_call_of(r)->read, &t->days, on_author_day, r, &t->days_progress);
}

static enum next account_step(struct request *r)
{
    struct stats *s = stats_of(r);
    r->step = author_done_step;
    return store_read_author(&endpoint_call_of(r)->read, &r->arena, s->query.author_row, &s->totals->author);
}

static enum next videos_slice_step(struct request *r);

static enum next videos_slice_done_step(struct request *r)
{
    struct stats *s = stats_of(r);
    enum next next;
    if (stats_slice_interrupted(r, &next))
        return next;
    if (!s->progress.more)
        return stream_next_slice(r, &s->stream,
                                 s->group == STATS_BY_ACCOUNT ? account_step : days_slice_step);
    s->query.has_after = true;
    s->query.after = s->progress.next;
    return stream_next_slice(r, &s->stream, videos_slice_step);
}

static enum next videos_slice_step(struct request *r)
{
    struct stats *s = stats_of(r);
    r->step = videos_slice_done_step;
    return store_list_stats(&endpoint_call_of(r)->read, &s->query, on_video, r, &s->progress);
}

enum next totals_start(struct request *r)
{
    struct stats *s = stats_of(r);
    struct totals *t = s->totals;
    memset(t, 0, sizeof *t);
    t->first_reading_at = INT64_MAX;
    t->last = s->to < s->today ? s->to : s->today;
    t->days = (struct author_days_query){.author_row = s->query.author_row,
                                         .to = t->last,
                                         .after = {.day = INT64_MIN, .platform = -1},
                                         .limit = ROWS_PER_SLICE};
    s->query.for_totals = true;
    return videos_slice_step(r);
}
