/* A list for standard output: a table with headings and aligned columns, or with --json an array of objects.
 * The command appends its objects to `json` itself. */
#ifndef VT_CLI_TABLE_H
#define VT_CLI_TABLE_H

#include "base/buf.h"
#include "base/uuid.h"
#include "cli/cli.h"

enum { TABLE_COLUMNS_MAX = 10 };

struct table {
    const char *const *headings; /* NULL-terminated; a heading that begins with "#" aligns its column right */
    struct buf json;             /* used if is_json */
    bool is_json;
    struct buf cells; /* the cells of all rows, each NUL-terminated */
    size_t columns, count, widths[TABLE_COLUMNS_MAX];
};

/* Initializes a table. `headings` must outlive it. */
void table_init(struct table *t, const char *const *headings, bool is_json);
void table_fini(struct table *t);

/* Each function appends a cell, from left to right; a row is complete when each column has one. */
void table_add_text(struct table *t, struct str text); /* escapes control characters */
void table_add_i64(struct table *t, int64_t value);
void table_add_time(struct table *t, int64_t t_ms,
                    const char *if_none); /* for TIME_NONE, appends `if_none` */
void table_add_uuid(struct table *t, const struct uuid *id);
/* Ends a cell whose text the caller has appended to t->cells itself. */
void table_end_cell(struct table *t);

/* Prints the table or the JSON array, and frees the table. A table without rows is printed as its
 * headings. */
enum cli_exit table_print(struct table *t);

#endif
