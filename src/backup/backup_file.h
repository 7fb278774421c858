/* Makes a backup file: a verified copy of the database under its final name.
 *
 *   draft: a hidden file beside the target --copied, verified, synced--> renamed to the target
 *
 * After a crash at any point, the target is missing, unchanged or complete. If the process crashes, its draft
 * stays on disk; backup_draft_is_of() recognizes the draft. While a process uses a draft, it holds a lock on
 * the file, which the kernel releases when the process ends. */
#ifndef VT_BACKUP_BACKUP_FILE_H
#define VT_BACKUP_BACKUP_FILE_H

#include "base/file_target.h"
#include "base/str.h"
#include "store/store.h"

struct backup_draft {
    char target[FILE_PATH_MAX];
    char path[FILE_PATH_MAX + 16];
    int fd; /* holds the lock */
};

/* Creates the draft of `target`, which must be resolved (file_target_resolve()), fills it with a copy of the
 * database `from`, verifies it and syncs it to disk. If `target` exists, the draft gets its owner and
 * permissions. On error, no file is left. `progress` may be NULL. */
MUST_USE enum err backup_draft_make(struct backup_draft *d, const struct store_options *from,
                                    const char *target, const struct store_progress *progress,
                                    struct error *error);

/* Renames the draft to the target. If the target exists, replaces it if `replace` is true, and otherwise
 * returns ERR_EXISTS. If the draft cannot be renamed, deletes it. */
MUST_USE enum err backup_draft_publish(const struct backup_draft *d, bool replace, struct error *error);

/* Deletes the draft. */
void backup_draft_discard(const struct backup_draft *d);

/* Deletes the drafts of `target` (resolved) that crashed processes have left. Does not delete the draft of a
 * process that is running. */
void backup_draft_delete_abandoned(const char *target);

/* Returns true if `name` is the file name of a draft, or of a file that SQLite created beside a draft. Sets
 * `*target` to the file name of the draft's target; it points into `name`. */
bool backup_draft_is_of(struct str name, struct str *target);

/* Checks that the file system of the directory of `target` has room for a copy of `database`. Returns
 * ERR_FULL if not; the text of the error then advises to free some space or to do what `advice` says. */
MUST_USE enum err backup_check_space(const char *database, const char *target, const char *advice,
                                     struct error *error);

#endif
