/* Applies one file of the spool and stores its progress. */
#ifndef VT_REFRESH_SPOOL_IMPORT_H
#define VT_REFRESH_SPOOL_IMPORT_H

#include "base/vec.h"
#include "refresh/run.h"
#include "refresh/spool_dir.h"

/* A report lists at most this many bad lines. */
enum { SPOOL_ERRORS_MAX = 100000 };

struct bad_line {
    int64_t line;
    struct str reason;
};

struct spool_import {
    struct run *run;
    struct spool_file file;         /* file.row 0: the database has no record of it yet */
    int fd;                         /* owned; -1: none */
    bool verified;                  /* after reading all of it, the file was unchanged and had no writer */
    bool changed;                   /* while it was read, or it had a writer: a later run reads it again */
    int64_t stored_errors;          /* bad lines in the database */
    VEC(struct bad_line) bad_lines; /* found, but not stored yet */
    struct arena reasons;           /* of bad_lines */
};

/* `name` must outlive it. */
void spool_import_init(struct spool_import *s, struct run *run, struct str name);
void spool_import_fini(struct spool_import *s);

/* Reads the record of the file from the database, if its identity is that of s->file. The name in s->file is
 * then in the arena. */
MUST_USE enum err spool_import_load(struct spool_import *s, struct arena *a);

/* Applies the open file and sets file.applied_at. Returns OK without that if the file is still being written;
 * that is logged. On other errors run_fail() has been called. */
MUST_USE enum err spool_import_apply(struct spool_import *s);

#endif
