/* Copies and compares the tables in the order of moved_tables, and their rows in the order of their keys. */
#include "store/move_tables.h"

#include "base/seam.h"
#include "store/moved_rows.h"
#include "store/write.h"

#include <stdio.h>

enum { BATCH_ROWS = 4000, ARENA_BYTES = 4096, MESSAGE_MAX = 300 };

enum err move_fail(const struct move *m, const char *name, enum err err)
{
    return m->error->code ? err : error_set(m->error, err, "%s: database error: %s", name, err_name(err));
}

/* Calls the observer, if there is one. Returns ERR_CANCELED if the observer cancels the move. */
static enum err report(const struct move *m, const struct moved_table *table, bool is_comparing, int64_t rows)
{
    const struct move_progress progress = {.table = table->name, .is_comparing = is_comparing, .rows = rows};
    if (!m->options->observer || m->options->observer(m->options->ctx, &progress))
        return OK;
    return error_set(m->error, ERR_CANCELED, "canceled");
}

/* ---- copying tables ---- */

enum err move_begin(const struct move *m)
{
    return m->is_one_transaction ? OK : store_begin(m->to);
}

enum err move_end(const struct move *m, enum err err)
{
    if (m->is_one_transaction) {
        seam_kill_point();
        return err;
    }
    if (!err)
        err = store_commit(m->to);
    if (err)
        store_rollback(m->to);
    seam_kill_point();
    return err;
}

/* Makes sure that `to` will not assign the row ids of the rows of `from`, nor those of its deleted rows that
 * must not be assigned again (SQL_MOVE_LAST_ID). */
static enum err reserve_ids(struct move *m, const struct moved_table *table, struct arena *a)
{
    struct moved_row row;
    int64_t last = 0;
    struct sql_statement *q = sql_use(m->from->sql, QUERY_MOVE_LAST_ID);
    sql_bind_text(q, 1, str_from_cstr(table->name));
    enum err err = sql_one_i64(m->from->sql, q, &last);
    if (!err)
        err = moved_rows_get_last_key(m->from, table, a, &row);
    if (err && err != ERR_NOT_FOUND)
        return move_fail(m, m->from_name, err);
    if (!err && row.values[0].i64 > last)
        last = row.values[0].i64;
    q = sql_use(m->to->sql, QUERY_MOVE_RESERVE_IDS);
    sql_bind_text(q, 1, str_from_cstr(table->name));
    sql_bind_i64(q, 2, last);
    /* On PostgreSQL, the statement returns a row. */
    while (sql_row(m->to->sql, q, &err))
        continue;
    return err;
}

/* Copies at most BATCH_ROWS rows in the open transaction. */
static enum err copy_batch(struct move *m, struct moved_rows *rows, int64_t *copied, bool *is_end)
{
    enum err err = OK;
    for (int i = 0; i < BATCH_ROWS && !err; i++) {
        struct moved_row row;
        *is_end = !moved_rows_next(rows, &row, &err);
        if (*is_end)
            return err ? move_fail(m, m->from_name, err) : OK;
        err = moved_row_put(m->to, rows->table, &row);
        if (!err)
            err = report(m, rows->table, false, ++*copied);
    }
    return err;
}

static enum err copy_rows(struct move *m, struct moved_rows *rows)
{
    int64_t copied = 0;
    bool is_end = false;
    enum err err = OK;
    while (!err && !is_end) {
        err = move_begin(m);
        if (!err)
            err = move_end(m, copy_batch(m, rows, &copied, &is_end));
    }
    m->result->copied += copied;
    return err;
}

static enum err prepare_table(struct move *m, const struct moved_table *table, struct arena *a)
{
    if (!moved_table_has_row_ids(table))
        return OK;
    const enum err err = move_begin(m);
    return err ? err : move_end(m, reserve_ids(m, table, a));
}

/* Finds the key after which an interrupted copy continues. Returns ERR_NOT_FOUND if the table in `to` is
 * empty. If the move is one transaction, the table is empty, because this transaction has deleted its rows.
 * The query for the last row is then skipped, because it would examine every deleted row. */
static enum err find_copied(struct move *m, const struct moved_table *table, struct arena *a,
                            struct moved_row *last)
{
    return m->is_one_transaction ? ERR_NOT_FOUND : moved_rows_get_last_key(m->to, table, a, last);
}

static enum err copy_table(struct move *m, const struct moved_table *table)
{
    struct moved_rows rows;
    struct moved_row last;
    struct arena arena;
    arena_init(&arena, ARENA_BYTES);
    enum err err = prepare_table(m, table, &arena);
    if (!err)
        err = find_copied(m, table, &arena, &last);
    if (!err || err == ERR_NOT_FOUND) {
        moved_rows_begin(&rows, m->from, table, err ? NULL : &last);
        err = copy_rows(m, &rows);
        moved_rows_end(&rows);
    }
    arena_fini(&arena);
    return err;
}

enum err move_copy_tables(struct move *m)
{
    enum err err = OK;
    for (int i = 0; i < MOVED_TABLES && !err; i++)
        err = copy_table(m, &moved_tables[i]);
    return err ? move_fail(m, m->to_name, err) : OK;
}

/* ---- comparing tables ---- */

/* Sets the error for a row that differs, and returns ERR_INVALID. `column` is the index of the column that
 * differs, or -1 if only the store with the name `where` has the row. */
static enum err differ(struct move *m, const struct moved_table *table, const struct moved_row *row,
                       int column, const char *where)
{
    struct buf key;
    struct str columns = str_from_cstr(table->columns), name = STR("");
    buf_init(&key, MESSAGE_MAX);
    moved_row_format_key(table, row, &key);
    for (int i = 0; i <= column; i++)
        columns = str_trim(str_cut(columns, ',', &name));
    if (column < 0)
        (void)error_set(m->error, ERR_INVALID, "the databases differ: only %s has the row of %s with %.*s",
                        where, table->name, (int)key.len, key.p);
    else
        (void)error_set(m->error, ERR_INVALID,
                        "the databases differ: the row of %s with %.*s differs in the column %.*s",
                        table->name, (int)key.len, key.p, (int)name.len, name.p);
    buf_fini(&key);
    m->result->differs = true;
    return ERR_INVALID;
}

static enum err compare_values(struct move *m, const struct moved_table *table, const struct moved_row *from,
                               const struct moved_row *to)
{
    for (int i = 0; i < table->column_count; i++) {
        const struct moved_value *x = &from->values[i], *y = &to->values[i];
        if (x->is_null != y->is_null || x->i64 != y->i64 || !str_eq(x->bytes, y->bytes))
            return differ(m, table, from, i, NULL);
    }
    return OK;
}

static enum err compare_rows(struct move *m, struct moved_rows *from, struct moved_rows *to)
{
    struct moved_row x, y;
    enum err err, to_err;
    for (int64_t n = 1;; n++) {
        const bool has_x = moved_rows_next(from, &x, &err), has_y = moved_rows_next(to, &y, &to_err);
        if (err || to_err)
            return err ? move_fail(m, m->from_name, err) : move_fail(m, m->to_name, to_err);
        if (!has_x && !has_y)
            return OK;
        const int order = !has_x ? 1 : !has_y ? -1 : moved_row_compare_keys(from->table, &x, &y);
        if (order)
            return order < 0 ? differ(m, from->table, &x, -1, m->from_name)
                             : differ(m, from->table, &y, -1, m->to_name);
        err = compare_values(m, from->table, &x, &y);
        if (err)
            return err;
        m->result->compared++;
        err = report(m, from->table, true, n);
        if (err)
            return err;
    }
}

enum err move_compare_tables(struct move *m)
{
    enum err err = OK;
    for (int i = 0; i < MOVED_TABLES && !err; i++) {
        struct moved_rows from_rows, to_rows;
        moved_rows_begin(&from_rows, m->from, &moved_tables[i], NULL);
        moved_rows_begin(&to_rows, m->to, &moved_tables[i], NULL);
        err = compare_rows(m, &from_rows, &to_rows);
        m->result->replaced += from_rows.replaced;
        moved_rows_end(&from_rows);
        moved_rows_end(&to_rows);
    }
    return err;
}
