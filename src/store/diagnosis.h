/* Errors for an operator about a database that cannot be used: they name the cause and the cure. Each
 * function sets `error` and returns its code. */
#ifndef VT_STORE_DIAGNOSIS_H
#define VT_STORE_DIAGNOSIS_H

#include "base/error.h"

#include <stdint.h>

/* Checks that `path` names an existing regular file, and not what SQLite would take for a URI or a database
 * in memory. ERR_INVALID or ERR_NOT_FOUND. */
MUST_USE enum err diagnose_path(const char *path, struct error *error);

/* Checks that the directory of `path` exists. ERR_NOT_FOUND. */
MUST_USE enum err diagnose_directory(const char *path, struct error *error);

/* What the error code `err` of an operation on the database means. Returns `err`. */
enum err diagnose_failure(enum err err, const char *path, struct error *error);

enum err diagnose_empty(const char *path, struct error *error);                  /* ERR_VERSION */
enum err diagnose_foreign(const char *path, struct error *error);                /* ERR_CORRUPT */
enum err diagnose_newer(const char *path, int64_t version, struct error *error); /* ERR_VERSION */

#endif
