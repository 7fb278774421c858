/* One run of the refresh, from acquiring the lease to releasing it. In a server, the schedule executes it on
 * a thread of its own; `viewtally refresh` executes it on its main thread. */
#ifndef VT_REFRESH_REFRESH_H
#define VT_REFRESH_REFRESH_H

#include "refresh/run_counters.h"
#include "jobs/slot.h"
#include "store/runs.h"

#include <stdatomic.h>

struct ticket_lock;

struct refresh_options {
    const struct config *config;
    struct source_list sources;
    enum run_cause cause;
    struct step_rules rules;
    const struct slot_rule *rule; /* only for CAUSE_SCHEDULE: if no run is due by this rule when the lease has
                                     been acquired, the run does nothing */
    struct ticket_lock *write_lock; /* the write lock of this process; NULL if it has no other writer */
    const atomic_bool *stop; /* when it becomes true, the run ends after its open transaction; may be NULL */
};

struct refresh_report {
    bool ran;             /* the lease was acquired and there was work */
    enum run_state state; /* valid if `ran` */
    int64_t started_at, duration_ms;
    bool source_failed[SOURCE_KINDS];
    struct refresh_counts counts; /* only committed counts */
    char why[256];                /* the cause of a failure; for ERR_BUSY, the holder of the lease or the
                                     reason why the database is locked */
};

/* Executes a run and blocks until it has ended. Returns OK if it ran, whatever its state, or if there was
 * nothing to do (!report->ran). Returns ERR_BUSY if another run holds the lease, or if the database is being
 * restored or migrated. Returns another error if the database cannot be used (ERR_TIMEOUT if its write lock
 * is not free in time). */
MUST_USE enum err refresh_run(const struct refresh_options *options, struct refresh_report *report);

/* Each of these returns the name of a state or a cause as a static string. States: "succeeded", "partial" …;
 * RUN_IN_PROGRESS is "running". */
const char *run_state_name(enum run_state state);
const char *run_cause_name(enum run_cause cause);

#endif
