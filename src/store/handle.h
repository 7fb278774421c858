/* What a `struct store` is, for the files of src/store only: a connection and the little it remembers. */
#ifndef VT_STORE_HANDLE_H
#define VT_STORE_HANDLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/metrics.h"
#include "store/db.h"
#include "store/read.h"

enum {
    STORE_ID_LEN = 16,
    PACKED_MAX_BYTES = 64 * 1024, /* of one packed column: five posts with the longest texts are 12 KiB */
    TEXTS_BYTES = 16 * 1024,      /* a page of events in most cases; more is given back behind it */
};

struct store {
    struct db db;
    bool shares_snapshots; /* store_share_snapshots() */
    uint8_t id[STORE_ID_LEN];

    /* Of the open write transaction: the newest event id given out; 0 as long as it gave out none. Read again
     * in each transaction, for another process may have given out some. */
    int64_t last_event_id;

    struct buf packed_posts, packed_milestones, packed_recent; /* bound to a running statement, else free */

    struct metrics_times reads;

    struct arena texts; /* of the videos that a page of events shows: read_events.c */

    struct day_gain *days; /* room for one video of store_list_stats() */
    size_t days_cap;
};

/* Around each function of read.h: takes the time, joins the snapshot of the turn, sets the result. */
void store_read_begin(struct store_read *read);
enum next store_read_end(struct store_read *read, enum err err);

/* Several statements as one snapshot. Inside a transaction of the caller (who reads what it has written) they
 * do nothing; `*own` goes from one to the other. */
MUST_USE enum err store_snapshot_begin(struct store *s, bool *own);
void store_snapshot_end(struct store *s, bool own);

/* The author's revision and newest event as the running snapshot has them (read_keys.c). The snapshot stands
 * from its first statement on, so this comes behind another one: what is known counts if nobody has committed
 * until now. */
struct author_head {
    int64_t rev, last_event_id;
};
MUST_USE enum err store_author_head(const struct store_read *read, int64_t author_row,
                                    struct author_head *out);

#endif
