/* Finishes applied files of the spool: moves each to done/, or to bad/ with a report, and then deletes its
 * record from the database. */
#ifndef VT_REFRESH_SPOOL_FINISH_H
#define VT_REFRESH_SPOOL_FINISH_H

#include "refresh/run.h"
#include "refresh/spool_dir.h"

/* Files without bad lines are finished in batches, because one fsync of the directory and one transaction per
 * file would take most of the time. */
enum { APPLIED_MAX = 100 };

struct applied_files {
    struct spool_file files[APPLIED_MAX]; /* the names must stay valid until the batch is finished */
    size_t count;
};

/* Finishes all files of the batch. Always empties the batch: after an error, the next run finishes the files
 * that still have a record. On an error, run_fail() has been called. */
MUST_USE enum err spool_finish_batch(struct run *run, const struct spool_dir *dir,
                                     struct applied_files *applied);

/* Finishes a file. `errors` is the number of its bad lines in the database. If it is greater than 0, finishes
 * the file immediately; otherwise adds it to the batch. On an error, run_fail() has been called. */
MUST_USE enum err spool_finish_file(struct run *run, const struct spool_dir *dir,
                                    const struct spool_file *file, int64_t errors,
                                    struct applied_files *applied);

/* Deletes the record of a file, in its own transaction. */
MUST_USE enum err spool_delete_record(struct run *run, const struct spool_file *file);

#endif
