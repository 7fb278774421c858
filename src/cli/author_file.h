/* The input of `viewtally author import`: a CSV file with a heading, or NDJSON. */
#ifndef VT_CLI_AUTHOR_FILE_H
#define VT_CLI_AUTHOR_FILE_H

#include "base/arena.h"
#include "base/uuid.h"
#include "base/vec.h"

enum { AUTHOR_FILE_MAX = 64 * 1024 * 1024, AUTHOR_NAME_MAX = 2000 };

struct author_line {
    int64_t line;
    bool has_id, has_plan, plan_active;
    struct uuid id;
    struct str name, login; /* p == NULL: not given; `login` is normalized */
};

struct author_file {
    const char *path; /* "-" is standard input */
    struct arena arena;
    VEC(struct author_line) lines;
    int64_t bad_lines; /* number of bad lines, which are reported on standard error as FILE:LINE: reason */
};

/* Reads and checks the whole file. Reports bad lines, including a line that names the same author as another
 * line. If the file cannot be read or is longer than AUTHOR_FILE_MAX, prints an error and returns the exit
 * status. Call author_file_fini() in any case. */
enum cli_exit author_file_read(struct author_file *f, const char *path);
void author_file_fini(struct author_file *f);

/* Reports a bad line and counts it. */
void author_file_reject(struct author_file *f, int64_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
