/* Makes files and their names durable with fsync(2). The functions return false with errno set on failure. */
#ifndef VT_BASE_FILE_SYNC_H
#define VT_BASE_FILE_SYNC_H

#include <stdbool.h>

/* Syncs the content of the file. */
bool file_sync(const char *path);

/* Syncs the directory of the file. Call after creating, renaming or deleting the file. */
bool file_sync_directory_of(const char *path);

#endif
