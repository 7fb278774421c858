/* The lock of a whole database: the file `<database>-lock` beside it.
 *
 * Every process that opens the database holds the lock shared for its lifetime; `restore`, and `move` for the
 * database to which it copies, hold it exclusively. SQLite's own locks are not sufficient: they need a
 * readable database. Also, a process that still has a replaced file open deletes the write-ahead log of the
 * new file when it closes the old one. */
#ifndef VT_STORE_DATABASE_LOCK_H
#define VT_STORE_DATABASE_LOCK_H

#include "base/error.h"
#include "base/file_lock.h"

struct database_lock {
    struct file_lock file; /* fd -1: not held */
};

/* While a process migrates the database, it also holds this lock file exclusively: `<database>-migrate`. */
#define DATABASE_MIGRATE_ENDING "-migrate"

/* Acquires the lock shared. Waits up to 30 seconds for a migration that excludes other processes. Returns
 * ERR_BUSY if a restore or a move is running or the migration takes longer, ERR_NOT_FOUND or ERR_INVALID if
 * there is no database at `path`, and another error if the lock file cannot be opened or locked. With
 * `creates`, the database need not exist, only its directory. */
MUST_USE enum err database_lock_acquire_shared(struct database_lock *l, const char *path, bool creates,
                                               struct error *error);

/* Acquires the lock exclusively, without waiting. Returns ERR_BUSY if another process uses the database. The
 * database need not exist. */
MUST_USE enum err database_lock_acquire_exclusive(struct database_lock *l, const char *path,
                                                  struct error *error);

/* The next three functions are for upgrades (upgrade.h). Precondition of each: the lock file is open. */

/* Makes the shared lock exclusive. Waits a few seconds for commands that are about to end. Returns ERR_BUSY
 * if another process still uses the database. After a failure, the lock is not held. */
MUST_USE enum err database_lock_make_exclusive(struct database_lock *l, const char *path,
                                               struct error *error);

/* Releases the lock, but leaves the lock file open. */
void database_lock_pause(struct database_lock *l);

/* Makes the lock shared again. Returns ERR_BUSY if a restore or a move is running. After a failure, the lock
 * is not held. */
MUST_USE enum err database_lock_make_shared(struct database_lock *l, const char *path, struct error *error);

void database_lock_release(struct database_lock *l); /* does nothing if the lock is not held */

#endif
