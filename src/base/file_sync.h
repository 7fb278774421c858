/* Making files and their names durable: fsync(2). errno says why it failed. */
#ifndef VT_BASE_FILE_SYNC_H
#define VT_BASE_FILE_SYNC_H

#include <stdbool.h>

/* What the file at `path` holds is on disk. */
bool file_sync(const char *path);

/* The name of the file is on disk, or that there is no such file any more: syncs its directory. */
bool file_sync_directory_of(const char *path);

#endif
