/* Explains to an operator why a database cannot be used. If a function returns an error, it has set `error`
 * to a text with the cause and, unless it is obvious, the fix. */
#ifndef VT_STORE_DIAGNOSIS_H
#define VT_STORE_DIAGNOSIS_H

#include "base/error.h"

#include <stdint.h>

/* Checks that `path` names an existing regular file, and is not a path that SQLite would read as a database
 * in memory or as a temporary one. Returns ERR_INVALID or ERR_NOT_FOUND if not. */
MUST_USE enum err diagnose_path(const char *path, struct error *error);

/* Checks that the directory of `path` exists. Returns ERR_NOT_FOUND if not. */
MUST_USE enum err diagnose_directory(const char *path, struct error *error);

/* Explains the error `err` of an operation on the database `path`. Returns `err`. */
enum err diagnose_failure(enum err err, const char *path, struct error *error);

/* Explain that `path` is an empty file (ERR_VERSION), a file of another program (ERR_CORRUPT), or a database
 * of a newer version of viewtally that this binary cannot use (ERR_VERSION). */
struct schema_identity;
enum err diagnose_empty(const char *path, struct error *error);
enum err diagnose_foreign(const char *path, struct error *error);
enum err diagnose_newer(const char *path, const struct schema_identity *identity, struct error *error);

#endif
