/* The interface that a source of readings implements. A source submits its readings through run.h. */
#ifndef VT_REFRESH_SOURCE_H
#define VT_REFRESH_SOURCE_H

#include "base/error.h"
#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

/* Stored in the database (refresh_counts.source): do not renumber. */
enum source_kind { SOURCE_SPOOL, SOURCE_SIMULATED, SOURCE_PLATFORMS };
enum { SOURCE_KINDS = 3 };

/* "spool", "simulated" or "platforms": the name in [refresh] source. Static. */
const char *source_name(enum source_kind kind);

/* Input that waits for the next run. */
struct source_backlog {
    int64_t files, bytes;
};

struct source {
    enum source_kind kind;

    /* Returns whether a run has anything to do now. NULL: always. Must be cheap and thread-safe: runs and
     * commands of several processes call it at the same time. */
    bool (*has_work)(const struct config *config);

    /* Reports the input that waits, for `viewtally status`. NULL: the source has no backlog. Returns false if
     * the backlog cannot be read. */
    bool (*backlog)(const struct config *config, struct source_backlog *out);

    /* Called once per run, on the run's thread, outside of any transaction. Blocks until the source is done.
     * Returns ERR_CANCELED if a function of run.h returned it (the run is stopping or has lost its lease):
     * then the source must write nothing more. Before it returns any other error, the source has called
     * run_fail(). Committed data stays. Bad lines and rejected readings are counted, not errors. */
    enum err (*run)(struct run *run);
};

/* Sources in the order in which a run reads them, terminated by NULL. */
struct source_list {
    const struct source *sources[SOURCE_KINDS + 1];
};

/* The sources of `list` of that kind: one or none. */
struct source_list source_list_only(const struct source_list *list, enum source_kind kind);

#endif
