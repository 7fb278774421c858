/* Starts runs of the refresh in a server when they are due. Runs execute one at a time on a separate thread.
 *
 * The schedule checks the wall clock every second, so clock changes and suspends have no lasting effect.
 * Whether a run is due depends on the last complete run that the database records (slot.h,
 * store_get_last_complete_run()), whichever process executed it. */
#ifndef VT_REFRESH_SCHEDULE_H
#define VT_REFRESH_SCHEDULE_H

#include "refresh/refresh.h"

#include <uv.h>

/* Returns the slots of the refresh: an hour that begins at [refresh] minute, or the interval of the simulated
 * source. `seed` determines the random delay of each run. */
struct slot_rule refresh_slot_rule(const struct config *config, uint64_t seed);

/* Returns true if a run should have started by now: it has been due for a minute (with a shorter interval of
 * the simulated source: for one interval), even with the maximum random delay. `last_ms` is the start of the
 * last complete run, or TIME_NONE. For commands, which do not know the random delays of the servers. */
bool refresh_is_late(const struct config *config, int64_t now_ms, int64_t last_ms);

struct schedule;

/* The state of the schedule, for metrics. Read it only on the loop's thread. */
struct schedule_state {
    bool enabled;           /* a source is configured */
    bool running;           /* a run is in progress in this process */
    int64_t run_started_at; /* start of this run or, between runs, of the most recent one; in ms */
    bool other_is_running;  /* the due run could not start, because another process has a run in progress */
    int64_t other_found_at; /* when this was found first, in ms; valid if other_is_running */

    /* Start and end of the last complete run of any process, in ms. TIME_NONE if no run has been complete, or
     * if the database has not been checked yet. */
    int64_t last_started_at, last_finished_at;
    /* When the next run is due, in ms. If in the past, the run has been overdue since then. TIME_NONE if not
     * known yet. */
    int64_t next_at;

    /* Runs of this process since it started, by state, and their counts. Includes abandoned runs with the
     * counts that they committed. */
    int64_t runs[RUN_STATES];
    struct refresh_counts counts;
    int64_t duration_ms; /* duration of the last run; -1 if there was none */
};

/* Opens a schedule. `store` is the loop's STORE_READ connection, `write_lock` the lock of the writer queue.
 * Both must live until the schedule is closed. If `sources` is empty, the schedule starts no runs. */
struct schedule *schedule_open(uv_loop_t *loop, const struct config *config, struct store *store,
                               struct ticket_lock *write_lock, const struct source_list *sources);

/* Stops the run in progress after its open transaction. Then calls `closed` once on the loop, never before
 * this function has returned. */
void schedule_close(struct schedule *s, void (*closed)(void *ctx), void *ctx);

/* Call when the configuration has changed. The next run uses the new configuration. */
void schedule_reconfigure(struct schedule *s);

/* Registers `completed`, which is called on the loop after each complete run of this process
 * (store_get_last_complete_run()). */
void schedule_on_complete(struct schedule *s, void (*completed)(void *ctx), void *ctx);

/* Call when the spool has a new file; may be called for every file. Starts a run as soon as no other run is
 * in progress and no pause after a failure is in effect. */
void schedule_spool_changed(struct schedule *s);

const struct schedule_state *schedule_state(const struct schedule *s);

#endif
