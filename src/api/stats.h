/* GET /stats: what its files share. stats.c reads the request and groups by video, stats_book.c groups by
 * book, stats_days.c makes the days of a row dense, csv.c writes cells. */
#ifndef VT_API_STATS_H
#define VT_API_STATS_H

#include "api/stream.h"
#include "base/clock.h"

enum { STATS_DAYS_MAX = 90, STATS_VIDEOS_A_CALL = 64 };

struct by_book;

struct stats {
    struct stream stream;
    struct stats_query query;
    struct stats_progress progress;
    int32_t from, to, today;
    bool csv;
    struct str variant;      /* everything but the data that the body depends on */
    struct by_book *by_book; /* NULL: grouped by video */
};

static inline struct stats *stats_of(const struct request *r)
{
    return api_call_of(r)->endpoint;
}

/* After a slice: an error, changed data (begun anew or given up) or the go-ahead. True: `*next` is what the
 * step returns. */
MUST_USE bool stats_slice_is_over(struct request *r, enum next *next);

/* Closes the body. */
enum next stats_finish(struct request *r);

/* ---- stats_book.c ---- */

struct by_book *by_book_new(struct request *r); /* takes r->on_free */
/* The body's rows, from the first book on. */
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

/* False: the row is left out, no listed day gained anything. */
MUST_USE bool stats_days_begin(struct stats_days *d, const struct stats_video *row,
                               const struct stats *stats);
MUST_USE bool stats_days_next(struct stats_days *d, struct stats_day *out);

#endif
