/* The refresh in the database: its lease, its runs with what they did, and the videos that are still asked
 * for. Functions that write need an open transaction (write.h); the others need none. */
#ifndef VT_STORE_RUNS_H
#define VT_STORE_RUNS_H

#include "base/arena.h"
#include "base/error.h"
#include "store/model.h"
#include "store/store.h"

/* ---- the lease: one row ---- */

enum { HOLDER_MAX = 160 };

struct lease_row {
    int64_t fence;           /* grows with every change of hands */
    char holder[HOLDER_MAX]; /* "": nobody */
    int64_t taken_at, expires_at;
};

MUST_USE enum err store_read_lease(struct store *s, struct lease_row *out);
MUST_USE enum err store_put_lease(struct store *s, const struct lease_row *lease);

/* ---- runs ---- */

enum run_cause { CAUSE_SCHEDULE, CAUSE_COMMAND, CAUSE_SPOOL };
enum run_state { RUN_SUCCEEDED, RUN_PARTIAL, RUN_FAILED, RUN_STOPPED, RUN_ABANDONED };
enum { RUN_STATES = 5, RUN_IN_PROGRESS = -1 };

struct run_row {
    int64_t row;
    enum run_cause cause;
    struct str holder;
    int64_t started_at;
    int64_t finished_at; /* TIME_NONE: at work, or lost */
    int outcome;         /* enum run_state or RUN_IN_PROGRESS */
    struct str error;    /* p == NULL: nothing to say */
};

/* A run that begins; sets run->row. */
MUST_USE enum err store_insert_run(struct store *s, struct run_row *run);
MUST_USE enum err store_finish_run(struct store *s, const struct run_row *run);
MUST_USE enum err store_put_run_count(struct store *s, int64_t run_row, int source, int platform,
                                      const char *name, int64_t value);

/* Every run that is still at work becomes lost: for who has just taken the lease. */
MUST_USE enum err store_abandon_runs(struct store *s);

/* Deletes this run and the older ones, but never the newest whole run: the schedule depends on its record. */
MUST_USE enum err store_prune_runs(struct store *s, int64_t newest_row);

/* When the newest whole run (of all sources, come to its end) started and finished; TIME_NONE: there is none.
 */
MUST_USE enum err store_last_complete_run(struct store *s, int64_t *started_at, int64_t *finished_at);

/* Newest first. */
typedef bool (*store_run_fn)(void *ctx, const struct run_row *run);
MUST_USE enum err store_list_runs(struct store *s, int limit, store_run_fn fn, void *ctx);

struct run_count {
    int source, platform;
    struct str name;
    int64_t value;
};
typedef bool (*store_run_count_fn)(void *ctx, const struct run_count *count);
MUST_USE enum err store_list_run_counts(struct store *s, int64_t run_row, store_run_count_fn fn, void *ctx);

/* ---- what is asked for ---- */

/* The next author by row above `after` (0: the first); ERR_NOT_FOUND: no more. */
MUST_USE enum err store_next_author(struct store *s, int64_t after, int64_t *author_row);

/* The author's videos with `posted_from` <= posted_at <= `now`, newest first. */
typedef bool (*store_live_fn)(void *ctx, const struct video *video);
MUST_USE enum err store_list_live(struct store *s, int64_t author_row, int64_t posted_from, int64_t now,
                                  store_live_fn fn, void *ctx);

/* How many of an author's videos are live, and how many of these were not updated since `updated_before`. */
MUST_USE enum err store_count_live(struct store *s, int64_t author_row, int64_t posted_from, int64_t now,
                                   int64_t updated_before, int64_t *live, int64_t *stale);

#endif
