/* GET /stats: declarations shared by its files. stats.c handles the request and groups by video, stats_book.c
 * groups by book, stats_totals.c by account and by platform. stats_days.c adds the days without views to a
 * row and sums up the days of a period. A slice is one read of the database, for example of at most
 * STATS_VIDEOS_PER_SLICE videos. Names in the code and in responses say "day" even if a period is a week or a
 * month. */
#ifndef VT_API_STATS_H
#define VT_API_STATS_H

#include "api/stats_periods.h"
#include "api/stream.h"
#include "base/clock.h"

enum { STATS_VIDEOS_PER_SLICE = 64 };

enum stats_group { STATS_BY_VIDEO, STATS_BY_BOOK, STATS_BY_ACCOUNT, STATS_BY_PLATFORM };

struct by_book;
struct totals;

struct stats {
    struct stream stream;
    struct stats_query query;
    struct stats_progress progress;
    int32_t from, to, today;
    struct stats_periods periods;
    enum stats_group group;
    bool csv;
    struct str variant;      /* part of the ETag: everything that the body depends on, except the data */
    struct by_book *by_book; /* if grouped by book */
    struct totals *totals;   /* if grouped by account or by platform */
};

static inline struct stats *stats_of(const struct request *r)
{
    return endpoint_call_of(r)->endpoint;
}

/* Call after each slice. Returns true if the read failed or the data has changed since the first slice; in
 * this case the step must return `*next`. */
MUST_USE bool stats_slice_interrupted(struct request *r, enum next *next);

/* Completes the response. */
enum next stats_finish(struct request *r);

/* ---- stats_book.c ---- */

/* Allocates the state of grouping by book. Sets r->on_free, which frees the buffers of this state. */
struct by_book *by_book_new(struct request *r);
/* Starts to write the rows of all books. Return the value of this function from the current step. */
enum next by_book_start(struct request *r);
/* Appends the header line of the CSV format. */
void by_book_append_csv_head(struct buf *b);

/* ---- stats_totals.c ---- */

/* Allocates the state of grouping by account or by platform. */
struct totals *totals_new(struct request *r);
/* Starts to write the rows. Return the value of this function from the current step. */
enum next totals_start(struct request *r);
/* Appends the header line of the CSV format. */
void totals_append_csv_head(struct buf *b, enum stats_group group);

/* ---- stats_days.c ---- */

/* One period of a row. */
struct stats_day {
    int index;    /* index in stats->periods */
    int32_t date; /* first date of the period */
    int64_t gained, total;
    bool is_viral, went_viral;
};

/* Iterates over all periods of one row in ascending order, including those without views. */
struct stats_days {
    const struct stats_video *row;
    const struct stats_periods *periods;
    int index; /* index in stats->periods of the period that contains `date` */
    int32_t date, last;
    int32_t viral_date; /* INT32_MAX if not viral */
    int64_t total;      /* total views up to the day before `date` */
    size_t next;        /* index in row->days */
};

/* Starts the iteration over the periods of `row`. Returns false if the video gained no views on any day of
 * the range; the row is then omitted. */
MUST_USE bool stats_days_begin(struct stats_days *d, const struct stats_video *row,
                               const struct stats *stats);
/* Sets `*out` to the next period. Returns false after the last one. */
MUST_USE bool stats_days_next(struct stats_days *d, struct stats_day *out);

#endif
