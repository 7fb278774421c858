/* The definition of `struct store`, for the files of src/store only. */
#ifndef VT_STORE_HANDLE_H
#define VT_STORE_HANDLE_H

#include "base/buf.h"
#include "base/metrics.h"
#include "base/vec.h"
#include "store/read.h"
#include "store/sql.h"

enum {
    STORE_ID_LEN = 16,
    PACKED_MAX_BYTES = 64 * 1024, /* per packed column; five posts with the longest texts take 12 KiB */
};

struct row_driver;
struct store_engine;

struct store {
    const struct store_engine *engine;
    struct sql *sql;
    /* Runs the reads of the event loop (row_read.h). NULL: these reads complete immediately. */
    struct row_driver *driver;
    uint8_t id[STORE_ID_LEN];

    /* The newest event id that the open write transaction has read or issued; 0: none. Read from the database
     * in each transaction, because another process may have issued newer ids. */
    int64_t last_event_id;

    /* Buffers for packed columns, each in use only while a statement to which it is bound is running. */
    struct buf packed_posts, packed_milestones, packed_days, packed_recent;

    struct metrics_duration_histogram reads;

    VEC(struct day_gain) days; /* gains of one video (stored_days.h) */
};

/* Begin and end a read: measure its duration, and set read->err to `err`. store_read_end() returns NEXT_MORE.
 * The functions of row_read.h call both. */
void store_read_begin(struct store_read *read);
enum next store_read_end(struct store_read *read, enum err err);

typedef enum err snapshot_work(struct store *s, void *ctx);
/* Runs `work` in one snapshot. If the caller has an open transaction, `work` runs in it; otherwise in a read
 * transaction of its own. */
MUST_USE enum err store_run_in_snapshot(struct store *s, snapshot_work *work, void *ctx);

/* An adjustment of the columns of an author that depend on the rows of the author's books and videos. */
struct author_adjustment {
    int books, videos; /* added to books_count and videos_count */
    bool feed;         /* whether to increment feed_rev, because a page of /events could show the change */
};
/* Adjusts the author. Runs no statement if nothing changes. */
MUST_USE enum err store_adjust_author(struct store *s, int64_t author_row, struct author_adjustment by);

#endif
