/* The schedule: starts runs of the refresh when they are due, in a server. It looks at the wall clock every
 * second, so it survives a clock that is set and a machine that slept; whether a run is due stands in the
 * database (slot.h), so it makes no difference which process ran the last one. Runs one at a time, on a
 * thread of its own. */
#ifndef VT_REFRESH_SCHEDULE_H
#define VT_REFRESH_SCHEDULE_H

#include "refresh/refresh.h"

#include <uv.h>

struct schedule;

/* What this process knows of the refresh; for metrics. Read on the loop. */
struct schedule_state {
    bool enabled; /* a source is configured */
    bool running; /* here, now */

    /* Of the newest whole run of any process, ms; TIME_NONE: there is none, or it is not known yet. */
    int64_t last_started_at, last_finished_at;
    int64_t
        next_at; /* when the next one is due; in the past: since when it is overdue; TIME_NONE: not known */

    /* Of this process since it started. A run whose outcome is RUN_ABANDONED is in `runs`, and what it
     * committed in `counts`. */
    int64_t runs[RUN_STATES];
    struct refresh_counts counts;
    int64_t duration_ms; /* of its last run; -1: none yet */
};

/* `store` is a STORE_READ connection of the loop, `write_lock` that of the writer queue; both must live until
 * the schedule is closed. Without a source in the configuration it does nothing. */
struct schedule *schedule_open(uv_loop_t *loop, const struct config *config, struct store *store,
                               struct ticket_lock *write_lock, const struct source_list *sources);

/* Lets a run end after the transaction that is open, then calls `closed` on the loop, once, never before it
 * returned. */
void schedule_close(struct schedule *s, void (*closed)(void *ctx), void *ctx);

/* The configuration has new values: from the next run on. */
void schedule_reconfigure(struct schedule *s);

/* A file has come into the spool: it is taken as soon as no run is at work. May be called for every file. */
void schedule_spool_changed(struct schedule *s);

const struct schedule_state *schedule_state(const struct schedule *s);

#endif
