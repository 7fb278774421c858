/* GET /stats: declarations shared by its files. stats.c handles the request and groups by video, stats_book.c
 * groups by book, stats_days.c makes the days of a row dense. */
#ifndef VT_API_STATS_H
#define VT_API_STATS_H

#include "api/stream.h"
#include "base/clock.h"

enum { STATS_DAYS_MAX = 90, STATS_VIDEOS_PER_SLICE = 64 };

struct by_book;

struct stats {
    struct stream stream;
    struct stats_query query;
    struct stats_progress progress;
    int32_t from, to, today;
    bool csv;
    struct str variant;      /* everything that the body depends on, except the data */
    struct by_book *by_book; /* NULL: grouped by video */
};

static inline struct stats *stats_of(const struct request *r)
{
    return endpoint_call_of(r)->endpoint;
}

/* Call after each slice. True: the slice failed or the data changed, and the step must return `*next`. */
MUST_USE bool stats_slice_interrupted(struct request *r, enum next *next);

/* Completes the response. */
enum next stats_finish(struct request *r);

/* ---- stats_book.c ---- */

struct by_book *by_book_new(struct request *r); /* uses r->on_free */
/* Writes all rows, beginning with the first book. */
enum next by_book_start(struct request *r);
void by_book_csv_head(struct buf *b);

/* ---- stats_days.c ---- */

struct stats_day {
    int32_t date;
    int64_t gained, total;
    bool is_viral, went_viral;
};

/* The days of one row, ascending and dense (decision 3). */
struct stats_days {
    const struct stats_video *row;
    int32_t date, last;
    int32_t viral_date; /* INT32_MAX: not viral */
    int64_t total;      /* as of the day before `date` */
    size_t next;        /* of row->days */
};

/* False: no listed day has a gain, so the row is left out. */
MUST_USE bool stats_days_begin(struct stats_days *d, const struct stats_video *row,
                               const struct stats *stats);
MUST_USE bool stats_days_next(struct stats_days *d, struct stats_day *out);

#endif
