/* Moves applied files out of the spool: to done/, or with a report to bad/. Then deletes their records. */
#ifndef VT_REFRESH_SPOOL_FINISH_H
#define VT_REFRESH_SPOOL_FINISH_H

#include "refresh/run.h"
#include "refresh/spool_dir.h"

/* Files without bad lines are moved in batches, because syncing the directories and a transaction for each
 * file would take most of the time. */
enum { APPLIED_MAX = 100 };

struct applied_files {
    struct spool_file files[APPLIED_MAX]; /* names belong to the caller until the batch is finished */
    size_t count;
};

/* Moves the batch and empties it. On error run_fail() has been called. */
MUST_USE enum err spool_finish_batch(struct run *run, const struct spool_dir *dir,
                                     struct applied_files *applied);

/* Finishes a file: immediately if the database has `errors` > 0 bad lines of it, else as part of the batch.
 */
MUST_USE enum err spool_finish_file(struct run *run, const struct spool_dir *dir,
                                    const struct spool_file *file, int64_t errors,
                                    struct applied_files *applied);

/* Deletes the record of a file in a transaction. */
MUST_USE enum err spool_forget_file(struct run *run, const struct spool_file *file);

#endif
