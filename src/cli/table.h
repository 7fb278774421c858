/* A list for standard output: a table with headings and aligned columns, or with --json an array of objects.
 * The command appends its objects to `json` itself. */
#ifndef VT_CLI_TABLE_H
#define VT_CLI_TABLE_H

#include "base/buf.h"
#include "base/uuid.h"
#include "cli/cli.h"

enum { TABLE_COLUMNS_MAX = 10 };

struct table {
    const char *const *headings; /* ended by NULL; "#" in front aligns right */
    struct buf json;             /* with is_json */
    bool is_json;
    struct buf cells; /* of all rows, each ended by a NUL */
    size_t columns, count, widths[TABLE_COLUMNS_MAX];
};

/* `headings` must outlive the table. */
void table_init(struct table *t, const char *const *headings, bool is_json);
void table_fini(struct table *t);

/* The cells of a row, from left to right. */
void table_add_text(struct table *t, struct str text); /* of a user: control characters are escaped */
void table_add_i64(struct table *t, int64_t value);
void table_add_time(struct table *t, int64_t t_ms, const char *if_none); /* `if_none` for TIME_NONE */
void table_add_uuid(struct table *t, const struct uuid *id);
/* A cell of several parts: append to t->cells, then end it. */
void table_end_cell(struct table *t);

/* Prints the table (nothing if it has no rows) or the array, and frees it. */
enum cli_exit table_print(struct table *t);

#endif
