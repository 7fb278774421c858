/* Starts scheduled backups in a server when they are due, one at a time, on a thread of its own. Whether a
 * backup is due depends on the last backup that any process has recorded in the database. */
#ifndef VT_BACKUP_BACKUP_SCHEDULE_H
#define VT_BACKUP_BACKUP_SCHEDULE_H

#include "backup/backup_run.h"
#include "store/backups.h"

#include <uv.h>

struct backup_schedule;

/* The state of the schedule, for metrics. Read it only on the loop's thread. Times are in ms. */
struct backup_status {
    bool enabled;              /* [backup] directory is set */
    bool running;              /* this process is making a backup */
    struct backup_state state; /* the newest backup of any process */
    int64_t
        next_at; /* when the next backup is due; in the past if it is overdue; TIME_NONE if not known yet */
    int64_t every_ms;
    uint64_t succeeded, failed; /* backups of this process since it started */
};

/* Opens a schedule. `store` is the loop's STORE_READ connection, `write_lock` the lock of the writer queue.
 * Both must live until the schedule is closed. `completed` is called on the loop after each backup that this
 * process has made. */
struct backup_schedule *backup_schedule_open(uv_loop_t *loop, const struct config *config,
                                             struct store *store, struct ticket_lock *write_lock,
                                             void (*completed)(void *ctx), void *ctx);

/* Cancels the backup if one is in progress; a canceled backup leaves no file. Then frees the schedule and
 * calls `closed` once on the loop, never before this function has returned. */
void backup_schedule_close(struct backup_schedule *s, void (*closed)(void *ctx), void *ctx);

const struct backup_status *backup_schedule_status(const struct backup_schedule *s);

#endif
