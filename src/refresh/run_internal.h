/* The state of a run, for the files of src/refresh that implement it. */
#ifndef VT_REFRESH_RUN_INTERNAL_H
#define VT_REFRESH_RUN_INTERNAL_H

#include "base/vec.h"
#include "jobs/lease.h"
#include "refresh/refresh.h"
#include "refresh/run.h"

struct queued_step {
    int64_t observed_at;
    size_t first, count; /* range in run.readings */
};

struct run {
    const struct refresh_options *options;
    struct refresh_report *report;
    struct step_rules rules;
    struct store *store;
    struct lease lease;
    bool lease_is_lost; /* another process has acquired the lease during this run */
    struct run_row row;
    int64_t started_us;

    const struct source *source; /* the source that is running */
    bool in_transaction;
    bool had_cause;                                   /* report->why was set before the open transaction */
    int64_t pending[REFRESH_PLATFORMS][RUN_COUNTERS]; /* counts of the open transaction */

    struct step step;
    VEC(struct queued_step) steps;
    VEC(struct reading) readings;
    VEC(int64_t) video_rows; /* parallel to `readings`; lets a step load all its videos in one call */
};

/* Waits for the write lock and begins a transaction without verifying the lease, even while the process is
 * stopping. */
MUST_USE enum err run_begin_unleased(struct run *run);

/* Like run_begin(), but succeeds even while the process is stopping. Use it for the first and the last
 * transaction of a run. */
MUST_USE enum err run_begin_final(struct run *run);

/* Like run_transact(), with run_begin_unleased() or run_begin_final() instead of run_begin(). */
MUST_USE enum err run_transact_unleased(struct run *run, transaction_work *work, void *ctx);
MUST_USE enum err run_transact_final(struct run *run, transaction_work *work, void *ctx);

#endif
