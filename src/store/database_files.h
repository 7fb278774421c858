/* The files of an SQLite database: the database itself and the files beside it, which SQLite and viewtally
 * name after it.
 *
 *   -wal, -shm, -journal   SQLite's write-ahead log, its index, and the rollback journal
 *   -lock, -migrate        database_lock.h
 *   -import                import_lock.h
 *   -key-lock              vault/key_credential.h
 *
 * If the path is a symbolic link, SQLite puts its files beside the database to which the link leads. All
 * other files are in the same place, so that every path of a database leads to the same locks. */
#ifndef VT_STORE_DATABASE_FILES_H
#define VT_STORE_DATABASE_FILES_H

#include "base/file_target.h"

#include <stdbool.h>
#include <stdint.h>

enum { DATABASE_FILES = 8, DATABASE_PATH_MAX = FILE_PATH_MAX, DATABASE_FILE_PATH_MAX = FILE_PATH_MAX + 16 };

/* The endings of the files. The first one is that of the database: "". */
extern const char *const database_file_endings[DATABASE_FILES];

/* Writes the path of the file with this ending. Neither this file nor the database needs to exist, only their
 * directory. Returns false with errno set on failure. */
bool database_file_path(char out[DATABASE_FILE_PATH_MAX], const char *database, const char *ending);

/* Returns the directory of these files. The result points into `out`. If the path cannot be resolved, for
 * example because the directory does not exist, returns the directory part of the path. */
const char *database_directory(char out[DATABASE_FILE_PATH_MAX], const char *database);

/* Returns the size of the file with this ending in bytes. Returns 0 if there is no such file. */
int64_t database_file_size(const char *database, const char *ending);

#endif
