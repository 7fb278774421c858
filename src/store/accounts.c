/* Implements accounts.h with the tables logins, sessions, devices and invitations. */
#include "store/accounts.h"

#include "base/check.h"
#include "store/handle.h"
#include "store/rows.h"

enum { VIEWER_COLUMNS = 6 };

static bool row_viewer(struct sqlite3_stmt *q, struct arena *a, struct viewer *out)
{
    *out = (struct viewer){
        .author_row = db_i64(q, 0),
        .name = row_copy(a, db_text(q, 2)),
        .plan_active = db_i64(q, 3) != 0,
        .login = row_copy(a, db_text(q, 4)),
        .password = row_copy(a, db_text(q, 5)),
    };
    return db_bytes(q, 1, out->id.b, sizeof out->id.b);
}

/* ---- finding ---- */

static enum err one_viewer(struct db *db, struct sqlite3_stmt *q, struct arena *a, struct viewer *out)
{
    enum err err = db_one(db, q);
    if (err)
        return err;
    if (!row_viewer(q, a, out))
        err = db_damaged(db, "author");
    db_reset(q);
    return err;
}

enum err store_get_login(struct store *s, struct arena *a, struct str name, struct viewer *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LOGIN_BY_NAME);
    db_bind_text(q, 1, name);
    return one_viewer(&s->db, q, a, out);
}

enum err store_get_viewer(struct store *s, struct arena *a, int64_t author_row, struct viewer *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LOGIN_BY_AUTHOR);
    db_bind_i64(q, 1, author_row);
    return one_viewer(&s->db, q, a, out);
}

enum next store_find_login(struct store_read *read, struct arena *a, struct str name, struct viewer *out)
{
    read->err = store_get_login(read->store, a, name, out);
    return NEXT_MORE;
}

enum next store_find_viewer(struct store_read *read, struct arena *a, const struct uuid *id,
                            struct viewer *out)
{
    struct db *db = &read->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_LOGIN_BY_UUID);
    db_bind_uuid(q, 1, id);
    read->err = one_viewer(db, q, a, out);
    return NEXT_MORE;
}

enum next store_find_session(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                             struct session *out)
{
    struct db *db = &read->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_SESSION);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    read->err = db_one(db, q);
    if (read->err)
        return NEXT_MORE;
    if (!row_viewer(q, a, &out->viewer))
        read->err = db_damaged(db, "session");
    out->created_at = db_i64(q, VIEWER_COLUMNS);
    out->seen_at = db_i64(q, VIEWER_COLUMNS + 1);
    out->expires_at = db_i64(q, VIEWER_COLUMNS + 2);
    db_reset(q);
    return NEXT_MORE;
}

enum next store_find_device(struct store_read *read, const uint8_t hash[SECRET_HASH_LEN], int64_t now,
                            int64_t *author_row)
{
    struct db *db = &read->store->db;
    struct sqlite3_stmt *q = db_use(db, QUERY_DEVICE);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    db_bind_i64(q, 2, now);
    read->err = db_one(db, q);
    if (read->err)
        return NEXT_MORE;
    *author_row = db_i64(q, 0);
    db_reset(q);
    return NEXT_MORE;
}

enum err store_get_invitation(struct store *s, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                              struct invitation *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_INVITATION);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    if (!row_viewer(q, a, &out->viewer))
        err = db_damaged(&s->db, "invitation");
    out->login = row_copy(a, db_text(q, VIEWER_COLUMNS));
    out->expires_at = db_i64(q, VIEWER_COLUMNS + 1);
    out->used_at = db_i64_or(q, VIEWER_COLUMNS + 2, TIME_NONE);
    db_reset(q);
    return err;
}

enum next store_find_invitation(struct store_read *read, struct arena *a, const uint8_t hash[SECRET_HASH_LEN],
                                struct invitation *out)
{
    read->err = store_get_invitation(read->store, a, hash, out);
    return NEXT_MORE;
}

/* ---- writing ---- */

enum err store_put_login(struct store *s, int64_t author_row, struct str name, struct str password,
                         int64_t now)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LOGIN_PUT);
    db_bind_i64(q, 1, author_row);
    db_bind_text(q, 2, name);
    db_bind_text(q, 3, password);
    db_bind_i64_or_null(q, 4, password.p ? now : TIME_NONE, TIME_NONE);
    return db_write(&s->db, q);
}

enum err store_set_login_name(struct store *s, int64_t author_row, struct str name)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LOGIN_SET_NAME);
    db_bind_i64(q, 1, author_row);
    db_bind_text(q, 2, name);
    return db_write(&s->db, q);
}

enum err store_set_password(struct store *s, int64_t author_row, struct str password, int64_t now)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LOGIN_SET_PASSWORD);
    db_bind_i64(q, 1, author_row);
    db_bind_text(q, 2, password);
    db_bind_i64_or_null(q, 3, now, TIME_NONE);
    return db_update(&s->db, q);
}

enum err store_insert_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t author_row,
                              int64_t now, int64_t expires_at)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SESSION_INSERT);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    db_bind_i64(q, 2, author_row);
    db_bind_i64(q, 3, now);
    db_bind_i64(q, 4, expires_at);
    return db_write(&s->db, q);
}

enum err store_touch_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SESSION_TOUCH);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    db_bind_i64(q, 2, now);
    return db_write(&s->db, q);
}

enum err store_delete_session(struct store *s, const uint8_t hash[SECRET_HASH_LEN])
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SESSION_DELETE);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    return db_write(&s->db, q);
}

enum err store_delete_sessions_of(struct store *s, int64_t author_row)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SESSIONS_DELETE_AUTHOR);
    db_bind_i64(q, 1, author_row);
    enum err err = db_write(&s->db, q);
    if (err)
        return err;
    q = db_use(&s->db, QUERY_DEVICES_DELETE_AUTHOR);
    db_bind_i64(q, 1, author_row);
    return db_write(&s->db, q);
}

static enum err insert_device(struct store *s, const struct device_record *device)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_DEVICE_INSERT);
    db_bind_blob(q, 1, device->hash, SECRET_HASH_LEN);
    db_bind_i64(q, 2, device->author_row);
    db_bind_i64(q, 3, device->now);
    db_bind_i64(q, 4, device->expires_at);
    return db_write(&s->db, q);
}

enum err store_put_device(struct store *s, const struct device_record *device, int max_devices)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_DEVICES_PURGE);
    db_bind_i64(q, 1, device->expired_before);
    enum err err = db_write(&s->db, q);
    if (err)
        return err;
    if (device->has_previous) {
        q = db_use(&s->db, QUERY_DEVICE_DELETE);
        db_bind_blob(q, 1, device->previous, SECRET_HASH_LEN);
        db_bind_i64(q, 2, device->author_row);
        err = db_write(&s->db, q);
        if (err)
            return err;
    }
    err = insert_device(s, device);
    if (err)
        return err;
    q = db_use(&s->db, QUERY_DEVICES_DELETE_OLDEST);
    db_bind_i64(q, 1, device->author_row);
    db_bind_i64(q, 2, max_devices);
    return db_write(&s->db, q);
}

enum err store_purge_sessions(struct store *s, int64_t now)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SESSIONS_PURGE);
    db_bind_i64(q, 1, now);
    return db_write(&s->db, q);
}

enum err store_delete_invitations_of(struct store *s, int64_t author_row)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_INVITATIONS_DELETE_AUTHOR);
    db_bind_i64(q, 1, author_row);
    return db_write(&s->db, q);
}

enum err store_insert_invitation(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t author_row,
                                 struct str login, int64_t now, int64_t expires_at)
{
    enum err err = store_delete_invitations_of(s, author_row);
    if (err)
        return err;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_INVITATION_INSERT);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    db_bind_i64(q, 2, author_row);
    db_bind_text(q, 3, login);
    db_bind_i64(q, 4, now);
    db_bind_i64(q, 5, expires_at);
    return db_write(&s->db, q);
}

enum err store_use_invitation(struct store *s, const uint8_t hash[SECRET_HASH_LEN], int64_t now)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_INVITATION_USE);
    db_bind_blob(q, 1, hash, SECRET_HASH_LEN);
    db_bind_i64(q, 2, now);
    return db_update(&s->db, q);
}
