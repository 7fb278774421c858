/* One run of the refresh, from taking the lease to giving it back: what the schedule does on a thread of its
 * own and `viewtally refresh` does in its process. */
#ifndef VT_REFRESH_REFRESH_H
#define VT_REFRESH_REFRESH_H

#include "refresh/run.h"
#include "refresh/slot.h"
#include "store/runs.h"

#include <stdatomic.h>

struct ticket_lock;

struct refresh_options {
    const struct config *config;
    struct source_list sources;
    enum run_cause cause;
    struct step_rules rules;        /* of `config` when the run was asked for */
    const struct slot_rule *rule;   /* of CAUSE_SCHEDULE: runs only if that says so once the lease is held */
    struct ticket_lock *write_lock; /* NULL: nobody else of this process writes */
    const atomic_bool *stop;        /* true: end after the transaction that is open. NULL: never */
};

enum { REFRESH_PLATFORMS = PLATFORM_COUNT + 1 }; /* the last is RUN_NO_PLATFORM's */

struct refresh_counts {
    int64_t n[SOURCE_KINDS][REFRESH_PLATFORMS][RUN_COUNTERS];
};

struct refresh_report {
    bool ran;               /* there was something to do, and the lease was had */
    enum run_state outcome; /* of a run */
    int64_t started_at, duration_ms;
    bool source_failed[SOURCE_KINDS];
    struct refresh_counts counts; /* committed */
    char why[256];                /* of a failure, a sentence; of ERR_BUSY, who runs one */
};

/* Blocks until the run has ended. OK: it ran, whatever its outcome, or there was nothing to do (!ran).
 * ERR_BUSY: another run is at work. Anything else: the database was not to be had. */
MUST_USE enum err refresh_run(const struct refresh_options *options, struct refresh_report *report);

/* Over all sources and platforms. */
int64_t refresh_count(const struct refresh_counts *counts, enum run_counter counter);
int64_t refresh_count_refused(const struct refresh_counts *counts);

const char *run_state_name(enum run_state outcome);
const char *run_cause_name(enum run_cause cause);

#endif
