/* What a run counts, for each source and platform. Stored in the table refresh_counts and printed by commands
 * under the names of run_counter_name(). */
#ifndef VT_REFRESH_RUN_COUNTERS_H
#define VT_REFRESH_RUN_COUNTERS_H

#include "platforms/platform.h"
#include "refresh/source.h"
#include "rules/step.h"

enum run_counter {
    RUN_VIDEOS,   /* changed by steps */
    RUN_ACCEPTED, /* readings */
    RUN_VIRAL_EVENTS,
    RUN_MILESTONE_EVENTS,
    RUN_BAD_LINES, /* of files, apart from rejected readings */
    RUN_REJECTED,  /* + enum rejection: readings by reason */

    /* Only for the source `platforms`. Each post that a run was to read is counted once: */
    RUN_READ = RUN_REJECTED + REJECTION_KINDS,
    RUN_NO_DATA,   /* the platform has no counts of it yet */
    RUN_MISSING,   /* the platform does not return it */
    RUN_PERMANENT, /* it will never have counts */
    RUN_UNREAD,    /* not requested, or every attempt failed */
    RUN_NOT_DUE,   /* left to a later run by its read interval */

    RUN_CALLS,
    RUN_RETRIES, /* calls that repeat a failed one */
    RUN_TOKENS,  /* refreshed */
    RUN_OUTCOME, /* + enum outcome_kind: calls by outcome */
};
enum { RUN_COUNTERS = RUN_OUTCOME + OUTCOME_KINDS };

/* Platform of videos and events, which concern all platforms of a video. */
enum { RUN_NO_PLATFORM = -1, REFRESH_PLATFORMS = PLATFORM_COUNT + 1 /* the last one for RUN_NO_PLATFORM */ };

struct refresh_counts {
    int64_t n[SOURCE_KINDS][REFRESH_PLATFORMS][RUN_COUNTERS];
};

/* "accepted", "rejected:stale", "outcome:ok"; "" for gaps in the enum. Static. */
const char *run_counter_name(enum run_counter counter);

/* Sums over all sources and platforms. */
int64_t refresh_count(const struct refresh_counts *counts, enum run_counter counter);
int64_t refresh_count_rejected(const struct refresh_counts *counts);

#endif
