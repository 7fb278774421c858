/* Finalizing (decision 4, point 8): after an import, decides for each video with a new baseline whether it is
 * viral, compared with the author's other videos. Videos left over by a crash are finalized by the next
 * import, `migrate` or server start. */
#ifndef VT_IMPORT_FINALIZING_H
#define VT_IMPORT_FINALIZING_H

#include "rules/rule_settings.h"
#include "store/write.h"

struct finalizing_result {
    int64_t videos, went_viral;
};

/* Finalizes at most `limit` videos in an open write transaction. Adds to `*result`; `*more` is false if none
 * is left. The result does not depend on the order of videos or the size of transactions. */
enum { FINALIZING_BATCH_MAX = 500 };
MUST_USE enum err finalizing_pass(struct store *store, const struct step_rules *rules, size_t limit,
                                  struct finalizing_result *result, bool *more);

/* Finalizes all videos in its own transactions, after an import was killed. Does nothing if an import is
 * running: that one finalizes them. */
MUST_USE enum err finalizing_complete(const struct store_options *options, const struct step_rules *rules,
                                      struct finalizing_result *result, struct error *error);

#endif
