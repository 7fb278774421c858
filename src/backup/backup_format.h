/* Recognizes files that cannot be a backup, before SQLite opens them, so that the error message can say what
 * format the file has and what the user can do. */
#ifndef VT_BACKUP_BACKUP_FORMAT_H
#define VT_BACKUP_BACKUP_FORMAT_H

#include "base/error.h"

/* Reads the first bytes of the file `path`. Returns ERR_CORRUPT if the file is empty, compressed, encrypted,
 * incomplete, or not an SQLite database, and another error if the file cannot be read. `shown` is the name of
 * the file in messages. Even if the result is OK, the file may be damaged, or be a database of another
 * program. */
MUST_USE enum err backup_format_check(const char *path, const char *shown, struct error *error);

#endif
