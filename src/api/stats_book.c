/* Statistics by book: reads the books page by page, and adds up the gains of each book's videos per period.
 * Only one page of books and the days of one book are in memory at a time, regardless of the size of the
 * account. */
#include "api/api.h"
#include "api/csv.h"
#include "api/stats.h"

#include "base/check.h"

#include <stdlib.h>

enum { BOOKS_PER_PAGE = 64, TITLES_MAX = 1 << 20, VIRAL_MAX = 1 << 22 };

struct viral_video {
    int period;
    struct uuid id;
};

struct listed_book {
    int64_t row;
    struct uuid id;
    size_t title_at, title_len; /* position of the title in by_book.titles */
};

struct by_book {
    struct listed_book books[BOOKS_PER_PAGE];
    int count, index, seen; /* `seen` counts the rows of the page, including books without videos */
    bool has_last;
    struct book_position last;
    struct buf titles;
    /* The rows of the current book. The index of the arrays is the period. */
    bool has_rows;
    bool listed[PERIODS_MAX];
    int64_t gained[PERIODS_MAX];
    struct buf viral; /* array of struct viral_video */
};

static void free_buffers(struct request *r)
{
    struct by_book *g = r->on_free_ctx;
    buf_fini(&g->titles);
    buf_fini(&g->viral);
}

struct by_book *by_book_new(struct request *r)
{
    struct by_book *g = arena_alloc(&r->arena, sizeof *g);
    buf_init(&g->titles, TITLES_MAX);
    buf_init(&g->viral, VIRAL_MAX);
    r->on_free = free_buffers;
    r->on_free_ctx = g;
    return g;
}

void by_book_append_csv_head(struct buf *b)
{
    buf_append(b, STR("date,book_id,book_title,views,videos_went_viral\r\n"));
}

/* ---- rows of one book ---- */

static void begin_book(struct stats *s)
{
    struct by_book *g = s->by_book;
    g->has_rows = false;
    memset(g->listed, 0, sizeof g->listed);
    memset(g->gained, 0, sizeof g->gained);
    buf_reset(&g->viral, g->viral.cap);
    s->query.book_row = g->books[g->index].row;
    s->query.has_after = false;
}

static bool on_video(void *ctx, const struct stats_video *row)
{
    const struct request *r = ctx;
    const struct stats *s = stats_of(r);
    struct by_book *g = s->by_book;
    struct stats_days days;
    struct stats_day day;
    if (!stats_days_begin(&days, row, s))
        return true;
    g->has_rows = true;
    while (stats_days_next(&days, &day)) {
        g->listed[day.index] = true;
        g->gained[day.index] += day.gained;
        if (day.went_viral) {
            struct viral_video v = {.period = day.index, .id = row->video.id};
            buf_append(&g->viral, str_make((const char *)&v, sizeof v));
        }
    }
    return true;
}

/* Calls `fn` for each video of the current book that went viral in the period. */
static void each_viral(const struct by_book *g, int period, void (*fn)(struct buf *b, const struct uuid *id),
                       struct buf *b)
{
    struct viral_video v;
    for (size_t at = 0; at < g->viral.len; at += sizeof v) {
        memcpy(&v, g->viral.p + at, sizeof v);
        if (v.period == period)
            fn(b, &v.id);
    }
}

static struct str title_of(const struct by_book *g)
{
    const struct listed_book *book = &g->books[g->index];
    return str_make(g->titles.p + book->title_at, book->title_len);
}

static void json_row(struct buf *b, const struct stats *s)
{
    const struct by_book *g = s->by_book;
    json_open(b, '{');
    JSON_KEY(b, "book");
    json_open(b, '{');
    JSON_UUID(b, "id", &g->books[g->index].id);
    JSON_STR(b, "title", title_of(g));
    json_close(b, '}');
    JSON_KEY(b, "days");
    json_open(b, '[');
    for (int i = 0; i < s->periods.count; i++) {
        if (!g->listed[i])
            continue;
        json_open(b, '{');
        JSON_DATE(b, "date", s->periods.starts[i]);
        JSON_I64(b, "views", g->gained[i]);
        JSON_KEY(b, "videos_went_viral");
        json_open(b, '[');
        each_viral(g, i, json_uuid, b);
        json_close(b, ']');
        json_close(b, '}');
    }
    json_close(b, ']');
    json_close(b, '}');
}

/* Appends an id to a CSV cell that lists ids separated by spaces. */
static void append_id(struct buf *b, const struct uuid *id)
{
    char text[UUID_TEXT_LEN];
    uuid_format(id, text);
    if (b->p[b->len - 1] != ',')
        buf_append_char(b, ' ');
    buf_append(b, str_make(text, sizeof text));
}

static void csv_rows(struct buf *b, const struct stats *s)
{
    const struct by_book *g = s->by_book;
    for (int i = 0; i < s->periods.count; i++) {
        if (!g->listed[i])
            continue;
        csv_append_date(b, s->periods.starts[i]);
        csv_append_uuid(b, &g->books[g->index].id);
        csv_append_text(b, title_of(g));
        csv_append_i64(b, g->gained[i]);
        buf_append_char(b, ',');
        each_viral(g, i, append_id, b);
        csv_end_line(b);
    }
}

/* ---- steps that each add a slice of rows ---- */

static enum next page_step(struct request *r);
static enum next book_slice_step(struct request *r);

static enum next book_slice_done_step(struct request *r)
{
    struct stats *s = stats_of(r);
    struct by_book *g = s->by_book;
    enum next next;
    if (stats_slice_interrupted(r, &next))
        return next;
    if (s->progress.more) {
        s->query.has_after = true;
        s->query.after = s->progress.next;
        return stream_next_slice(r, &s->stream, book_slice_step);
    }
    if (g->viral.failed)
        return request_abort(r, "too many viral videos in one book");
    if (g->has_rows && s->csv)
        csv_rows(&r->res.body, s);
    else if (g->has_rows)
        json_row(&r->res.body, s);
    if (++g->index == g->count)
        return stream_next_slice(r, &s->stream, page_step);
    begin_book(s);
    return stream_next_slice(r, &s->stream, book_slice_step);
}

static enum next book_slice_step(struct request *r)
{
    struct stats *s = stats_of(r);
    r->step = book_slice_done_step;
    return store_list_stats(&endpoint_call_of(r)->read, &s->query, on_video, r, &s->progress);
}

static bool on_book(void *ctx, const struct book *book, struct str author_name)
{
    const struct request *r = ctx;
    struct by_book *g = stats_of(r)->by_book;
    (void)author_name;
    g->last = (struct book_position){.created_at = book->created_at, .id = book->id};
    g->has_last = true;
    g->seen++;
    if (book->videos_posted == 0)
        return true;
    g->books[g->count++] = (struct listed_book){
        .row = book->row, .id = book->id, .title_at = g->titles.len, .title_len = book->title.len};
    buf_append(&g->titles, book->title);
    return true;
}

static enum next page_done_step(struct request *r)
{
    struct stats *s = stats_of(r);
    struct by_book *g = s->by_book;
    enum next next;
    if (stats_slice_interrupted(r, &next))
        return next;
    CHECK(!g->titles.failed);
    if (g->count) {
        begin_book(s);
        return book_slice_step(r);
    }
    if (g->seen == BOOKS_PER_PAGE)
        return stream_next_slice(r, &s->stream, page_step);
    return stats_finish(r);
}

static enum next page_step(struct request *r)
{
    struct stats *s = stats_of(r);
    struct by_book *g = s->by_book;
    g->count = g->index = g->seen = 0;
    buf_reset(&g->titles, g->titles.cap);
    r->step = page_done_step;
    return store_list_books(&endpoint_call_of(r)->read, s->query.author_row, g->has_last ? &g->last : NULL,
                            BOOKS_PER_PAGE, on_book, r, &s->progress.author_rev);
}

enum next by_book_start(struct request *r)
{
    stats_of(r)->by_book->has_last = false;
    return page_step(r);
}
