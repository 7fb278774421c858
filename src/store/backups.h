/* The results of scheduled backups, as stored in the database. The rules of write.h apply. */
#ifndef VT_STORE_BACKUPS_H
#define VT_STORE_BACKUPS_H

#include "store/model.h"
#include "store/read.h"
#include "store/store.h"

enum { BACKUP_FILE_MAX = 128, BACKUP_ERROR_MAX = 512 };

/* The newest backup and the newest failure. Times are in ms, or TIME_NONE. */
struct backup_state {
    int64_t started_at, finished_at; /* times of the newest completed backup of any process */
    int64_t bytes;
    char file[BACKUP_FILE_MAX];   /* name of the backup file, without the directory */
    int64_t failed_at;            /* time of the newest failure after that backup */
    char error[BACKUP_ERROR_MAX]; /* "" if none */
};

/* Reads the results of scheduled backups. On error, leaves `*out` unchanged. */
MUST_USE enum err store_get_backup_state(struct store *s, struct backup_state *out);
/* Like store_get_backup_state(), for the event loop (read.h). `*out` must stay valid until the read is
 * complete or canceled. */
enum next store_find_backup_state(struct store_read *read, struct backup_state *out);
/* Stores a completed backup (started_at, finished_at, bytes and file), and clears the failure. */
MUST_USE enum err store_put_backup_success(struct store *s, const struct backup_state *state);
/* Stores a failed backup (failed_at and error). */
MUST_USE enum err store_put_backup_failure(struct store *s, const struct backup_state *state);

/* Returns OK if this database descends from the database whose store_id() begins with these 32 bits, directly
 * or through further restores and moves: a restore has used a backup of that database or has replaced it
 * (carry.h), or `viewtally move` has copied it. Sets `*until` to the time of that restore or move, or to
 * INT64_MAX if it was made by a release that did not record the time. Returns ERR_NOT_FOUND otherwise. */
MUST_USE enum err store_descends_from(struct store *s, uint32_t id, int64_t *until);

#endif
