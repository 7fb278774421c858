/* What a `struct run` is, for run.c (the sources' side) and refresh.c (its life). */
#ifndef VT_REFRESH_RUN_STATE_H
#define VT_REFRESH_RUN_STATE_H

#include "refresh/lease.h"
#include "refresh/refresh.h"

/* Steps that a source gave and that are not applied yet. */
struct queued_step {
    int64_t observed_at;
    size_t first, count; /* of `readings` */
};

struct run {
    const struct refresh_options *options;
    struct refresh_report *report;
    struct step_rules rules;
    struct store *store;
    struct lease lease;
    bool held_by_another; /* the lease, when this run wanted it */
    bool lost;            /* it went to another */
    struct run_row row;
    int64_t started_us;

    const struct source *source;                      /* that is running */
    bool open;                                        /* a transaction is, */
    int64_t pending[REFRESH_PLATFORMS][RUN_COUNTERS]; /* and this is what it adds */

    struct step step;
    struct queued_step *steps;
    struct reading *readings;
    size_t step_count, step_cap, reading_count, reading_cap;
};

/* A transaction in its turn: the one that takes the lease. */
MUST_USE enum err run_open_unleased(struct run *run);

/* And with the lease. Without run_begin()'s look at the order to stop, which the last
 * transaction of a run that was stopped must not heed. */
MUST_USE enum err run_open_transaction(struct run *run);

#endif
