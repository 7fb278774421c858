/* Finalizing: after an import, each video with a new baseline is compared with the author's other videos to
 * decide whether it is viral. Videos that a crashed import did not finalize are finalized by the next import,
 * by `migrate`, or at the next server start. */
#ifndef VT_IMPORT_FINALIZING_H
#define VT_IMPORT_FINALIZING_H

#include "rules/rule_settings.h"
#include "store/write.h"

struct finalizing_result {
    int64_t videos, went_viral;
};

enum { FINALIZING_BATCH_MAX = 500 };
/* Finalizes at most `limit` videos. Call in a write transaction. Adds the numbers of finalized videos, and of
 * videos that became viral, to `*result`. Sets `*more` to true if videos may be left. The result does not
 * depend on the order of videos or the size of transactions. */
MUST_USE enum err finalizing_apply_batch(struct store *store, const struct step_rules *rules, size_t limit,
                                         struct finalizing_result *result, bool *more);

/* Finalizes all videos left over by a killed import, in its own transactions. Does nothing if an import is
 * running, because that import finalizes them. */
MUST_USE enum err finalizing_run_all(const struct store_options *options, const struct step_rules *rules,
                                     struct finalizing_result *result, struct error *error);

#endif
