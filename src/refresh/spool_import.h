/* Applies one file of the spool and stores its progress. */
#ifndef VT_REFRESH_SPOOL_IMPORT_H
#define VT_REFRESH_SPOOL_IMPORT_H

#include "base/vec.h"
#include "refresh/run.h"
#include "refresh/spool_dir.h"

/* The maximum number of bad lines in a report. */
enum { SPOOL_ERRORS_MAX = 100000 };

struct bad_line {
    int64_t line;
    struct str reason;
};

struct spool_import {
    struct run *run;
    struct spool_file file; /* file.row is 0 if the database has no record of it yet */
    int fd;                 /* owned; -1 if not open */
    bool verified;          /* the file was unchanged and had no writer after it was read completely */
    bool changed;           /* the file was changed or had a writer; a later run will apply it */
    int64_t stored_errors;  /* number of bad lines of the file that the database contains */
    VEC(struct bad_line) bad_lines; /* found but not stored yet */
    struct arena reasons;           /* for the reasons in bad_lines */
    struct import_summary summary;  /* of the import, once it has ended */
};

/* Initializes an import of the file `name`, which must outlive it. The caller sets `fd` and file.identity. */
void spool_import_init(struct spool_import *s, struct run *run, struct str name);
void spool_import_fini(struct spool_import *s);

/* Loads the record of the file from the database into s->file. Does nothing if there is no record, or if
 * the record is of another file of the same name. The name in s->file is allocated in the arena. On an error,
 * run_fail() has been called. */
MUST_USE enum err spool_import_load(struct spool_import *s, struct arena *a);

/* Applies the open file and sets file.applied_at. If the file is still being written, logs this and returns
 * OK without setting file.applied_at. On an error, run_fail() has been called. */
MUST_USE enum err spool_import_apply(struct spool_import *s);

#endif
