/* The directory of scheduled backups. Files that do not have the name of a backup (backup_name.h) or of its
 * draft are ignored and never deleted. */
#ifndef VT_BACKUP_BACKUP_DIR_H
#define VT_BACKUP_BACKUP_DIR_H

#include "backup/backup_name.h"
#include "backup/retention.h"
#include "base/error.h"
#include "base/vec.h"
#include "store/store.h"

struct backup_entry {
    char name[BACKUP_NAME_MAX];
    int64_t time_ms; /* start time of the backup, taken from the name */
    uint32_t id;     /* id of the database (backup_id_of()), taken from the name */
    int64_t bytes;
};

struct backup_list {
    VEC(struct backup_entry) entries; /* oldest first */
};

/* Lists the backups of all databases in `directory`. Returns ERR_NOT_FOUND if the directory does not exist.
 * Free the list with VEC_FREE(&list->entries), also after an error. */
MUST_USE enum err backup_dir_list(const char *directory, struct backup_list *list, struct error *error);

/* Removes the backups of other databases from the list. The backups of the open database `s` and of its
 * ancestors stay. An ancestor is a database that store_descends_from() finds. Its backups from after
 * the restore or move are removed, too: the ancestor may still be in use, in another installation. */
MUST_USE enum err backup_dir_select_own(struct backup_list *list, struct store *s);

struct backup_pruning {
    const char *directory;
    struct retention rule;
    int64_t now_ms; /* the current time; later backups, made while the clock was wrong, are kept, and `rule`
                       ignores them */
    bool dry_run;   /* delete nothing; `deleted` and the returned number show what would be deleted */
    void (*deleted)(void *ctx, const struct backup_entry *entry); /* called for each deleted file; or NULL */
    void *ctx;
};

/* Deletes the backups of `list` that the rule does not keep. Returns the number of deleted files. If a file
 * cannot be deleted, sets `error` and continues with the next file. */
int64_t backup_dir_prune(const struct backup_pruning *p, const struct backup_list *list, struct error *error);

/* Deletes the drafts that crashed processes have left while they made backups of the database with this id
 * (backup_id_of()). Call only while holding the lease: otherwise a draft may belong to a backup in
 * progress. */
void backup_dir_delete_drafts(const char *directory, uint32_t id);

#endif
