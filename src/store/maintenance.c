/* Maintenance of a whole database file, for commands: verify it, give a copy its own identity, claim it
 * exclusively. */
#include "store/carry.h"
#include "store/diagnosis.h"
#include "store/handle.h"
#include "store/write.h"

enum { MAINTENANCE_TIMEOUT_MS = 10000 };

/* Opens the file, runs `fn`, closes it again. */
static enum err with_database(const char *path, enum err (*fn)(struct db *db), struct error *error)
{
    struct db db;
    enum err err = diagnose_path(path, error);
    if (err)
        return err;
    err = db_open(&db, path);
    if (err)
        return diagnose_failure(err, path, error);
    db_set_busy_timeout(&db, MAINTENANCE_TIMEOUT_MS);
    err = fn(&db);
    db_close(&db);
    return err ? diagnose_failure(err, path, error) : OK;
}

static enum err verify(struct db *db)
{
    bool sound = false;
    enum err err = db_exec_text(db, SQL_INTEGRITY, "ok", &sound);
    if (err)
        return err;
    return sound ? OK : ERR_CORRUPT;
}

enum err store_verify(const char *path, struct error *error)
{
    return with_database(path, verify, error);
}

/* --- a new identity --- */

static enum err raise_last_event_id(struct store *s, int64_t event_floor)
{
    int64_t last;
    enum err err = db_one_i64(&s->db, db_use(&s->db, QUERY_LAST_EVENT_ID), &last);
    if (err)
        return err;
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SET_LAST_EVENT_ID);
    db_bind_i64(q, 1, last > event_floor ? last : event_floor);
    return db_write(&s->db, q);
}

/* Runs in an open transaction. */
static enum err apply_renewal(struct store *s, int64_t event_floor, struct carry_result *carried)
{
    /* Sessions and links in the backup may have been ended since. */
    enum err err = db_exec(&s->db, SQL_DELETE_SIGN_INS);
    if (err)
        return err;
    if (carried && carried->is_readable && (err = carry_apply(&s->db, carried)) != OK)
        return err;
    err = raise_last_event_id(s, event_floor);
    if (err)
        return err;
    err = carry_note_ancestor(&s->db);
    if (err)
        return err;
    err = db_run(&s->db, db_use(&s->db, QUERY_NEW_STORE_ID));
    if (err)
        return err;
    /* The holder of the lease at the time of the backup does not use this database. */
    return db_run(&s->db, db_use(&s->db, QUERY_LEASE_CLEAR));
}

static enum err renew(struct store *s, int64_t event_floor, struct carry_result *carried)
{
    enum err err = store_begin(s);
    if (err)
        return err;
    err = apply_renewal(s, event_floor, carried);
    if (!err)
        return store_commit(s);
    store_rollback(s);
    return err;
}

/* Empties and deletes the write-ahead log. Needs exclusive access to the database. */
static enum err leave_wal(struct db *db)
{
    bool left = false;
    enum err err = db_exec_text(db, SQL_LEAVE_WAL, "delete", &left);
    if (err)
        return err;
    return left ? OK : ERR_BUSY;
}

static enum err renew_open(struct store *s, int64_t event_floor, const char *replaced,
                           struct carry_result *carried)
{
    enum err err = replaced ? carry_read(&s->db, replaced, carried) : OK;
    if (!err)
        err = renew(s, event_floor, replaced ? carried : NULL);
    /* Values of a damaged database may violate constraints of the new database. They must not prevent the
     * restore. */
    if (err && replaced) {
        carry_fail(carried, err);
        err = renew(s, event_floor, NULL);
    }
    return err ? err : leave_wal(&s->db);
}

enum err store_renew(const char *path, int64_t event_floor, const char *replaced,
                     struct carry_result *carried, struct error *error)
{
    struct store *s;
    const struct store_options options = {
        .path = path, .mode = STORE_WRITE, .busy_timeout_ms = MAINTENANCE_TIMEOUT_MS};
    enum err err = store_open(&s, &options, error);
    if (err)
        return err;
    err = renew_open(s, event_floor, replaced, carried);
    store_close(s);
    return err ? diagnose_failure(err, path, error) : OK;
}

/* --- exclusive access --- */

static enum err claim(struct db *db)
{
    db_set_busy_timeout(db, 0);
    db_keep_log(db); /* leave_wal() empties and deletes the log if it can */
    return leave_wal(db);
}

enum err store_claim(const char *path, struct error *error)
{
    enum err err = with_database(path, claim, error);
    if (err == ERR_BUSY)
        error_set(error, err, "the database %s is in use: stop the server first", path);
    return err;
}
