/* What is done with a database as a whole, by commands and never by the server: verifying, and making a copy
 * a database of its own. */
#include "store/carry.h"
#include "store/handle.h"
#include "store/diagnosis.h"
#include "store/write.h"

enum { WHOLE_TIMEOUT_MS = 10000 };

typedef enum err whole_fn(struct db *db, void *ctx);

/* Opens the file, runs fn, closes it again; `*why` tells about any failure. */
static enum err with_database(const char *path, whole_fn *fn, void *ctx, const char **why)
{
    struct db db;
    enum err err = why_bad_path(path, why);
    if (err)
        return err;
    err = db_open(&db, path);
    if (!err) {
        db_set_busy_timeout(&db, WHOLE_TIMEOUT_MS);
        err = fn(&db, ctx);
        db_close(&db);
    }
    if (err)
        *why = why_of(err, path);
    return err;
}

static enum err verify(struct db *db, void *ctx)
{
    bool sound = false;
    (void)ctx;
    enum err err = db_exec_text(db, SQL_INTEGRITY, "ok", &sound);
    return err ? err : sound ? OK : ERR_CORRUPT;
}

enum err store_verify(const char *path, const char **why)
{
    return with_database(path, verify, NULL, why);
}

static enum err read_newest(struct store *s, int64_t *out)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_LAST_EVENT_ID);
    enum err err = db_one(&s->db, q);
    if (err)
        return err;
    *out = db_i64(q, 0);
    db_reset(q);
    return OK;
}

static enum err set_newest(struct store *s, int64_t event_id)
{
    struct sqlite3_stmt *q = db_use(&s->db, QUERY_SET_LAST_EVENT_ID);
    db_bind_i64(q, 1, event_id);
    return db_run(&s->db, q);
}

/* In an open transaction. The process that held the lease when the copy was made does not know this database,
 * and sign-ins and links of that time may have been ended since. */
static enum err renew_here(struct store *s, int64_t event_floor, struct carry_result *carried)
{
    int64_t newest = 0;
    enum err err = db_exec(&s->db, SQL_FORGET_SIGN_INS);
    if (!err && carried && carried->is_readable)
        err = carry_apply(&s->db, carried);
    if (!err)
        err = read_newest(s, &newest);
    if (!err)
        err = set_newest(s, newest > event_floor ? newest : event_floor);
    if (!err)
        err = carry_note_ancestor(&s->db);
    if (!err)
        err = db_run(&s->db, db_use(&s->db, QUERY_NEW_STORE_ID));
    return err ? err : db_run(&s->db, db_use(&s->db, QUERY_LEASE_CLEAR));
}

static enum err renew(struct store *s, int64_t event_floor, struct carry_result *carried)
{
    enum err err = store_begin(s);
    if (!err)
        err = renew_here(s, event_floor, carried);
    if (!err)
        err = store_commit(s);
    if (err)
        store_rollback(s);
    return err;
}

/* Empties and deletes the log. Needs the database for itself. */
static enum err leave_wal(struct db *db)
{
    bool left = false;
    enum err err = db_exec_text(db, SQL_LEAVE_WAL, "delete", &left);
    return err ? err : left ? OK : ERR_BUSY;
}

enum err store_renew(const char *path, int64_t event_floor, const char *replaced,
                     struct carry_result *carried, const char **why)
{
    struct store *s;
    const struct store_options options = {
        .path = path, .mode = STORE_WRITE, .busy_timeout_ms = WHOLE_TIMEOUT_MS};
    enum err err = store_open(&s, &options, why);
    if (err)
        return err;
    if (replaced)
        err = carry_read(&s->db, replaced, carried);
    if (!err)
        err = renew(s, event_floor, replaced ? carried : NULL);
    /* Values of a damaged database may break the rules of the new one; that must not prevent the restore. */
    if (err && replaced) {
        carry_fail(carried, err);
        err = renew(s, event_floor, NULL);
    }
    if (!err)
        err = leave_wal(&s->db);
    store_close(s);
    if (err)
        *why = why_of(err, path);
    return err;
}

static enum err claim(struct db *db, void *ctx)
{
    (void)ctx;
    db_set_busy_timeout(db, 0);
    db_keep_log(db); /* leaving WAL mode empties and deletes it if that is possible */
    return leave_wal(db);
}

enum err store_claim(const char *path, const char **why)
{
    enum err err = with_database(path, claim, NULL, why);
    if (err == ERR_BUSY)
        *why = db_sentence("the database %s is in use: stop the server first", path);
    return err;
}
