/* Implements spool_records.h with the tables spool_files and spool_errors. */
#include "store/spool_records.h"

#include "base/check.h"
#include "base/number.h"
#include "store/handle.h"
#include "store/rows.h"

/* --- encoding names of files --- */

/* A file name may have any bytes, but PostgreSQL stores only UTF-8. So a name that is not UTF-8 is stored as
 * `/`, which no file name contains, and the hexadecimal digits of its bytes. */
enum { ENCODED = '/' };

static struct str encode_name(struct arena *a, struct str name)
{
    if (str_is_utf8(name))
        return name;
    char *text = arena_alloc_text(a, 1 + 2 * name.len);
    text[0] = ENCODED;
    hex_format((const uint8_t *)name.p, name.len, text + 1);
    return str_make(text, 1 + 2 * name.len);
}

/* Returns false if `stored` is damaged. */
static bool decode_name(struct arena *a, struct str stored, struct str *out)
{
    *out = arena_copy(a, stored);
    if (!stored.len || stored.p[0] != ENCODED)
        return true;
    const size_t len = (stored.len - 1) / 2;
    char *name = arena_alloc_text(a, len + 1);
    for (size_t i = 0; i < len; i++) {
        const int high = hex_digit(stored.p[1 + 2 * i]), low = hex_digit(stored.p[2 + 2 * i]);
        if (high < 0 || low < 0)
            return false;
        name[i] = (char)(high << 4 | low);
    }
    *out = str_make(name, len);
    return true;
}

/* --- records of files --- */

static enum err read_file(struct sql *sql, struct sql_statement *q, struct arena *a, struct spool_file *out)
{
    enum err err = sql_one(sql, q);
    if (err)
        return err;
    *out = (struct spool_file){
        .row = sql_i64(q, 0),
        .identity = {.size = sql_i64(q, 2), .inode = sql_i64(q, 3), .modified_ns = sql_i64(q, 4)},
        .applied_at = sql_i64_or(q, 5, TIME_NONE),
        .step_at = sql_i64_or(q, 6, TIME_NONE),
    };
    if (!decode_name(a, sql_text(q, 1), &out->name))
        err = sql_report_damage(sql, "spool file");
    if (out->step_at != TIME_NONE && !sql_bytes(q, 7, out->step_author.b, sizeof out->step_author.b))
        err = sql_report_damage(sql, "spool file");
    sql_reset(q);
    return err;
}

enum err store_spool_find(struct store *s, struct arena *a, struct str name, struct spool_file *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SPOOL_FIND);
    sql_bind_text(q, 1, encode_name(a, name));
    return read_file(s->sql, q, a, out);
}

enum err store_spool_next(struct store *s, struct arena *a, int64_t after, struct spool_file *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SPOOL_NEXT);
    sql_bind_i64(q, 1, after);
    return read_file(s->sql, q, a, out);
}

enum err store_spool_insert(struct store *s, struct arena *a, struct spool_file *file)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SPOOL_INSERT);
    sql_bind_text(q, 1, encode_name(a, file->name));
    sql_bind_i64(q, 2, file->identity.size);
    sql_bind_i64(q, 3, file->identity.inode);
    sql_bind_i64(q, 4, file->identity.modified_ns);
    return sql_insert(s->sql, q, &file->row);
}

enum err store_spool_save(struct store *s, const struct spool_file *file)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SPOOL_SAVE);
    sql_bind_i64(q, 1, file->row);
    sql_bind_i64_or_null(q, 2, file->applied_at, TIME_NONE);
    sql_bind_i64_or_null(q, 3, file->step_at, TIME_NONE);
    if (file->step_at != TIME_NONE)
        sql_bind_uuid(q, 4, &file->step_author);
    else
        sql_bind_null(q, 4);
    return sql_update(s->sql, q);
}

enum err store_spool_delete(struct store *s, int64_t file_row)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SPOOL_DELETE);
    sql_bind_i64(q, 1, file_row);
    return sql_write(s->sql, q);
}

enum err store_spool_add_error(struct store *s, int64_t file_row, int64_t line, struct str reason,
                               bool *added)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SPOOL_ERROR_ADD);
    sql_bind_i64(q, 1, file_row);
    sql_bind_i64(q, 2, line);
    sql_bind_text(q, 3, reason);
    return sql_write_if(s->sql, q, added);
}

enum err store_spool_count_errors(struct store *s, int64_t file_row, int64_t *out)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SPOOL_ERROR_COUNT);
    sql_bind_i64(q, 1, file_row);
    return sql_one_i64(s->sql, q, out);
}

enum err store_spool_list_errors(struct store *s, int64_t file_row, store_spool_error_fn fn, void *ctx)
{
    enum err err = OK;
    struct sql_statement *q = sql_use(s->sql, QUERY_SPOOL_ERRORS);
    sql_bind_i64(q, 1, file_row);
    while (sql_row(s->sql, q, &err))
        if (!fn(ctx, sql_i64(q, 0), sql_text(q, 1))) {
            sql_reset(q);
            break;
        }
    return err;
}
