/* The closing pass (decision 4, point 8): after a whole import, the videos that it gave a baseline are
 * decided against the author's other videos as they are then. What is left over by a crash is done by the
 * next import, `migrate` or start of the server. */
#ifndef VT_IMPORT_FINALIZING_H
#define VT_IMPORT_FINALIZING_H

#include "rules/rule_settings.h"
#include "store/write.h"

struct finalizing_result {
    int64_t videos, went_viral;
};

/* Decides at most `limit` videos, in an open write transaction. Adds to `*result`; `*more` is false when none
 * was left. The order of videos and the cuts between transactions change nothing. */
enum { FINALIZING_BATCH_MAX = 500 };
MUST_USE enum err finalizing_pass(struct store *store, const struct step_rules *rules, size_t limit,
                                  struct finalizing_result *result, bool *more);

/* The whole pass in transactions of its own, for what an import that was killed has left. Does nothing while
 * an import is at work: that one will. */
MUST_USE enum err finalizing_complete(const struct store_options *options, const struct step_rules *rules,
                                      struct finalizing_result *result, struct error *error);

#endif
