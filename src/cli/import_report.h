/* The summary of `viewtally import`, as text or JSON. */
#ifndef VT_CLI_IMPORT_REPORT_H
#define VT_CLI_IMPORT_REPORT_H

#include "cli/cli.h"
#include "import/import.h"

/* Prints the summary to standard output. `files` are the names that were passed to the import. */
enum cli_exit import_report_print(const struct import_summary *summary, const char *const *files,
                                  bool dry_run, bool is_json);

/* Returns true if a line or a reading was rejected. A reading that is older than the last reading of its post
 * is not an error, because importing a file again results in such readings. */
bool import_report_has_errors(const struct import_summary *summary);

#endif
