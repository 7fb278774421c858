/* Reads for the handlers. They run on the loop, each in one snapshot, and return at once with SQLite; a store
 * on another machine would answer later, so a handler calls them as a starter:
 *
 *     static enum next page_step(struct request *r) { …; return store_videos_page(read, &query, on_video,
 * page); }
 *
 * after setting r's next step. Each returns NEXT_MORE with `read->err` set (or NEXT_WAIT with read->wait
 * armed, in a store that has to ask). Row callbacks run before that, in order; what their row borrows dies
 * when they return. They never call the store. A callback that returns false ends the read early, which is no
 * error.
 *
 * read->err after: OK, ERR_NOT_FOUND (single rows), ERR_BUSY, ERR_CORRUPT, ERR_IO, ERR_NOMEM (503 or 500 for
 * the client; the driver has logged the library's words). No statement stays open: a slow reader holds no
 * transaction. */
#ifndef VT_STORE_READ_H
#define VT_STORE_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "base/next.h"
#include "store/model.h"
#include "store/store.h"

/* What an asker knows of an author already. A read that has to tell it of its own snapshot need not look it
 * up when nobody has committed since. */
struct known_author {
    uint64_t version; /* store_version() of before it was read; 0: nothing is known */
    int64_t row, rev, last_event_id;
};

struct store_read {
    struct store *store;
    struct wait *wait; /* the request's wait */
    struct known_author known;
    enum err err;
    int64_t start_us; /* the store's */
};

/* What a request needs of its key: one look-up by SHA-256. */
struct key_owner {
    int64_t key_row, author_row;
    int64_t revoked_at;   /* TIME_NONE: live */
    int64_t last_used_at; /* TIME_NONE: never */
    bool plan_active;
    int64_t author_rev;    /* grows with every change that an answer could show */
    int64_t feed_rev;      /* with every change that an answer of the feed could show */
    int64_t last_event_id; /* the author's head; 0: none */
    struct uuid key_id, author_id;
};
enum next store_find_key(struct store_read *read, const uint8_t hash[KEY_HASH_LEN], struct key_owner *out);

typedef bool (*store_account_fn)(void *ctx, const struct author *author, const struct api_key *key);
enum next store_read_account(struct store_read *read, int64_t key_row, store_account_fn fn, void *ctx);

/* The author; texts live in `arena`. */
enum next store_read_author(struct store_read *read, struct arena *arena, int64_t author_row,
                            struct author *out);

/* Books, created_at descending, id descending. `after` NULL: from the start; else behind that (created_at,
 * id). At most `limit`. `*author_rev`: of this call's snapshot. */
struct book_position {
    int64_t created_at;
    struct uuid id;
};
typedef bool (*store_book_fn)(void *ctx, const struct book *book, struct str author_name);
enum next store_list_books(struct store_read *read, int64_t author_row, const struct book_position *after,
                           int limit, store_book_fn fn, void *ctx, int64_t *author_rev);

/* Videos, posted_at descending, id descending: keyset pages, cost independent of depth whatever the filters.
 */
struct video_position {
    int64_t posted_at;
    struct uuid id;
};
enum viral_filter { VIRAL_ANY, VIRAL_ONLY, VIRAL_NOT };
struct videos_query {
    int64_t author_row;
    int64_t posted_from, posted_to; /* inclusive, ms; INT64_MIN and INT64_MAX: no bound */
    bool has_book;
    struct uuid book_id; /* with has_book: another author's or unknown book gives no rows */
    enum viral_filter viral;
    bool has_after;
    struct video_position after; /* only what stands behind it */
    int limit;                   /* rows at most; ask for one more than the page to know has_more */
};
/* store_list_videos() leaves row, author_row, baseline and baseline_pending of the video unread. */
typedef bool (*store_video_fn)(void *ctx, const struct video *video, const struct book_ref *book);
enum next store_list_videos(struct store_read *read, const struct videos_query *query, store_video_fn fn,
                            void *ctx);

/* A posted video of this author, else ERR_NOT_FOUND. */
enum next store_read_video(struct store_read *read, int64_t author_row, const struct uuid *id,
                           store_video_fn fn, void *ctx);

/* The videos of an author that have a gain in [from, to], with their gains: posted_at descending, id
 * descending, from behind `after` (NULL: from the start), at most `limit` VIDEOS LOOKED AT, so that a call is
 * short even when none has a gain. `next` gets the position to go on from; `*more` is false when the end was
 * reached. Of a video only id, title, posted_at, baseline, first_reading_at and went_viral_at are read. */
struct stats_query {
    int64_t author_row;
    int64_t book_row; /* 0: all videos of the author; else only this book's (of store_list_books) */
    int32_t from, to;
    bool has_after;
    struct video_position after;
    int limit;
};
struct stats_video {
    const struct video *video; /* of store_list_stats(): only what is named there */
    struct book_ref book;
    int64_t gained_before;       /* sum of gains before `from` */
    const struct day_gain *days; /* days with a row, ascending; never empty; not every gain is > 0 */
    size_t day_count;
};
struct stats_progress {
    struct video_position next;
    bool more;
    int64_t author_rev; /* of this call's snapshot */
};
typedef bool (*store_stats_fn)(void *ctx, const struct stats_video *row);
enum next store_list_stats(struct store_read *read, const struct stats_query *query, store_stats_fn fn,
                           void *ctx, struct stats_progress *progress);

/* A posted video of this author with all the gains that it has in [from, to], which may be none
 * (`gained_before` is then 0); else ERR_NOT_FOUND. */
enum next store_read_video_days(struct store_read *read, int64_t author_row, const struct uuid *id,
                                int32_t from, int32_t to, store_stats_fn fn, void *ctx);

/* An event's `video` holds only what an event shows: row, author_row, id, title, thumbnail_url, posted_at.
 *
 * Events of an author by id. At most `scan_limit` rows are looked at in one call; `*scanned_to` gets the id
 * of the last row looked at and
 * `*more` whether rows are left behind it, so that a rare filter goes on in the next slice. */
struct events_query {
    int64_t author_row;
    int64_t bound; /* ascending: id > bound; descending: id < bound */
    bool descending;
    bool has_type;
    enum event_type type;
    int64_t occurred_after; /* occurred_at > this; INT64_MIN: any */
    int limit;              /* rows given out at most */
    int scan_limit;
};
struct events_progress {
    int64_t scanned_to;
    bool more;
    int64_t author_last_event_id; /* the head in this snapshot */
};
typedef bool (*store_event_fn)(void *ctx, const struct event *event, const struct video *video,
                               const struct book_ref *book);
enum next store_list_events(struct store_read *read, const struct events_query *query, store_event_fn fn,
                            void *ctx, struct events_progress *progress);

/* How many events of the author stand behind `after`, counted up to `most`. */
enum next store_count_events(struct store_read *read, int64_t author_row, int64_t after, int most,
                             int *count);

#endif
