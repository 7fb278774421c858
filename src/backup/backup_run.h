/* One scheduled backup, from acquiring the lease to releasing it:
 *
 *   acquire the lease `backup` -> still due? -> copy and verify -> publish -> delete old backups -> record
 *
 * In a server, the schedule makes the backup on a thread of its own; `viewtally backup now` makes it on its
 * main thread. If a process is killed during a backup, its lease expires, and the next backup deletes the
 * draft that the killed process has left. */
#ifndef VT_BACKUP_BACKUP_RUN_H
#define VT_BACKUP_BACKUP_RUN_H

#include "backup/backup_name.h"
#include "config/config.h"
#include "jobs/slot.h"

#include <stdatomic.h>

struct ticket_lock;

struct backup_options {
    const struct config *config;
    const struct slot_rule *rule;   /* make a backup only if this rule says that it is due; NULL: always */
    struct ticket_lock *write_lock; /* the write lock of this process; NULL if it has no other writer */
    const atomic_bool *stop;        /* when it becomes true, the backup is canceled; may be NULL */
};

struct backup_report {
    bool done; /* a backup was made */
    char file[BACKUP_NAME_MAX];
    int64_t started_at, duration_ms, bytes;
    int64_t pruned;    /* number of old backups that were deleted */
    char warning[512]; /* why old backups could not be deleted; "" if there was no error */
    char why[512];     /* the cause of a failure */
};

/* Returns the rule that determines when scheduled backups are due: once in each period of [backup] every. The
 * periods are shifted by 30 minutes, so that backups do not coincide with the hourly refresh. */
struct slot_rule backup_rule(const struct config *config);

/* Makes a backup in [backup] directory, which must be set. Blocks until done. Returns OK if the backup was
 * made, or if none was due (report->done is false); ERR_BUSY if another process is making a backup, or if the
 * database is locked when it is opened; ERR_TIMEOUT if another process has locked the database for too long;
 * ERR_CANCELED if `stop` became true or the lease was lost. */
MUST_USE enum err backup_run(const struct backup_options *options, struct backup_report *report);

#endif
