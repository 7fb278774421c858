/* What `viewtally restore` prints about revocations. */
#ifndef VT_CLI_RESTORE_REPORT_H
#define VT_CLI_RESTORE_REPORT_H

#include "cli/cli.h"
#include "store/carry.h"

/* Prints what was carried over from the replaced database. If that is not complete, also every key, plan, app
 * and platform account that the restored database `path` has as live, with its id, and what to do.
 * CLI_COULD_NOT if that cannot be read or printed; the restore itself is done then. */
MUST_USE enum cli_exit restore_report(const char *path, const struct carry_result *carried);

#endif
