/* Starts runs of the refresh in a server when they are due, one at a time, on a thread of its own.
 *
 * The schedule looks at the wall clock every second, so it tolerates clock changes and suspends. Whether a
 * run is due depends on the database (slot.h), so it does not matter which process made the last run. */
#ifndef VT_REFRESH_SCHEDULE_H
#define VT_REFRESH_SCHEDULE_H

#include "refresh/refresh.h"

#include <uv.h>

struct schedule;

/* For metrics. Read on the loop. */
struct schedule_state {
    bool enabled; /* a source is configured */
    bool running; /* in this process */

    /* The last complete run of any process, ms; TIME_NONE: none, or not known yet. */
    int64_t last_started_at, last_finished_at;
    /* When the next run is due; in the past: since when it is overdue; TIME_NONE: not known yet. */
    int64_t next_at;

    /* Totals of this process, including the committed counts of abandoned runs. */
    int64_t runs[RUN_STATES];
    struct refresh_counts counts;
    int64_t duration_ms; /* of the last run; -1: none yet */
};

/* `store`: a STORE_READ connection of the loop. `write_lock`: of the writer queue. Both must live until the
 * schedule is closed. Does nothing if `sources` is empty. */
struct schedule *schedule_open(uv_loop_t *loop, const struct config *config, struct store *store,
                               struct ticket_lock *write_lock, const struct source_list *sources);

/* Stops the run after its open transaction, then calls `closed` once, on the loop, after this has returned.
 */
void schedule_close(struct schedule *s, void (*closed)(void *ctx), void *ctx);

/* The configuration has changed: use it from the next run on. */
void schedule_reconfigure(struct schedule *s);

/* The spool has a new file: start a run as soon as none is running. May be called for every file. */
void schedule_spool_changed(struct schedule *s);

const struct schedule_state *schedule_state(const struct schedule *s);

#endif
