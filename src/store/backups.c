/* Implements backups.h with the table backup_state. */
#include "store/backups.h"

#include "store/handle.h"
#include "store/row_read.h"

#include <stdio.h>

static void copy_text(char *out, size_t size, struct str text)
{
    (void)snprintf(out, size, "%.*s", (int)text.len, text.p ? text.p : "");
}

static bool on_state(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    struct backup_state *out = *(struct backup_state **)ctx;
    (void)s;
    (void)err;
    out->started_at = sql_i64_or(q, 0, TIME_NONE);
    out->finished_at = sql_i64_or(q, 1, TIME_NONE);
    out->bytes = sql_i64_or(q, 2, 0);
    copy_text(out->file, sizeof out->file, sql_text(q, 3));
    out->failed_at = sql_i64_or(q, 4, TIME_NONE);
    copy_text(out->error, sizeof out->error, sql_text(q, 5));
    return false;
}

static enum err on_state_end(struct store *s, void *ctx, enum err err)
{
    (void)ctx;
    return err == ERR_NOT_FOUND ? sql_report_damage(s->sql, "backup_state") : err;
}

static const struct row_reader state_reader = {.row = on_state, .end = on_state_end, .needs_row = true};

enum err store_get_backup_state(struct store *s, struct backup_state *out)
{
    return row_read_pass(s, s->sql, sql_use(s->sql, QUERY_BACKUP_STATE), &state_reader, &out);
}

enum next store_find_backup_state(struct store_read *read, struct backup_state *out)
{
    return row_read_run(read, row_read_use(read, QUERY_BACKUP_STATE), &state_reader, &out, sizeof out);
}

enum err store_put_backup_success(struct store *s, const struct backup_state *state)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_BACKUP_SUCCEEDED);
    sql_bind_i64(q, 1, state->started_at);
    sql_bind_i64(q, 2, state->finished_at);
    sql_bind_i64(q, 3, state->bytes);
    sql_bind_text(q, 4, str_from_cstr(state->file));
    return sql_write(s->sql, q);
}

enum err store_put_backup_failure(struct store *s, const struct backup_state *state)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_BACKUP_FAILED);
    sql_bind_i64(q, 1, state->failed_at);
    sql_bind_text(q, 2, str_from_cstr(state->error));
    return sql_write(s->sql, q);
}

enum err store_descends_from(struct store *s, uint32_t id, int64_t *until)
{
    enum { TIME_UNKNOWN = 1 }; /* the value that earlier releases stored instead of the time */
    char hex[16];
    (void)snprintf(hex, sizeof hex, "%08X", id);
    struct sql_statement *q = sql_use(s->sql, QUERY_ANCESTOR);
    sql_bind_text(q, 1, str_from_cstr(hex));
    const enum err err = sql_one_i64(s->sql, q, until);
    if (!err && *until == TIME_UNKNOWN)
        *until = INT64_MAX;
    return err;
}
