/* The tables spool_files and spool_errors. */
#include "store/spool_records.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"

static enum err read_file(struct db *db, struct sqlite3_stmt *q, struct arena *a, struct spool_file *out)
{
    enum err err = db_one(db, q);
    if (err)
        return err;
    *out = (struct spool_file){
        .row = db_i64(q, 0),
        .name = row_copy(a, db_text(q, 1)),
        .identity = {.size = db_i64(q, 2), .inode = db_i64(q, 3), .modified_ns = db_i64(q, 4)},
        .applied_at = db_i64_or(q, 5, TIME_NONE),
        .step_at = db_i64_or(q, 6, TIME_NONE),
    };
    if (out->step_at != TIME_NONE && !db_bytes(q, 7, out->step_author.b, sizeof out->step_author.b))
        err = db_damaged(db, "spool file");
    db_reset(q);
    return err;
}

enum err store_spool_find(struct store *s, struct arena *a, struct str name, struct spool_file *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SPOOL_FIND);
    db_bind_text(q, 1, name);
    return read_file(&s->db, q, a, out);
}

enum err store_spool_next(struct store *s, struct arena *a, struct str after, struct spool_file *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SPOOL_NEXT);
    db_bind_text(q, 1, after);
    return read_file(&s->db, q, a, out);
}

enum err store_spool_insert(struct store *s, struct spool_file *file)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SPOOL_INSERT);
    db_bind_text(q, 1, file->name);
    db_bind_i64(q, 2, file->identity.size);
    db_bind_i64(q, 3, file->identity.inode);
    db_bind_i64(q, 4, file->identity.modified_ns);
    return db_insert(&s->db, q, &file->row);
}

enum err store_spool_save(struct store *s, const struct spool_file *file)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SPOOL_SAVE);
    db_bind_i64(q, 1, file->row);
    db_bind_i64_or_null(q, 2, file->applied_at, TIME_NONE);
    db_bind_i64_or_null(q, 3, file->step_at, TIME_NONE);
    if (file->step_at != TIME_NONE)
        db_bind_uuid(q, 4, &file->step_author);
    else
        db_bind_null(q, 4);
    return db_update(&s->db, q);
}

enum err store_spool_delete(struct store *s, int64_t file_row)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SPOOL_DELETE);
    db_bind_i64(q, 1, file_row);
    return db_write(&s->db, q);
}

enum err store_spool_add_error(struct store *s, int64_t file_row, int64_t line, struct str reason,
                               bool *added)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SPOOL_ERROR_ADD);
    db_bind_i64(q, 1, file_row);
    db_bind_i64(q, 2, line);
    db_bind_text(q, 3, reason);
    return db_write_if(&s->db, q, added);
}

enum err store_spool_count_errors(struct store *s, int64_t file_row, int64_t *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SPOOL_ERROR_COUNT);
    db_bind_i64(q, 1, file_row);
    return db_one_i64(&s->db, q, out);
}

enum err store_spool_list_errors(struct store *s, int64_t file_row, store_spool_error_fn fn, void *ctx)
{
    enum err err = OK;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SPOOL_ERRORS);
    db_bind_i64(q, 1, file_row);
    while (db_row(&s->db, q, &err))
        if (!fn(ctx, db_i64(q, 0), db_text(q, 1))) {
            db_reset(q);
            break;
        }
    return err;
}
