/* The report of `viewtally restore` on revocations. */
#ifndef VT_CLI_RESTORE_REPORT_H
#define VT_CLI_RESTORE_REPORT_H

#include "cli/cli.h"
#include "store/carry.h"

/* Prints how many revocations were carried over from the replaced database. If they are incomplete, also
 * lists every live key, active plan, app and platform account of the restored database `path` with its id,
 * and what to do. Returns CLI_COULD_NOT if the list cannot be read or printed. The restore itself is complete
 * even in that case. */
MUST_USE enum cli_exit restore_report(const char *path, const struct carry_result *carried);

/* Appends the same as a JSON member "revocations" of an open object: {complete, reason, carried_over: {kind:
 * rows}, valid: [{type, …}]}. Returns CLI_COULD_NOT if the list is incomplete. */
MUST_USE enum cli_exit restore_report_append_json(struct buf *b, const char *path,
                                                  const struct carry_result *carried);

#endif
