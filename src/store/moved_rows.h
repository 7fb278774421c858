/* The tables that `viewtally move` copies, and their rows in a form that is the same on all engines. */
#ifndef VT_STORE_MOVED_ROWS_H
#define VT_STORE_MOVED_ROWS_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/handle.h"

#define MOVED_TABLE_ENUM(X, name, table, key_count, keys, count, types, columns) MOVED_##name,
enum moved_table_id { STORE_MOVED_TABLES(MOVED_TABLE_ENUM, ) MOVED_TABLES };
#undef MOVED_TABLE_ENUM

enum { MOVED_KEYS_MAX = 4, MOVED_COLUMNS_MAX = 22 };

struct moved_table {
    const char *name;
    int key_count, column_count; /* the key columns come first */
    const char *types;           /* a letter for each column: i integer, t text, b blob */
    const char *columns;         /* separated by ", " */
    enum query list, last, put;
};
/* Indexed by enum moved_table_id. */
extern const struct moved_table moved_tables[MOVED_TABLES];

/* Returns true if the only key column is `id`. On PostgreSQL, a sequence issues most of these ids. */
bool moved_table_has_row_ids(const struct moved_table *table);

struct moved_value {
    int64_t i64;      /* the value of an integer */
    struct str bytes; /* the value of a text or a blob */
    bool is_null;
};
struct moved_row {
    struct moved_value values[MOVED_COLUMNS_MAX];
};

/* Iterates over the rows of a table in the order of the primary key, in pages. The store must be in one
 * snapshot, or in a transaction that excludes writers.
 *
 *     moved_rows_begin(&rows, store, table, after);
 *     while (moved_rows_next(&rows, &row, &err))
 *         …
 *     moved_rows_end(&rows); */
struct moved_rows {
    struct store *store;
    const struct moved_table *table;
    struct sql_statement *page;  /* NULL: none is open */
    int64_t page_rows;           /* number of rows of this page that have been read */
    int64_t key[MOVED_KEYS_MAX]; /* key of the row before the page: its integers … */
    struct buf key_bytes;        /* … and its only text or blob */
    struct arena arena;          /* memory of the current row */
    int64_t replaced;            /* number of texts whose invalid bytes were replaced */
};

/* Begins after the row with the key of `after`, or with the first row if `after` is NULL. */
void moved_rows_begin(struct moved_rows *rows, struct store *store, const struct moved_table *table,
                      const struct moved_row *after);
/* Reads the next row; its bytes are valid until the next call. Returns false at the end (`*err` is OK) or
 * after an error.
 *
 * SQLite can contain texts that are not valid UTF-8, such as the name of a file, or that contain a NUL;
 * PostgreSQL cannot. So in texts other than keys, each such byte is replaced as by str_cut_character(). */
MUST_USE bool moved_rows_next(struct moved_rows *rows, struct moved_row *out, enum err *err);
void moved_rows_end(struct moved_rows *rows);

/* Reads the key of the last row in the order of the primary key; its text or blob is copied into the arena.
 * Returns ERR_NOT_FOUND if the table is empty. */
MUST_USE enum err moved_rows_get_last_key(struct store *store, const struct moved_table *table,
                                          struct arena *a, struct moved_row *out);

/* Inserts a row in the open transaction. A later call may return the error of the insertion
 * (sql_write_later()). */
MUST_USE enum err moved_row_put(struct store *store, const struct moved_table *table,
                                const struct moved_row *row);

/* Compares the keys of two rows: negative, 0, or positive. */
int moved_row_compare_keys(const struct moved_table *table, const struct moved_row *a,
                           const struct moved_row *b);

/* Appends the names and values of the key columns, such as "platform = 1, post_id = abc", for messages. */
void moved_row_format_key(const struct moved_table *table, const struct moved_row *row, struct buf *out);

#endif
