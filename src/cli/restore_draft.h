/* The draft of a restore: a database file of this binary's schema, made from a backup. */
#ifndef VT_CLI_RESTORE_DRAFT_H
#define VT_CLI_RESTORE_DRAFT_H

#include "base/error.h"

/* Copies the backup `file` into the existing empty file `draft`, verifies and migrates the copy. `shown` is
 * the name of the backup in errors. ERR_FULL refers to the disk of the draft, so its text names the draft. */
MUST_USE enum err restore_draft_fill(const char *file, const char *shown, const char *draft,
                                     struct error *error);

#endif
