/* The spool source (decision 9): files in the import format that other programs put into [refresh] spool_dir
 * by renaming them into it. Each is applied as one import, exactly once, and then moved to done/, or to bad/
 * when a line of it could not be applied; NAME.errors beside it says which and why.
 *
 * What is known of a file is written in the same transactions that apply it (store/spool_records.h). So a
 * process may die at any instant:
 *
 *     WAITING --first transaction--> APPLYING --last transaction--> APPLIED --moved, report written--> gone
 *
 * a file that is APPLYING goes on behind its last step, one that is APPLIED is only moved. A file that is
 * replaced by another of its name in between is told from it by inode, size and time. */
#ifndef VT_REFRESH_SPOOL_H
#define VT_REFRESH_SPOOL_H

#include "refresh/source.h"

extern const struct source spool_source;

/* A report lists so many lines at most, and then says that there are more. */
enum { SPOOL_ERRORS_MAX = 100000 };

#endif
