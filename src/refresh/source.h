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

/* Returns the name in [refresh] source as a static string: "spool", "simulated" or "platforms". */
const char *source_name(enum source_kind kind);

/* Input that no run has read yet. */
struct source_backlog {
    int64_t files, bytes;
};

struct source {
    enum source_kind kind;

    /* Returns true if there is input for a run. The pointer is NULL if there always is input. Called before a
     * run that new spool files have caused, on the thread of the run. */
    bool (*has_work)(const struct config *config);

    /* Sets `*out` to the backlog, for `viewtally status`. Returns false if the backlog cannot be read.
     * The pointer is NULL if the source has no backlog. */
    bool (*backlog)(const struct config *config, struct source_backlog *out);

    /* Reads all input. Called once per run, on the run's thread, while no transaction is open. If a function
     * of run.h returns ERR_CANCELED (the run is stopping or has lost its lease), run() must write nothing
     * more and return ERR_CANCELED. Before returning any other error, run() must call run_fail(). Committed
     * data remains. Bad lines and rejected readings are not errors; they are counted. */
    enum err (*run)(struct run *run);
};

/* Sources in the order in which a run reads them, NULL-terminated. */
struct source_list {
    const struct source *sources[SOURCE_KINDS + 1];
};

/* Returns a list with only the source of `list` that has this kind; an empty list if none exists. */
struct source_list source_list_only(const struct source_list *list, enum source_kind kind);

#endif
