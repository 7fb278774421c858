/* Implements accounts.h with the tables logins, sessions, devices and invitations. */
#include "store/accounts.h"

#include "base/check.h"
#include "base/expiry_floor.h"
#include "store/handle.h"
#include "store/row_read.h"
#include "store/rows.h"

enum { VIEWER_COLUMNS = 6 };

static bool row_viewer(struct sql_statement *q, struct arena *a, struct viewer *out)
{
    *out = (struct viewer){
        .author_row = sql_i64(q, 0),
        .name = row_copy_text(a, sql_text(q, 2)),
        .plan_active = sql_i64(q, 3) != 0,
        .login = row_copy_text(a, sql_text(q, 4)),
        .password = row_copy_text(a, sql_text(q, 5)),
    };
    return sql_bytes(q, 1, out->id.b, sizeof out->id.b);
}

/* ---- finding sign-in names and sessions ---- */

struct viewer_read {
    struct arena *arena;
    struct viewer *out;
};

static bool on_viewer_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct viewer_read *r = ctx;
    if (!row_viewer(q, r->arena, r->out))
        *err = sql_report_damage(s->sql, "author");
    return false;
}

static const struct row_reader viewer_reader = {.row = on_viewer_row, .needs_row = true};

enum err store_get_login(struct store *s, struct arena *a, struct str name, struct viewer *out)
{
    struct viewer_read r = {.arena = a, .out = out};
    struct sql_statement *q = sql_use(s->sql, QUERY_LOGIN_BY_NAME);
    sql_bind_text(q, 1, name);
    return row_read_pass(s, s->sql, q, &viewer_reader, &r);
}

enum err store_get_viewer(struct store *s, struct arena *a, int64_t author_row, struct viewer *out)
{
    struct viewer_read r = {.arena = a, .out = out};
    struct sql_statement *q = sql_use(s->sql, QUERY_LOGIN_BY_AUTHOR);
    sql_bind_i64(q, 1, author_row);
    return row_read_pass(s, s->sql, q, &viewer_reader, &r);
}

enum next store_find_login(struct store_read *read, struct arena *a, struct str name, struct viewer *out)
{
    struct viewer_read r = {.arena = a, .out = out};
    struct sql_statement *q = row_read_use(read, QUERY_LOGIN_BY_NAME);
    sql_bind_text(q, 1, name);
    return row_read_run(read, q, &viewer_reader, &r, sizeof r);
}

enum next store_find_viewer(struct store_read *read, struct arena *a, const struct uuid *id,
                            struct viewer *out)
{
    struct viewer_read r = {.arena = a, .out = out};
    struct sql_statement *q = row_read_use(read, QUERY_LOGIN_BY_UUID);
    sql_bind_uuid(q, 1, id);
    return row_read_run(read, q, &viewer_reader, &r, sizeof r);
}

struct session_read {
    struct arena *arena;
    struct session *out;
};

static bool on_session_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct session_read *r = ctx;
    if (!row_viewer(q, r->arena, &r->out->viewer))
        *err = sql_report_damage(s->sql, "session");
    r->out->created_at = sql_i64(q, VIEWER_COLUMNS);
    r->out->seen_at = sql_i64(q, VIEWER_COLUMNS + 1);
    r->out->expires_at = sql_i64(q, VIEWER_COLUMNS + 2);
    return false;
}

enum next store_find_session(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                             struct session *out)
{
    static const struct row_reader reader = {.row = on_session_row, .needs_row = true};
    struct session_read r = {.arena = a, .out = out};
    struct sql_statement *q = row_read_use(read, QUERY_SESSION);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    return row_read_run(read, q, &reader, &r, sizeof r);
}

static bool on_device_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    int64_t *const *author_row = ctx;
    (void)s;
    (void)err;
    **author_row = sql_i64(q, 0);
    return false;
}

enum next store_find_device(struct store_read *read, const uint8_t hash[SECRET_HASH_LEN], int64_t now,
                            int64_t *author_row)
{
    static const struct row_reader reader = {.row = on_device_row, .needs_row = true};
    struct sql_statement *q = row_read_use(read, QUERY_DEVICE);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    sql_bind_i64(q, 2, now);
    return row_read_run(read, q, &reader, &author_row, sizeof author_row);
}

struct invitation_read {
    struct arena *arena;
    struct invitation *out;
};

static bool on_invitation_row(struct store *s, struct sql_statement *q, void *ctx, enum err *err)
{
    const struct invitation_read *r = ctx;
    if (!row_viewer(q, r->arena, &r->out->viewer))
        *err = sql_report_damage(s->sql, "invitation");
    r->out->login = row_copy_text(r->arena, sql_text(q, VIEWER_COLUMNS));
    r->out->created_at = sql_i64(q, VIEWER_COLUMNS + 1);
    r->out->expires_at = sql_i64(q, VIEWER_COLUMNS + 2);
    r->out->used_at = sql_i64_or(q, VIEWER_COLUMNS + 3, TIME_NONE);
    return false;
}

static const struct row_reader invitation_reader = {.row = on_invitation_row, .needs_row = true};

enum err store_get_invitation(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                              struct invitation *out)
{
    struct invitation_read r = {.arena = a, .out = out};
    struct sql_statement *q = sql_use(s->sql, QUERY_INVITATION);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    return row_read_pass(s, s->sql, q, &invitation_reader, &r);
}

enum next store_find_invitation(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                struct invitation *out)
{
    struct invitation_read r = {.arena = a, .out = out};
    struct sql_statement *q = row_read_use(read, QUERY_INVITATION);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    return row_read_run(read, q, &invitation_reader, &r, sizeof r);
}

/* ---- writing sign-in names and sessions ---- */

enum err store_put_login(struct store *s, int64_t author_row, struct str name, struct str password,
                         int64_t now)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LOGIN_PUT);
    sql_bind_i64(q, 1, author_row);
    sql_bind_text(q, 2, name);
    sql_bind_text(q, 3, password);
    sql_bind_i64_or_null(q, 4, password.p ? now : TIME_NONE, TIME_NONE);
    return sql_write(s->sql, q);
}

enum err store_set_login_name(struct store *s, int64_t author_row, struct str name)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LOGIN_SET_NAME);
    sql_bind_i64(q, 1, author_row);
    sql_bind_text(q, 2, name);
    return sql_write(s->sql, q);
}

enum err store_set_password(struct store *s, int64_t author_row, struct str password, int64_t now)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_LOGIN_SET_PASSWORD);
    sql_bind_i64(q, 1, author_row);
    sql_bind_text(q, 2, password);
    sql_bind_i64_or_null(q, 3, now, TIME_NONE);
    return sql_update(s->sql, q);
}

enum err store_insert_session(struct store *s, const struct new_session *session, const struct actor *by)
{
    const struct audit_note note = {
        .author_row = session->author_row, .at = session->signed_in_at, .action = AUDIT_SIGNED_IN};
    struct sql_statement *q = sql_use(s->sql, QUERY_SESSION_INSERT);
    sql_bind_blob(q, 1, session->hash, sizeof session->hash);
    sql_bind_i64(q, 2, session->author_row);
    sql_bind_i64(q, 3, session->created_at);
    sql_bind_i64(q, 4, session->expires_at);
    enum err err = sql_write(s->sql, q);
    return err ? err : store_insert_audit(s, &note, by);
}

enum err store_touch_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SESSION_TOUCH);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    sql_bind_i64(q, 2, now);
    return sql_write(s->sql, q);
}

enum err store_delete_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN])
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SESSION_DELETE);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    return sql_write(s->sql, q);
}

enum err store_delete_sessions_and_devices(struct store *s, int64_t author_row)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SESSIONS_DELETE_AUTHOR);
    sql_bind_i64(q, 1, author_row);
    enum err err = sql_write(s->sql, q);
    if (err)
        return err;
    q = sql_use(s->sql, QUERY_DEVICES_DELETE_AUTHOR);
    sql_bind_i64(q, 1, author_row);
    return sql_write(s->sql, q);
}

static enum err insert_device(struct store *s, const struct device_record *device)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_DEVICE_INSERT);
    sql_bind_blob(q, 1, device->hash, SECRET_HASH_LEN);
    sql_bind_i64(q, 2, device->author_row);
    sql_bind_i64(q, 3, device->now);
    sql_bind_i64(q, 4, device->expires_at);
    return sql_write(s->sql, q);
}

enum err store_put_device(struct store *s, const struct device_record *device, int max_devices)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_DEVICES_PURGE);
    sql_bind_i64(q, 1, device->expired_before);
    enum err err = sql_write(s->sql, q);
    if (err)
        return err;
    if (device->has_previous) {
        q = sql_use(s->sql, QUERY_DEVICE_DELETE);
        sql_bind_blob(q, 1, device->previous, SECRET_HASH_LEN);
        sql_bind_i64(q, 2, device->author_row);
        err = sql_write(s->sql, q);
        if (err)
            return err;
    }
    err = insert_device(s, device);
    if (err)
        return err;
    q = sql_use(s->sql, QUERY_DEVICES_DELETE_OLDEST);
    sql_bind_i64(q, 1, device->author_row);
    sql_bind_i64(q, 2, max_devices);
    return sql_write(s->sql, q);
}

enum err store_purge_sessions(struct store *s, int64_t now)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_SESSIONS_PURGE);
    sql_bind_i64(q, 1, now);
    return sql_write(s->sql, q);
}

enum err store_delete_invitations_of(struct store *s, int64_t author_row)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_INVITATIONS_DELETE_AUTHOR);
    sql_bind_i64(q, 1, author_row);
    return sql_write(s->sql, q);
}

enum err store_has_invitation(struct store *s, int64_t author_row, int64_t now, bool *has)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_INVITATION_PENDING);
    sql_bind_i64(q, 1, author_row);
    sql_bind_i64(q, 2, now);
    sql_bind_i64(q, 3, now + EXPIRY_JUMP_MS);
    const enum err err = sql_one(s->sql, q);
    *has = !err;
    if (!err)
        sql_reset(q);
    return err == ERR_NOT_FOUND ? OK : err;
}

enum err store_insert_invitation(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t author_row,
                                 struct str login, int64_t now, int64_t expires_at)
{
    enum err err = store_delete_invitations_of(s, author_row);
    if (err)
        return err;
    struct sql_statement *q = sql_use(s->sql, QUERY_INVITATION_INSERT);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    sql_bind_i64(q, 2, author_row);
    sql_bind_text(q, 3, login);
    sql_bind_i64(q, 4, now);
    sql_bind_i64(q, 5, expires_at);
    return sql_write(s->sql, q);
}

enum err store_mark_invitation_used(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now)
{
    struct sql_statement *q = sql_use(s->sql, QUERY_INVITATION_USE);
    sql_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    sql_bind_i64(q, 2, now);
    return sql_update(s->sql, q);
}
