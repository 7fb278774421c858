/* Sentences for the operator about a database that cannot be used. In the buffer of db_sentence(). */
#ifndef VT_STORE_DIAGNOSIS_H
#define VT_STORE_DIAGNOSIS_H

#include "base/error.h"

#include <stdint.h>

/* Refuses a path that SQLite would take for something else than a file, or where no file is. */
MUST_USE enum err why_bad_path(const char *path, const char **why);

/* The directory of that path is missing. */
MUST_USE enum err why_bad_directory(const char *path, const char **why);

/* What the error means for that file. */
const char *why_of(enum err err, const char *path);
/* replace_was_interrupted(). */
const char *why_interrupted_restore(const char *path);
/* The file exists and holds no bytes of a database. */
const char *why_empty(const char *path);
const char *why_foreign(const char *path);
const char *why_newer(const char *path, int64_t version);

#endif
