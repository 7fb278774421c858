/* Maintenance of a whole database file, for commands: verify it, give a copy its own identity, claim it
 * exclusively. */
#include "base/plural.h"
#include "base/clock.h"
#include "store/carry.h"
#include "store/sqlite/days_check.h"
#include "store/erase.h"
#include "store/sqlite/diagnosis.h"
#include "store/handle.h"
#include "store/sqlite/sqlite_queries.h"
#include "store/sqlite/sqlite_store.h"
#include "store/write.h"

enum { MAINTENANCE_TIMEOUT_MS = 10000 };

/* Opens the file, calls fn(db, ctx), and closes the file. */
static enum err with_database(const char *path, enum err (*fn)(struct db *db, void *ctx), void *ctx,
                              struct error *error)
{
    struct db db;
    enum err err = diagnose_path(path, error);
    if (err)
        return err;
    err = db_open(&db, path);
    if (err)
        return diagnose_failure(err, path, error);
    db_set_busy_timeout(&db, MAINTENANCE_TIMEOUT_MS);
    err = fn(&db, ctx);
    db_close(&db);
    return err ? diagnose_failure(err, path, error) : OK;
}

static enum err verify(struct db *db, void *ctx)
{
    const struct store_progress *progress = ctx;
    bool sound = false;
    db_set_progress(db, progress);
    db_keep_existing_log(db);
    enum err err = db_exec_text(db, SQL_INTEGRITY, "ok", &sound);
    if (err)
        return err;
    return sound ? OK : ERR_CORRUPT;
}

enum err store_verify(const char *path, const struct store_progress *progress, struct error *error)
{
    struct store_progress copy = progress ? *progress : (struct store_progress){0};
    return with_database(path, verify, progress ? &copy : NULL, error);
}

/* --- numbers that must agree --- */

#define AS_SUM(what, sql) {what, sql},
static const struct {
    const char *what, *sql;
} sums[] = {STORE_SUMS(AS_SUM)};
#undef AS_SUM

/* `bad` is the number of rows that break the rule `failed`. If `failed` is the rule of the packed gains, it
 * is the number of videos. */
struct sum_result {
    const char *failed;
    int64_t bad;
};

static enum err check_sums(struct db *db, void *ctx)
{
    struct sum_result *r = ctx;
    enum err err = OK;
    for (size_t i = 0; i < sizeof sums / sizeof *sums && !err && !r->bad; i++) {
        err = db_exec_i64(db, sums[i].sql, &r->bad);
        r->failed = sums[i].what;
    }
    return err;
}

enum err store_check_sums(const char *path, struct error *error)
{
    struct sum_result result = {.bad = 0};
    enum err err = with_database(path, check_sums, &result, error);
    if (!err && !result.bad) {
        result.failed = "the packed daily gains of a video equal its rows in the table daily";
        err = days_check_count_bad_videos(path, &result.bad, error);
    }
    if (err)
        return err;
    if (result.bad)
        return error_set(error, ERR_CORRUPT,
                         "%s: the numbers do not agree in %lld place%s; this rule is broken: %s", path,
                         (long long)result.bad, plural(result.bad, "", "s"), result.failed);
    return OK;
}

/* Keeps the write-ahead log, because a diagnosis must not change anything. `ctx` points to the text of the
 * PRAGMA to run. */
static enum err diagnose(struct db *db, void *ctx)
{
    const char *const *sql = ctx;
    bool sound = false;
    db_keep_log(db);
    enum err err = db_exec_text(db, *sql, "ok", &sound);
    return err || sound ? err : ERR_CORRUPT;
}

enum err store_diagnose(const char *path, bool full, struct error *error)
{
    const char *sql = full ? SQL_INTEGRITY : SQL_QUICK_CHECK;
    return with_database(path, diagnose, &sql, error);
}

/* --- a new identity --- */

static enum err raise_last_event_id(struct store *s, int64_t event_floor)
{
    int64_t last;
    enum err err = sql_one_i64(s->sql, sql_use(s->sql, QUERY_LAST_EVENT_ID), &last);
    if (err)
        return err;
    struct sql_statement *q = sql_use(s->sql, QUERY_SET_LAST_EVENT_ID);
    sql_bind_i64(q, 1, last > event_floor ? last : event_floor);
    return sql_write(s->sql, q);
}

/* Erases the authors that were erased after the backup was made, because the backup contains them. */
static enum err erase_again(struct store *s, struct carry_result *carried)
{
    int64_t count;
    const enum err err = store_erase_authors_again(s, clock_wall_ms(), &count);
    if (!err && carried)
        carried->counts[CARRY_ERASED] = count;
    return err;
}

/* Makes the changes of store_renew() in the open transaction. */
static enum err apply_renewal(struct store *s, int64_t event_floor, struct carry_result *carried)
{
    /* Sessions, invitations and codes of the backup may have been revoked or used after it was made. */
    enum err err = db_exec(sqlite_db_of(s), SQL_DELETE_SIGN_INS);
    if (err)
        return err;
    const bool carries = carried && carried->is_readable;
    if (carries && (err = carry_apply_tombstones(sqlite_db_of(s))) != OK)
        return err;
    err = erase_again(s, carried);
    if (err)
        return err;
    if (carries && (err = carry_apply(sqlite_db_of(s), carried)) != OK)
        return err;
    err = raise_last_event_id(s, event_floor);
    if (err)
        return err;
    err = carry_record_ancestors(sqlite_db_of(s), carried, clock_wall_ms());
    if (err)
        return err;
    err = sql_run(s->sql, sql_use(s->sql, QUERY_NEW_STORE_ID));
    if (err)
        return err;
    /* The processes that held the leases at the time of the backup do not use this database. */
    err = sql_run(s->sql, sql_use(s->sql, QUERY_LEASE_CLEAR));
    return err ? err : sql_run(s->sql, sql_use(s->sql, QUERY_NAMED_LEASES_CLEAR));
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

/* Values of a damaged database may violate constraints of the new database. Such an error must not prevent
 * the restore, which then carries nothing over. Any other error, such as a full disk, ends the restore:
 * without the carried data, keys that were revoked after the backup would be valid again. */
static bool is_caused_by_values(enum err err)
{
    return err == ERR_INVALID || err == ERR_EXISTS || err == ERR_CORRUPT || err == ERR_INTERNAL;
}

static enum err renew_open(struct store *s, int64_t event_floor, const char *replaced,
                           struct carry_result *carried)
{
    enum err err = store_prepare_erasure(s);
    if (!err && replaced)
        err = carry_read_replaced(sqlite_db_of(s), replaced, carried);
    if (!err)
        err = renew(s, event_floor, replaced ? carried : NULL);
    if (replaced && is_caused_by_values(err)) {
        carry_set_failure(carried, err);
        err = renew(s, event_floor, NULL);
    }
    return err ? err : leave_wal(sqlite_db_of(s));
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

static enum err claim(struct db *db, void *ctx)
{
    (void)ctx;
    db_set_busy_timeout(db, 0);
    db_keep_log(db); /* leave_wal() empties and deletes the log if it can */
    return leave_wal(db);
}

enum err store_claim(const char *path, struct error *error)
{
    enum err err = with_database(path, claim, NULL, error);
    if (err == ERR_BUSY)
        error_set(error, err, "the database %s is in use: stop the server first", path);
    return err;
}
