/* Estimates the cost of migrating a database. */
#include "store/sqlite/migration_plan.h"

#include "store/sqlite/days_fill.h"
#include "store/sqlite/db.h"
#include "store/sqlite/diagnosis.h"
#include "store/replace.h"
#include "store/sqlite/sqlite_queries.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define MILLION   INT64_C(1000000)
#define MEGABYTE  INT64_C(1000000)
#define MARGIN_MB INT64_C(16) /* space for the log of other writers and for temporary files */

enum {
    TIMEOUT_MS = 10000,
    CONSTANT_MS = 20,            /* the part of the duration that every migration has: two syncs */
    BACKUP_MS_PER_100_MB = 1500, /* copying and verifying; docs/upgrading.md has measured values */
};

static enum err measure_disk(const char *path, struct migration_plan *plan, struct error *error)
{
    char resolved[DATABASE_PATH_MAX], directory[DATABASE_PATH_MAX];
    struct statvfs disk;
    if (!file_resolve_path(path, resolved))
        return error_set(error, ERR_IO, "the database %s: %s", path, strerror(errno));
    plan->database_bytes = database_file_size(resolved, "") + database_file_size(resolved, "-wal");
    (void)snprintf(directory, sizeof directory, "%s", resolved);
    if (statvfs(dirname(directory), &disk) != 0)
        return error_set(error, ERR_IO, "cannot read the free space on the disk of %s: %s", path,
                         strerror(errno));
    plan->free_bytes = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
    return OK;
}

static enum err read_schema(struct db *db, const char *path, bool creates, struct migration_plan *plan,
                            struct error *error)
{
    struct schema_identity identity;
    enum err err = schema_check(db, path, creates, &identity, error);
    if (err)
        return err;
    plan->version = identity.version;
    if (identity.version == 0 || identity.version > schema_migration_count)
        return OK;
    err = days_fill_is_pending(db, &plan->fills_days);
    if (!err && (plan->fills_days || identity.version < schema_migration_count))
        err = db_exec_i64(db, SQL_COUNT_VIDEOS, &plan->videos);
    return err ? diagnose_failure(err, path, error) : OK;
}

bool migration_plan_includes(const struct migration_plan *plan, const struct schema_migration *m)
{
    return m->version > plan->version || (m->version == DAYS_MIGRATION && plan->fills_days);
}

/* Computes in double and limits the result, because the number of videos in a damaged database may be any
 * 64-bit number. The sum of all estimates stays within 64 bits. */
static int64_t multiply(int64_t per_million_videos, int64_t videos)
{
    const int64_t limit = INT64_MAX / 1024;
    const double product = (double)per_million_videos * ((double)videos / (double)MILLION);
    return product <= 0 ? 0 : product < (double)limit ? (int64_t)product : limit;
}

int64_t migration_plan_ms_of(const struct migration_plan *plan, const struct schema_migration *m)
{
    return multiply(m->ms_per_million_videos, plan->videos);
}

static void estimate(struct migration_plan *plan)
{
    int64_t mb = 0;
    plan->is_additive = true;
    for (int i = 0; i < schema_migration_count; i++) {
        const struct schema_migration *m = &schema_migrations[i];
        if (!migration_plan_includes(plan, m))
            continue;
        plan->pending++;
        plan->is_additive = plan->is_additive && m->is_additive;
        plan->migrations_ms += CONSTANT_MS + migration_plan_ms_of(plan, m);
        mb += m->mb_per_million_videos;
    }
    plan->backup_ms = CONSTANT_MS + plan->database_bytes / (100 * MEGABYTE / BACKUP_MS_PER_100_MB);
    /* A migration writes each page twice: to the log, and from there to the database. */
    plan->migrations_bytes = MARGIN_MB * MEGABYTE + multiply(2 * mb * MEGABYTE, plan->videos);
}

static enum err inspect(const char *path, bool creates, struct migration_plan *plan, struct error *error)
{
    struct db db;
    enum err err = db_open(&db, path);
    if (err)
        return diagnose_failure(err, path, error);
    db_set_busy_timeout(&db, TIMEOUT_MS);
    err = read_schema(&db, path, creates, plan, error);
    db_close(&db);
    return err ? err : measure_disk(path, plan, error);
}

enum err migration_plan_read(const char *path, bool creates, struct migration_plan *out, struct error *error)
{
    *out = (struct migration_plan){0};
    enum err err = diagnose_path(path, error);
    /* If the file is missing because a restore was interrupted, store_create() fails, so this function must
     * fail, too. */
    const bool is_missing = err == ERR_NOT_FOUND && creates && !database_replace_was_interrupted(path) &&
                            !diagnose_directory(path, error);
    if (err && !is_missing)
        return err;
    err = is_missing ? OK : inspect(path, creates, out, error);
    if (!err)
        estimate(out);
    return err;
}

int64_t migration_plan_ms(const struct migration_plan *plan, bool backs_up)
{
    return plan->migrations_ms + (backs_up ? plan->backup_ms : 0);
}

int64_t migration_plan_bytes(const struct migration_plan *plan, bool backs_up)
{
    return plan->migrations_bytes + (backs_up ? plan->database_bytes : 0);
}
