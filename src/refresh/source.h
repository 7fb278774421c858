/* What a source of readings is to the refresh. A source knows where readings come from; run.h is how it hands
 * them in. It knows neither schedule nor lease nor threads. */
#ifndef VT_REFRESH_SOURCE_H
#define VT_REFRESH_SOURCE_H

#include "base/err.h"
#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

/* The numbers stand in the database (refresh_counts.source). */
enum source_kind { SOURCE_SPOOL, SOURCE_SIMULATED, SOURCE_PLATFORMS };
enum { SOURCE_KINDS = 3 };

struct source_backlog {
    int64_t files, bytes;
};

struct source {
    enum source_kind kind;
    const char *name; /* as in [refresh] source */

    /* Whether a run has anything to do now; NULL: always. Called on the run's thread and by commands, also of
     * several processes at once; must be cheap. A run that a new file in the spool starts ends without a
     * trace when it says no. */
    bool (*has_work)(const struct config *config);

    /* What waits to be read, for `viewtally status`; NULL: nothing ever does. False: it cannot be told. */
    bool (*backlog)(const struct config *config, struct source_backlog *out);

    /* Called once in a run, on the run's thread, outside of any transaction. Blocks. An error means that the
     * source stopped before its end: ERR_CANCELLED is handed on from run.h (told to stop, or the lease has
     * gone: return at once, write nothing), with any other run_fail() was told a sentence. What was committed
     * stays. A bad line or a refused reading is no error. */
    enum err (*run)(struct run *run);
};

/* The sources that [refresh] source names, in the order in which a run asks them. Ends with NULL. */
struct source_list {
    const struct source *sources[SOURCE_KINDS + 1];
};
struct source_list sources_of(const struct config *config);

/* Only the one; empty when it is not configured. */
struct source_list sources_only(const struct config *config, enum source_kind kind);

const char *source_name(enum source_kind kind);

#endif
