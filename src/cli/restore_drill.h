/* viewtally restore --drill: restores a backup to a temporary directory and checks the result. */
#ifndef VT_CLI_RESTORE_DRILL_H
#define VT_CLI_RESTORE_DRILL_H

#include "cli/cli.h"

/* Copies `file` and its companions, without opening the file as a database, then checks and migrates the
 * copy, and prints a report (as JSON if `is_json`). Changes nothing else. `shown` is the name of the file in
 * messages. Returns CLI_PART if the backup cannot be restored. */
enum cli_exit restore_drill(struct cli *cli, const char *file, const char *shown, bool is_json);

#endif
