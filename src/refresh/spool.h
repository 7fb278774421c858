/* The source `spool` (decision 9): other programs put files in the import format into [refresh] spool_dir by
 * renaming them into it. Each file is applied exactly once, as one import, and then moved to done/, or to
 * bad/ if some of its lines could not be applied: NAME.errors beside it lists them.
 *
 * The state of a file is stored in the transactions that apply it (store/spool_records.h), so the process may
 * be killed at any time:
 *
 *     WAITING --first transaction--> APPLYING --last transaction--> APPLIED --moved, report written-->
 * removed
 *
 * APPLYING continues after the last applied step; APPLIED only moves the file. Inode, size and modification
 * time distinguish a file from another one that replaces it under the same name. */
#ifndef VT_REFRESH_SPOOL_H
#define VT_REFRESH_SPOOL_H

#include "refresh/source.h"

extern const struct source spool_source;

#endif
