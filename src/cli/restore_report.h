/* The report of `viewtally restore` on revocations. */
#ifndef VT_CLI_RESTORE_REPORT_H
#define VT_CLI_RESTORE_REPORT_H

#include "cli/cli.h"
#include "store/carry.h"
#include "store/replace.h"
#include "store/store.h"

/* Prints how many revocations were carried over from the replaced database. If some could not be carried
 * over, also prints what the operator must do, and lists every live key, active plan, app and platform
 * account of the restored database `store` with its id. Returns CLI_COULD_NOT if the list cannot be read or
 * printed. The restore itself is complete even in that case. */
MUST_USE enum cli_exit restore_report_print(const struct store_options *store,
                                            const struct carry_result *carried);

struct restored {
    struct store_options store; /* how to open the restored database, in STORE_READ mode */
    const char *name, *from;    /* names of the database and of the backup */
    const char *replaced;       /* path of the old database; NULL: none */
    const char *replaced_files[REPLACE_COMPANIONS]; /* paths of the old database's -wal, -shm, -journal */
    int replaced_file_count;
};

/* Prints the result as JSON: {database, restored_from, replaced_database, replaced_files, revocations:
 * {complete, reason, carried_over: {kind: rows}, valid: [{type, …}]}}. Returns CLI_COULD_NOT if the list
 * `valid` is incomplete. */
MUST_USE enum cli_exit restore_report_print_json(const struct restored *restored,
                                                 const struct carry_result *carried);

#endif
