/* Migrates an existing database safely: only one process migrates at a time, no program is running that
 * cannot use the new schema, the disk has enough space, and a backup is made first, depending on the mode. If
 * the process is killed at any step, the database can be used, and the upgrade can be repeated.
 *
 *   plan -> lock <database>-migrate -> plan again -> disk space
 *        -> exclusive lock, unless all migrations are additive
 *        -> backup <database>.schema-N, depending on the mode -> migrations, one transaction each
 *
 * `viewtally migrate` uses UPGRADE_COMMAND or UPGRADE_WITHOUT_BACKUP. The server and all other commands use
 * UPGRADE_AUTOMATIC: they apply migrations that are estimated to be short, and otherwise fail with a message
 * to run `viewtally migrate`. */
#ifndef VT_STORE_UPGRADE_H
#define VT_STORE_UPGRADE_H

#include "store/database_lock.h"
#include "store/sqlite/migration_plan.h"
#include "store/sqlite/migrations.h"
#include "store/replace.h"

enum { UPGRADE_AUTOMATIC_MAX_MS = 10000 };

enum upgrade_mode {
    UPGRADE_AUTOMATIC,      /* fails if the estimate exceeds UPGRADE_AUTOMATIC_MAX_MS. Makes a backup only if
                               a migration is not additive */
    UPGRADE_COMMAND,        /* always makes a backup */
    UPGRADE_WITHOUT_BACKUP, /* never makes a backup */
};

enum upgrade_stage {
    UPGRADE_WAITING,    /* another process migrates the database, and this one waits for it */
    UPGRADE_PLANNED,    /* the plan is known and can be carried out */
    UPGRADE_BACKING_UP, /* the backup is being made; reported every few milliseconds */
    UPGRADE_BACKED_UP,  /* the backup is complete */
    UPGRADE_STARTING,   /* a migration starts */
    UPGRADE_RUNNING,    /* a migration is running; reported every few milliseconds */
    UPGRADE_APPLIED,    /* a migration is committed */
};

struct upgrade_event {
    enum upgrade_stage stage;
    const struct migration_plan *plan;        /* NULL while waiting */
    const struct schema_migration *migration; /* NULL before UPGRADE_STARTING */
    const char *backup;                       /* path of the backup; only set for UPGRADE_BACKED_UP */
    int64_t elapsed_ms;                       /* duration of the backup or the migration so far */
};
typedef void upgrade_observer(void *ctx, const struct upgrade_event *event);

struct upgrade_options {
    enum upgrade_mode mode;
    bool creates;               /* a missing or empty database is created, as by store_create() */
    upgrade_observer *observer; /* may be NULL */
    void *ctx;
};

struct upgrade_result {
    int64_t version; /* schema version of the database before the call; 0: it was missing or empty */
    int applied;     /* number of applied migrations */
    char backup[DATABASE_PATH_MAX + 32]; /* "": none was made */
};

/* Migrates or creates the database `path`, on which this process holds `lock` shared. Blocks; does not wait
 * for other processes if no migration is pending. While the function runs, it may release `lock` or make it
 * exclusive. When it returns, it holds `lock` shared again, unless acquiring the lock again has failed.
 * Returns ERR_VERSION if `viewtally migrate` has to be run; ERR_BUSY if other processes use the database and
 * could not use it after the migration, or if another process does not finish its migration in time; ERR_FULL
 * if the disk has too little space; and the errors of store_migrate(). `result` is valid in any case. */
MUST_USE enum err upgrade_database(struct database_lock *lock, const char *path,
                                   const struct upgrade_options *options, struct upgrade_result *result,
                                   struct error *error);

/* Writes a duration such as "0.3 s", "12 s" or "5 min" to `text`, and returns `text`. */
enum { UPGRADE_TEXT_MAX = 32 };
const char *upgrade_format_ms(int64_t ms, char text[UPGRADE_TEXT_MAX]);
/* Writes a size such as "0.3 MB" or "1.6 GB" to `text`, and returns `text`. */
const char *upgrade_format_bytes(int64_t bytes, char text[UPGRADE_TEXT_MAX]);

#endif
