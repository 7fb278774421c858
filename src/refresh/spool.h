/* The source `spool`. Other programs deliver files in the import format by renaming them into [refresh]
 * spool_dir. Each file is applied exactly once, as one import, and then moved to done/. If some of its lines
 * could not be applied, it is moved to bad/ instead, and the report NAME.errors beside it lists the lines.
 *
 * The state of a file is stored in the transactions that apply it (store/spool_records.h), so the process may
 * be killed at any time:
 *
 *     WAITING  --first transaction-->      APPLYING
 *     APPLYING --last transaction-->       APPLIED
 *     APPLIED  --moved, report written-->  record deleted
 *
 * After a crash, a file in the state APPLYING is continued after its last applied step, and a file in the
 * state APPLIED is only moved. Inode, size and modification time identify a file, because another file may
 * replace it under the same name. */
#ifndef VT_REFRESH_SPOOL_H
#define VT_REFRESH_SPOOL_H

#include "refresh/source.h"

extern const struct source spool_source;

#endif
