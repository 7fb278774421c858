/* The counters of a run, for each source and platform. The table refresh_counts and the output of commands
 * use the names of run_counter_name(). */
#ifndef VT_REFRESH_RUN_COUNTERS_H
#define VT_REFRESH_RUN_COUNTERS_H

#include "platforms/platform.h"
#include "refresh/source.h"
#include "rules/step.h"

enum run_counter {
    RUN_VIDEOS,   /* videos changed by steps */
    RUN_ACCEPTED, /* accepted readings */
    RUN_VIRAL_EVENTS,
    RUN_MILESTONE_EVENTS,
    RUN_BAD_LINES,      /* bad lines of files; rejected readings are not included */
    RUN_UNKNOWN_FIELDS, /* lines with an unknown field, which was ignored */
    RUN_REJECTED,       /* first of the counters of rejected readings; the counter of a reason is RUN_REJECTED
                           + its enum rejection */

    /* Only for the source `platforms`. Each live post that can be read now, with a connected account of the
     * author or with an API key, is counted in one of RUN_READ to RUN_NOT_DUE: */
    RUN_READ = RUN_REJECTED + REJECTION_KINDS,
    RUN_NO_DATA,   /* the platform has no counts of the post yet, or does not permit to read them */
    RUN_MISSING,   /* the platform does not return the post */
    RUN_PERMANENT, /* the post will never have counts */
    RUN_UNREAD,    /* the post was not requested, or every attempt failed */
    RUN_NOT_DUE,   /* the read interval of the post has not passed yet */

    RUN_CALLS,   /* calls to platforms, without those that refresh tokens */
    RUN_RETRIES, /* calls that repeat a failed one */
    RUN_TOKENS,  /* refreshed tokens */
    RUN_OUTCOME, /* first of the counters of calls by outcome; the counter of an outcome is RUN_OUTCOME + its
                    enum outcome_kind */
};
enum { RUN_COUNTERS = RUN_OUTCOME + OUTCOME_KINDS };

/* RUN_NO_PLATFORM takes the place of a platform for counters that belong to no single platform: those of
 * videos, events and lines. */
enum {
    RUN_NO_PLATFORM = -1,
    REFRESH_PLATFORMS = PLATFORM_COUNT + 1 /* the last index is for RUN_NO_PLATFORM */
};

struct refresh_counts {
    int64_t n[SOURCE_KINDS][REFRESH_PLATFORMS][RUN_COUNTERS];
};

/* Returns the name as a static string: "accepted", "rejected:stale", "outcome:ok"; "" for a gap in the enum.
 */
const char *run_counter_name(enum run_counter counter);

/* refresh_count() returns the sum of a counter over all sources and platforms; refresh_count_rejected()
 * returns the sum of the RUN_REJECTED counters of all reasons. */
int64_t refresh_count(const struct refresh_counts *counts, enum run_counter counter);
int64_t refresh_count_rejected(const struct refresh_counts *counts);

#endif
