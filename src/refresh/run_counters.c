/* The names of the counters, and their sums. */
#include "refresh/run_counters.h"

const char *run_counter_name(enum run_counter counter)
{
    static const char *const names[RUN_COUNTERS] = {
        [RUN_VIDEOS] = "videos",
        [RUN_ACCEPTED] = "accepted",
        [RUN_VIRAL_EVENTS] = "viral_events",
        [RUN_MILESTONE_EVENTS] = "milestone_events",
        [RUN_BAD_LINES] = "bad_lines",
        [RUN_UNKNOWN_FIELDS] = "unknown_field_lines",
        [RUN_REJECTED + REJECTION_UNKNOWN_POST] = "rejected:unknown_post",
        [RUN_REJECTED + REJECTION_FUTURE] = "rejected:future",
        [RUN_REJECTED + REJECTION_BEFORE_POST] = "rejected:before_post",
        [RUN_REJECTED + REJECTION_AFTER_LIFE] = "rejected:after_life",
        [RUN_REJECTED + REJECTION_STALE] = "rejected:stale",
        [RUN_READ] = "read",
        [RUN_NO_DATA] = "no_data",
        [RUN_MISSING] = "missing",
        [RUN_PERMANENT] = "permanent",
        [RUN_UNREAD] = "unread",
        [RUN_NOT_DUE] = "not_due",
        [RUN_CALLS] = "calls",
        [RUN_RETRIES] = "retries",
        [RUN_TOKENS] = "tokens",
        [RUN_OUTCOME + OUTCOME_OK] = "outcome:ok",
        [RUN_OUTCOME + OUTCOME_RETRY] = "outcome:retry",
        [RUN_OUTCOME + OUTCOME_QUOTA_SPENT] = "outcome:quota_spent",
        [RUN_OUTCOME + OUTCOME_TOKEN_REJECTED] = "outcome:token_rejected",
        [RUN_OUTCOME + OUTCOME_RECONNECT] = "outcome:reconnect",
        [RUN_OUTCOME + OUTCOME_APP_REJECTED] = "outcome:app_rejected",
        [RUN_OUTCOME + OUTCOME_OTHER_FORM] = "outcome:other_form",
        [RUN_OUTCOME + OUTCOME_SPLIT] = "outcome:split",
        [RUN_OUTCOME + OUTCOME_MALFORMED] = "outcome:malformed",
        [RUN_OUTCOME + OUTCOME_BAD_REQUEST] = "outcome:bad_request",
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

int64_t refresh_count_rejected(const struct refresh_counts *counts)
{
    int64_t sum = 0;
    for (int r = 0; r < REJECTION_KINDS; r++)
        sum += refresh_count(counts, (enum run_counter)(RUN_REJECTED + r));
    return sum;
}
