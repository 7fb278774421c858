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
 * `read->err` is OK or an error. ERR_NOT_FOUND: the row does not exist, or the author of a list has been
 * erased. ERR_BUSY: a lock, or an outage of the database server that has lasted too long. The driver has
 * logged the cause of other errors, except ERR_NOMEM. No read stays open between two calls, so a slow client
 * holds no transaction open. */
#ifndef VT_STORE_READ_H
#define VT_STORE_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "base/list.h"
#include "base/next.h"
#include "store/model.h"
#include "store/store.h"
#include "store/title_terms.h"

struct store_read {
    struct store *store;
    /* Armed if the read returns NEXT_WAIT. NULL: the caller cannot wait, so the read blocks.
     * store_resolve_key() and store_find_changes() need a waiter. */
    struct waiter *wait;
    enum err err;
    int64_t total_us; /* duration of all reads with this struct so far */
    int64_t start_us; /* private to the store */
};

/* The data of an API key and its author that authentication needs. */
struct key_owner {
    int64_t key_row, author_row;
    int64_t revoked_at;   /* TIME_NONE: live */
    int64_t last_used_at; /* TIME_NONE: never */
    bool plan_active;
    int64_t author_rev;    /* see author.rev */
    int64_t feed_rev;      /* increases with every change that a page of /events could show */
    int64_t last_event_id; /* the author's newest event; 0: none */
    struct uuid key_id, author_id;
    /* Changes when the database may have lost commits. After lost commits, a revision can recur with other
     * data, so never reuse a result of another incarnation. */
    uint64_t incarnation;
    /* Private to the store: the state of the database for which this result is valid; 0: the struct contains
     * no result. */
    uint64_t version;
};
/* Finds the current owner of the API key with this SHA-256. Before the call, `*owner` is a previous result
 * for this key, however old, or zeroed. With a previous result, the store reads only what may have changed
 * since. */
enum next store_resolve_key(struct store_read *read, const uint8_t hash[KEY_HASH_LEN],
                            struct key_owner *owner);

/* A request that waits for a change of an author. */
struct author_watch {
    struct list link;
    int64_t author_row;
    uint64_t version; /* key_owner.version of the request's newest result */
};
/* Moves each author_watch whose author has changed since its `version` from the list `waiting` to the list
 * `changed`. May also move watches whose author has not changed. If the call returns NEXT_WAIT, the caller is
 * allowed to remove watches from `waiting` until the call completes. */
enum next store_find_changes(struct store_read *read, struct list *waiting, struct list *changed);

typedef bool (*store_account_fn)(void *ctx, const struct author *author, const struct api_key *key);
/* Reads the author and the API key for GET /account. */
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
 * page. The members that only a search uses (see below) are ignored. */
struct video_position {
    int64_t value; /* the sort key of the video: posted_at in ms, or a number of views */
    struct uuid id;
};
enum viral_filter { VIRAL_ANY, VIRAL_ONLY, VIRAL_NOT };
enum video_sort { SORT_POSTED_AT, SORT_VIEWS, SORT_VIEWS_7D };
enum { VIEWS_7D_DAYS = 7 };
struct videos_query {
    int64_t author_row;
    int64_t posted_from, posted_to; /* inclusive, ms; INT64_MIN and INT64_MAX: unbounded */
    bool has_book;
    struct uuid book_id; /* used if `has_book`; no video matches if the book is unknown or belongs to another
                            author */
    enum viral_filter viral;
    bool has_after;
    struct video_position after; /* start after this position */
    int limit;                   /* maximum number of rows; page size + 1 shows whether more rows follow */

    /* Only for a search */
    enum video_sort sort;
    int32_t today; /* SORT_VIEWS_7D sorts by the views gained on this UTC date and the six dates before it */
    bool has_platform;
    enum platform platform; /* if has_platform: only videos that have a post on it */
    bool has_updated_after;
    int64_t updated_after; /* if has_updated_after: only videos whose newest reading is later than this */
    const struct title_terms *terms; /* only videos whose title matches; NULL: any title. A video without a
                                        title of its own has the title of its book. */
};
/* Returns true if the query uses members that only a search supports. */
static inline bool videos_query_is_search(const struct videos_query *q)
{
    return q->sort != SORT_POSTED_AT || q->has_platform || q->has_updated_after || q->terms;
}
typedef bool (*store_video_fn)(void *ctx, const struct video *video, const struct book_ref *book);
enum next store_list_videos(struct store_read *read, const struct videos_query *query, store_video_fn fn,
                            void *ctx);

/* A search supports every enum video_sort and all filters of struct videos_query. Because no index contains a
 * column that most readings change, it examines all videos of the author: at most
 * VIDEOS_PER_SEARCH_CALL in each call, and fewer if their titles are long, because folding a title is the
 * most expensive part. Call store_search_videos() until `done`, then store_list_found_videos(). A video whose
 * sort key changes between two pages may appear on both or on neither. */
enum {
    VIDEOS_PER_SEARCH_CALL = 200,
    TITLE_BYTES_PER_SEARCH_CALL = 64 * 1024, /* bytes of titles plus bytes of their folded forms */
};
enum { FOUND_VIDEOS_MAX = 101, FOUND_VIDEOS_ROOM = 4 * FOUND_VIDEOS_MAX };
enum { BOOK_MATCHES_KEPT = 64 };
struct book_match {
    int64_t book_row; /* 0: unused */
    bool matches;
};
struct found_video {
    int64_t row;
    struct video_position at;
};
struct video_search {
    const struct videos_query *query; /* its `limit` is at most FOUND_VIDEOS_MAX */
    int64_t examined_to; /* row id of the last video that was examined; 0 before the first call */
    int64_t total;       /* number of videos that pass the filters, on all pages together */
    bool done;
    size_t found_count; /* after `done`: at most query->limit, in the order of the list */
    struct found_video found[FOUND_VIDEOS_ROOM];
    struct book_match book_matches[BOOK_MATCHES_KEPT]; /* private to the store: a cache; index: row id %
                                                          BOOK_MATCHES_KEPT */
};
enum next store_search_videos(struct store_read *read, struct video_search *search);
/* Passes the videos that the search has found to `fn`, in order. Omits videos that were deleted after the
 * search had found them. */
enum next store_list_found_videos(struct store_read *read, const struct video_search *search,
                                  store_video_fn fn, void *ctx);

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
    bool for_totals; /* also list the videos that gained nothing in this range, if they have ever had a
                        reading; in this case, stats_video.book is empty for all videos */
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
    const struct day_gain *days; /* the days with a gain in the range, ascending; at least one unless
                                    stats_query.for_totals */
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

/* Reads one posted video of this author with its gains from the date `from` to `to` (inclusive). If there are
 * none, day_count is 0. */
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
 * events have a requested type. `progress->scanned_to` is the id of the last event that the call has
 * examined; `progress->more` says whether more events follow this one. */
struct events_query {
    int64_t author_row;
    int64_t bound; /* ascending: id > bound; descending: id < bound */
    bool descending;
    unsigned types;         /* bit mask: 1 << each type to list; 0: all types */
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
