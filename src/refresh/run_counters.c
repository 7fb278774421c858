/* Names and sums of counters. */
#include "refresh/run_counters.h"

const char *run_counter_name(enum run_counter counter)
{
    static const char *const names[RUN_COUNTERS] = {
        [RUN_VIDEOS] = "videos",
        [RUN_ACCEPTED] = "accepted",
        [RUN_VIRAL_EVENTS] = "viral_events",
        [RUN_MILESTONE_EVENTS] = "milestone_events",
        [RUN_BAD_LINES] = "bad_lines",
        [RUN_REFUSED + REFUSAL_UNKNOWN_POST] = "refused:unknown_post",
        [RUN_REFUSED + REFUSAL_FUTURE] = "refused:future",
        [RUN_REFUSED + REFUSAL_BEFORE_POST] = "refused:before_post",
        [RUN_REFUSED + REFUSAL_AFTER_LIFE] = "refused:after_life",
        [RUN_REFUSED + REFUSAL_STALE] = "refused:stale",
        [RUN_READ] = "read",
        [RUN_NO_DATA] = "no_data",
        [RUN_MISSING] = "missing",
        [RUN_PERMANENT] = "permanent",
        [RUN_UNREAD] = "unread",
        [RUN_NOT_DUE] = "not_due",
        [RUN_CALLS] = "calls",
        [RUN_RETRIES] = "retries",
        [RUN_TOKENS] = "tokens",
        [RUN_OUTCOME + V_OK] = "outcome:ok",
        [RUN_OUTCOME + V_LATER] = "outcome:later",
        [RUN_OUTCOME + V_QUOTA] = "outcome:quota",
        [RUN_OUTCOME + V_TOKEN] = "outcome:token",
        [RUN_OUTCOME + V_RECONNECT] = "outcome:reconnect",
        [RUN_OUTCOME + V_OPERATOR] = "outcome:operator",
        [RUN_OUTCOME + V_TIER] = "outcome:tier",
        [RUN_OUTCOME + V_SPLIT] = "outcome:split",
        [RUN_OUTCOME + V_MALFORMED] = "outcome:malformed",
        [RUN_OUTCOME + V_BUG] = "outcome:bug",
    };
    return (int)counter >= 0 && (int)counter < RUN_COUNTERS && names[counter] ? names[counter] : "";
}

int64_t refresh_count(const struct refresh_counts *counts, enum run_counter counter)
{
    int64_t sum = 0;
    for (int s = 0; s < SOURCE_KINDS; s++)
        for (int p = 0; p < REFRESH_PLATFORMS; p++)
            sum += counts->n[s][p][counter];
    return sum;
}

int64_t refresh_count_refused(const struct refresh_counts *counts)
{
    int64_t sum = 0;
    for (int r = 0; r < REFUSAL_KINDS; r++)
        sum += refresh_count(counts, (enum run_counter)(RUN_REFUSED + r));
    return sum;
}
