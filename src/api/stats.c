/* GET /stats: parses the parameters, reads the statistics in slices (stats.h), and writes one row per video.
 */
#include "api/api.h"
#include "api/stats.h"

#include "api/csv.h"
#include "api/params.h"
#include "api/render.h"
#include "base/clock.h"

enum { P_START_DATE, P_END_DATE, P_GROUP_BY, P_GRANULARITY, P_FORMAT };

static const char *const group_words[] = {
    [STATS_BY_VIDEO] = "video",
    [STATS_BY_BOOK] = "book",
    [STATS_BY_ACCOUNT] = "account",
    [STATS_BY_PLATFORM] = "platform",
    NULL,
};
static const char *const granularity_words[] = {
    [GRANULARITY_DAY] = "day", [GRANULARITY_WEEK] = "week", [GRANULARITY_MONTH] = "month", NULL};

/* ---- query parameters ---- */

/* Sets the start and the end of the range to their defaults if the request does not contain them. */
static void complete_range(const struct request *r, struct stats *s, enum granularity granularity)
{
    bool start = param_is_given(r, P_START_DATE), end = param_is_given(r, P_END_DATE);
    if (!end)
        s->to = start && s->from > s->today ? s->from : s->today;
    if (!start)
        s->from = periods_default_start(granularity, s->to);
}

static bool split_range(struct request *r, struct stats *s, enum granularity granularity)
{
    if (s->from > s->to)
        (void)envelope_param_error(r, API_INVALID_PARAMETER, "end_date",
                                   "\"end_date\" must not be before \"start_date\".");
    else if (!periods_init(&s->periods, granularity, s->from, s->to))
        (void)envelope_param_error(r, API_RANGE_TOO_LONG,
                                   param_is_given(r, P_END_DATE) ? "end_date" : "start_date",
                                   "The range from start_date to end_date must be at most %d %ss.",
                                   periods_max(granularity), granularity_words[granularity]);
    else
        return true;
    return false;
}

/* Returns true if the Accept field contains text/csv but not application/json. */
static bool accepts_csv(struct str accept)
{
    bool csv = false;
    struct str item, type;
    while (accept.p) {
        accept = str_cut(accept, ',', &item);
        (void)str_cut(item, ';', &type);
        type = str_trim(type);
        if (str_eq_nocase(type, STR("application/json")))
            return false;
        csv |= str_eq_nocase(type, STR("text/csv"));
    }
    return csv;
}

static bool read_query(struct request *r, struct stats *s)
{
    static const char *const formats[] = {"json", "csv", NULL};
    const bool is_csv_route = endpoint_of(r) == &stats_csv_endpoint;
    int group = STATS_BY_VIDEO, granularity = GRANULARITY_DAY;
    int format = is_csv_route || accepts_csv(r->field[FIELD_ACCEPT]);
    if (!param_date(r, P_START_DATE, &s->from) || !param_date(r, P_END_DATE, &s->to) ||
        !param_word(r, P_GROUP_BY, group_words, &group) ||
        !param_word(r, P_GRANULARITY, granularity_words, &granularity) ||
        !param_word(r, P_FORMAT, formats, &format))
        return false;
    complete_range(r, s, (enum granularity)granularity);
    if (!split_range(r, s, (enum granularity)granularity))
        return false;
    s->csv = format == 1;
    s->group = (enum stats_group)group;
    s->query = (struct stats_query){.author_row = endpoint_call_of(r)->owner.author_row,
                                    .from = s->from,
                                    .to = s->to,
                                    .limit = STATS_VIDEOS_PER_SLICE};
    s->variant = arena_printf(&r->arena, "stats %d %d %d %d %d %d", s->from, s->to, s->today, group,
                              granularity, format);
    if (s->group == STATS_BY_BOOK)
        s->by_book = by_book_new(r);
    else if (s->group != STATS_BY_VIDEO)
        s->totals = totals_new(r);
    return true;
}

/* ---- rows of the response ---- */

static void json_days(struct buf *b, struct stats_days *days)
{
    struct stats_day day;
    JSON_KEY(b, "days");
    json_open(b, '[');
    while (stats_days_next(days, &day)) {
        json_open(b, '{');
        JSON_DATE(b, "date", day.date);
        JSON_I64(b, "views", day.gained);
        JSON_I64(b, "views_total", day.total);
        JSON_BOOL(b, "is_viral", day.is_viral);
        JSON_BOOL(b, "went_viral", day.went_viral);
        json_close(b, '}');
    }
    json_close(b, ']');
}

static void json_row(struct buf *b, const struct stats_video *row, struct stats_days *days)
{
    json_open(b, '{');
    JSON_KEY(b, "video");
    render_stats_video(b, &row->video, &row->book);
    json_days(b, days);
    json_close(b, '}');
}

static void csv_rows(struct buf *b, const struct stats_video *row, struct stats_days *days)
{
    struct stats_day day;
    while (stats_days_next(days, &day)) {
        csv_append_date(b, day.date);
        csv_append_uuid(b, &row->video.id);
        csv_append_text(b, render_title(row->video.title, &row->book));
        if (row->book.title.p)
            csv_append_uuid(b, &row->book.id);
        else
            csv_append_text(b, STR(""));
        csv_append_text(b, row->book.title);
        csv_append_i64(b, day.gained);
        csv_append_i64(b, day.total);
        csv_append_bool(b, day.is_viral);
        csv_append_bool(b, day.went_viral);
        csv_end_line(b);
    }
}

static bool on_video(void *ctx, const struct stats_video *row)
{
    struct request *r = ctx;
    struct stats_days days;
    if (!stats_days_begin(&days, row, stats_of(r)))
        return true;
    if (stats_of(r)->csv)
        csv_rows(&r->res.body, row, &days);
    else
        json_row(&r->res.body, row, &days);
    return true;
}

/* ---- steps that each add a slice of rows ---- */

static void json_head(struct request *r, const struct stats *s)
{
    static const char *const breakdowns[] = {
        [GRANULARITY_DAY] = "daily", [GRANULARITY_WEEK] = "weekly", [GRANULARITY_MONTH] = "monthly"};
    struct buf *b = envelope_begin(r);
    JSON_DATE(b, "start_date", s->from);
    JSON_DATE(b, "end_date", s->to);
    JSON_STR(b, "breakdown", str_from_cstr(breakdowns[s->periods.granularity]));
    JSON_STR(b, "timezone", STR("UTC"));
    JSON_STR(b, "group_by", str_from_cstr(group_words[s->group]));
    JSON_KEY(b, "data");
    json_open(b, '[');
}

static void csv_head(struct request *r, const struct stats *s)
{
    char from[DATE_TEXT_LEN], to[DATE_TEXT_LEN];
    date_format(s->from, from);
    date_format(s->to, to);
    r->res.status = 200;
    r->res.content_type = STR("text/csv; charset=utf-8");
    response_add_field(r, STR("Content-Disposition"),
                       arena_printf(&r->arena, "attachment; filename=\"stats-%.*s-%.*s.csv\"", DATE_TEXT_LEN,
                                    from, DATE_TEXT_LEN, to));
    if (s->by_book)
        by_book_append_csv_head(&r->res.body);
    else if (s->totals)
        totals_append_csv_head(&r->res.body, s->group);
    else
        buf_append(&r->res.body,
                   STR("date,video_id,title,book_id,book_title,views,views_total,is_viral,went_viral\r\n"));
}

static enum next video_slice_step(struct request *r);

static enum next start_body(struct request *r)
{
    struct stats *s = stats_of(r);
    if (s->csv)
        csv_head(r, s);
    else
        json_head(r, s);
    s->query.has_after = false;
    if (s->by_book)
        return by_book_start(r);
    return s->totals ? totals_start(r) : video_slice_step(r);
}

bool stats_slice_interrupted(struct request *r, enum next *next)
{
    struct stats *s = stats_of(r);
    enum err err = endpoint_call_of(r)->read.err;
    if (err) {
        *next = envelope_store_error(r, err);
        return true;
    }
    switch (stream_check(r, &s->stream, s->progress.author_rev, s->variant)) {
    case STREAM_UNCHANGED: return false;
    case STREAM_RESTART: *next = start_body(r); return true;
    case STREAM_ABORT: break;
    }
    *next = envelope_data_changed(r);
    return true;
}

enum next stats_finish(struct request *r)
{
    if (!stats_of(r)->csv) {
        json_close(&r->res.body, ']');
        return envelope_end(r);
    }
    if (r->res.body.failed)
        return request_abort(r, "response too large");
    return NEXT_DONE;
}

static enum next video_slice_done_step(struct request *r)
{
    struct stats *s = stats_of(r);
    enum next next;
    if (stats_slice_interrupted(r, &next))
        return next;
    if (!s->progress.more)
        return stats_finish(r);
    s->query.has_after = true;
    s->query.after = s->progress.next;
    return stream_next_slice(r, &s->stream, video_slice_step);
}

static enum next video_slice_step(struct request *r)
{
    struct stats *s = stats_of(r);
    r->step = video_slice_done_step;
    return store_list_stats(&endpoint_call_of(r)->read, &s->query, on_video, r, &s->progress);
}

static enum next stats_step(struct request *r)
{
    struct stats *s = arena_alloc(&r->arena, sizeof *s);
    endpoint_call_of(r)->endpoint = s;
    s->today = date_of(clock_wall_ms());
    if (!read_query(r, s))
        return NEXT_DONE;
    endpoint_call_limit_validity(endpoint_call_of(r), date_start_ms(s->today + 1));
    return stream_begin(r, &s->stream, s->variant) ? start_body(r) : NEXT_DONE;
}

const struct endpoint stats_endpoint = {
    .route = {.path = "/stats",
              .name = "/v1/stats",
              .methods = ROUTE_GET,
              .flags = ENDPOINT_BY_ACCEPT,
              .start = stats_step},
    .params = {"start_date", "end_date", "group_by", "granularity", "format"},
};

/* GET /stats.csv returns the same body as GET /stats with format=csv. Its content type never varies, which
 * generated clients need. Both endpoints share the indexes of their parameters. /stats.csv has no `format`,
 * so `format` must be the last parameter of /stats. */
const struct endpoint stats_csv_endpoint = {
    .route = {.path = "/stats.csv", .name = "/v1/stats.csv", .methods = ROUTE_GET, .start = stats_step},
    .params = {"start_date", "end_date", "group_by", "granularity"},
};
