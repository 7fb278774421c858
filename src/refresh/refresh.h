/* One run of the refresh, from acquiring the lease to releasing it. The schedule calls it on a thread of its
 * own, `viewtally refresh` in its process. */
#ifndef VT_REFRESH_REFRESH_H
#define VT_REFRESH_REFRESH_H

#include "refresh/run_counters.h"
#include "refresh/slot.h"
#include "store/runs.h"

#include <stdatomic.h>

struct ticket_lock;

struct refresh_options {
    const struct config *config;
    struct source_list sources;
    enum run_cause cause;
    struct step_rules rules;
    const struct slot_rule *rule;   /* for CAUSE_SCHEDULE: run only if due once the lease is held */
    struct ticket_lock *write_lock; /* of this process; NULL: it has no other writer */
    const atomic_bool *stop;        /* true: end after the open transaction. NULL: never */
};

struct refresh_report {
    bool ran;             /* the lease was acquired, and there was work */
    enum run_state state; /* if it ran */
    int64_t started_at, duration_ms;
    bool source_failed[SOURCE_KINDS];
    struct refresh_counts counts; /* committed */
    char why[256];                /* cause of a failure; for ERR_BUSY, the process that holds the lease */
};

/* Blocks until the run has ended. OK: it ran, whatever its state, or there was nothing to do (!report->ran).
 * ERR_BUSY: another run holds the lease. Other errors: the database could not be used. */
MUST_USE enum err refresh_run(const struct refresh_options *options, struct refresh_report *report);

/* "succeeded", "partial", …; "running" for RUN_IN_PROGRESS. Static. */
const char *run_state_name(enum run_state state);
const char *run_cause_name(enum run_cause cause);

#endif
