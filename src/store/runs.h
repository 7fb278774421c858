/* What the database stores about the refresh: the leases (also of other jobs), the runs with their counts,
 * and the live videos, whose counts are still refreshed. The rules of write.h apply. */
#ifndef VT_STORE_RUNS_H
#define VT_STORE_RUNS_H

#include "base/arena.h"
#include "base/error.h"
#include "store/model.h"
#include "store/read.h"
#include "store/store.h"

/* ---- leases: one row each ---- */

enum { HOLDER_MAX = 160 };
enum lease_kind { LEASE_REFRESH, LEASE_BACKUP, LEASE_WEBHOOKS };

struct lease_row {
    int64_t fence;           /* fencing token: incremented with every acquisition */
    char holder[HOLDER_MAX]; /* "": nobody holds the lease */
    int64_t acquired_at, expires_at;
};

/* Reads the lease of this kind. */
MUST_USE enum err store_read_lease(struct store *s, enum lease_kind kind, struct lease_row *out);
/* Replaces the lease of this kind. */
MUST_USE enum err store_put_lease(struct store *s, enum lease_kind kind, const struct lease_row *lease);

/* ---- runs ---- */

enum run_cause { CAUSE_SCHEDULE, CAUSE_COMMAND, CAUSE_SPOOL };
enum run_state { RUN_SUCCEEDED, RUN_PARTIAL, RUN_FAILED, RUN_STOPPED, RUN_ABANDONED };
enum { RUN_STATES = 5, RUN_IN_PROGRESS = -1 };

struct run_row {
    int64_t row;
    enum run_cause cause;
    struct str holder;
    int64_t started_at;
    int64_t finished_at; /* TIME_NONE: in progress, or abandoned */
    int outcome;         /* enum run_state or RUN_IN_PROGRESS */
    struct str error;    /* p == NULL: none */
};

/* Inserts a run that starts now, and sets run->row. */
MUST_USE enum err store_insert_run(struct store *s, struct run_row *run);
/* Writes the run's finished_at, outcome and error. */
MUST_USE enum err store_finish_run(struct store *s, const struct run_row *run);
/* Stores one of the numbers that a run counted, such as accepted readings. */
MUST_USE enum err store_put_run_count(struct store *s, int64_t run_row, int source, int platform,
                                      const char *name, int64_t value);

/* Marks every run in progress as abandoned. Call after acquiring the lease, because no other process has a
 * run while this process holds the lease. */
MUST_USE enum err store_abandon_runs(struct store *s);

/* Deletes the run `newest_row` and all older ones, except the newest complete run, on which the schedule
 * depends. */
MUST_USE enum err store_prune_runs(struct store *s, int64_t newest_row);

/* Reads the start and end of the newest complete run. A run is complete if it read all sources and its state
 * is RUN_SUCCEEDED or RUN_PARTIAL. Both times are TIME_NONE if there is no such run. */
MUST_USE enum err store_get_last_complete_run(struct store *s, int64_t *started_at, int64_t *finished_at);

/* Like store_get_last_complete_run(), for the event loop (read.h). */
enum next store_find_last_complete_run(struct store_read *read, int64_t *started_at, int64_t *finished_at);

typedef bool (*store_run_fn)(void *ctx, const struct run_row *run);
/* Lists at most `limit` runs, newest first. */
MUST_USE enum err store_list_runs(struct store *s, int limit, store_run_fn fn, void *ctx);

struct run_count {
    int source, platform;
    struct str name;
    int64_t value;
};
typedef bool (*store_run_count_fn)(void *ctx, const struct run_count *count);
/* Lists the numbers that a run counted. */
MUST_USE enum err store_list_run_counts(struct store *s, int64_t run_row, store_run_count_fn fn, void *ctx);

/* ---- live videos, for finding the posts to read ---- */

/* Finds the author with the lowest row above `after` (0: the first author). Returns ERR_NOT_FOUND if there
 * are no more. */
MUST_USE enum err store_find_next_author(struct store *s, int64_t after, int64_t *author_row);

typedef bool (*store_live_fn)(void *ctx, const struct video *video);
/* Lists the author's live videos, newest first. A video is live if it was posted from `posted_from` to `now`.
 */
MUST_USE enum err store_list_live_videos(struct store *s, int64_t author_row, int64_t posted_from,
                                         int64_t now, store_live_fn fn, void *ctx);

/* Counts the author's live videos, and how many of them were last updated, or posted if they were never
 * updated, before `updated_before`. */
MUST_USE enum err store_count_live_videos(struct store *s, int64_t author_row, int64_t posted_from,
                                          int64_t now, int64_t updated_before, int64_t *live, int64_t *stale);

#endif
