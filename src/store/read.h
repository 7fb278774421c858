/* Reads for request handlers. They run on the loop thread, each in one snapshot of the database.
 *
 * Each function starts a read as described in base/next.h: set the request's next step, then return the
 * function's result.
 *
 *   static enum next page_step(struct request *r)
 *   {
 *       r->step = page_done_step;
 *       return store_list_videos(&read, &query, on_video, r);
 *   }
 *
 * The function returns NEXT_MORE with `read->err` set, or NEXT_WAIT with `read->wait` armed if the storage
 * engine completes the read later. In both cases the row callback is called for each row, in order, before
 * the read is complete. A callback must not call the store. The texts of its row are valid until it returns.
 * If a callback returns false, the read ends early without an error.
 *
 * `read->err` is OK, ERR_NOT_FOUND (reads of a single row), ERR_BUSY, ERR_CORRUPT, ERR_IO or ERR_NOMEM. The
 * driver has logged the cause. No read stays open between two calls, so a slow client holds no transaction
 * open. */
#ifndef VT_STORE_READ_H
#define VT_STORE_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "base/next.h"
#include "store/model.h"
#include "store/store.h"

struct store_read {
    struct store *store;
    struct waiter *wait; /* armed if the read returns NEXT_WAIT */
    enum err err;
    int64_t start_us; /* private to the store */
};

/* The data of an API key and its author that authentication needs. */
struct key_owner {
    int64_t key_row, author_row;
    int64_t revoked_at;   /* TIME_NONE: live */
    int64_t last_used_at; /* TIME_NONE: never */
    bool plan_active;
    int64_t author_rev;    /* increases with every change that a response could show */
    int64_t feed_rev;      /* increases with every change that a page of /events could show */
    int64_t last_event_id; /* the author's newest event; 0: none */
    struct uuid key_id, author_id;
};
/* Looks up an API key by its SHA-256. */
enum next store_find_key(struct store_read *read, const uint8_t hash[KEY_HASH_LEN], struct key_owner *out);

/* Reads the author and the API key for GET /account. */
typedef bool (*store_account_fn)(void *ctx, const struct author *author, const struct api_key *key);
enum next store_read_account(struct store_read *read, int64_t key_row, store_account_fn fn, void *ctx);

/* Reads an author. The texts are copied into `arena`. */
enum next store_read_author(struct store_read *read, struct arena *arena, int64_t author_row,
                            struct author *out);

/* Lists at most `limit` books by (created_at, id), descending. Starts after the position `after`, or at the
 * newest book if `after` is NULL. `*author_rev` receives the author's revision in the same snapshot. */
struct book_position {
    int64_t created_at;
    struct uuid id;
};
typedef bool (*store_book_fn)(void *ctx, const struct book *book, struct str author_name);
enum next store_list_books(struct store_read *read, int64_t author_row, const struct book_position *after,
                           int limit, store_book_fn fn, void *ctx, int64_t *author_rev);

/* Lists posted videos by (posted_at, id), descending. A page far down the list costs no more than the first
 * page. */
struct video_position {
    int64_t posted_at;
    struct uuid id;
};
enum viral_filter { VIRAL_ANY, VIRAL_ONLY, VIRAL_NOT };
struct videos_query {
    int64_t author_row;
    int64_t posted_from, posted_to; /* inclusive, ms; INT64_MIN and INT64_MAX: unbounded */
    bool has_book;
    struct uuid book_id; /* if has_book; no rows if the book is unknown or another author's */
    enum viral_filter viral;
    bool has_after;
    struct video_position after; /* start after this position */
    int limit;                   /* maximum number of rows; page size + 1 shows whether more rows follow */
};
typedef bool (*store_video_fn)(void *ctx, const struct video *video, const struct book_ref *book);
enum next store_list_videos(struct store_read *read, const struct videos_query *query, store_video_fn fn,
                            void *ctx);

/* Reads one posted video of this author. */
enum next store_read_video(struct store_read *read, int64_t author_row, const struct uuid *id,
                           store_video_fn fn, void *ctx);

/* Lists the videos of an author that have gains from the date `from` to `to` (inclusive), each video with
 * its gains in this range, by (posted_at, id), descending. One call examines at most `limit` videos, so it
 * is short even if none of them has a gain. If `progress->more` is true, continue after the position
 * `progress->next`. */
struct stats_query {
    int64_t author_row;
    int64_t book_row; /* 0: all videos of the author; otherwise only videos of this book */
    int32_t from, to;
    bool has_after;
    struct video_position after;
    int limit;
};
struct stats_video {
    struct video_ref video; /* thumbnail_url is not read */
    struct book_ref book;
    int64_t baseline;
    int64_t first_reading_at;
    int64_t went_viral_at;       /* TIME_NONE: not viral */
    int64_t gained_before;       /* sum of the gains before `from` */
    const struct day_gain *days; /* the days with a gain in the range, ascending; at least one */
    size_t day_count;
};
struct stats_progress {
    struct video_position next;
    bool more;
    int64_t author_rev; /* the author's revision in the snapshot of this call */
};
typedef bool (*store_stats_fn)(void *ctx, const struct stats_video *row);
enum next store_list_stats(struct store_read *read, const struct stats_query *query, store_stats_fn fn,
                           void *ctx, struct stats_progress *progress);

/* Reads one posted video of this author with its gains from the date `from` to `to` (inclusive). There may be
 * no gains. */
struct video_days {
    const struct video *video;
    struct book_ref book;
    const struct day_gain *days; /* ascending */
    size_t day_count;
};
typedef bool (*store_video_days_fn)(void *ctx, const struct video_days *row);
enum next store_read_video_days(struct store_read *read, int64_t author_row, const struct uuid *id,
                                int32_t from, int32_t to, store_video_days_fn fn, void *ctx);

/* Lists events of an author by id. One call examines at most `scan_limit` events, so it is short even if few
 * events have the requested type. `progress->scanned_to` is the last event examined; `progress->more` says
 * whether more events follow it. */
struct events_query {
    int64_t author_row;
    int64_t bound; /* ascending: id > bound; descending: id < bound */
    bool descending;
    bool has_type;
    enum event_type type;
    int64_t occurred_after; /* occurred_at > this; INT64_MIN: any */
    int limit;              /* maximum number of rows */
    int scan_limit;
};
struct events_progress {
    int64_t scanned_to;
    bool more;
    int64_t author_last_event_id; /* the author's newest event id in the snapshot of this call */
};
typedef bool (*store_event_fn)(void *ctx, const struct event *event, const struct video_ref *video,
                               const struct book_ref *book);
enum next store_list_events(struct store_read *read, const struct events_query *query, store_event_fn fn,
                            void *ctx, struct events_progress *progress);

/* Counts the author's events with an id above `after`, up to `max`. */
enum next store_count_events(struct store_read *read, int64_t author_row, int64_t after, int max, int *count);

#endif
