/* Runs the transaction of a command that deletes data, then empties the write-ahead log. */
#include "cli/erasing.h"

#include "cli/output.h"
#include "base/seam.h"
#include "jobs/lease.h"
#include "store/erase.h"
#include "store/import_lock.h"

enum { ARENA_BYTES = 4096 };

/* Acquires the import lock, so that no import runs. An import stores row ids of videos while it runs, like a
 * refresh run (see check_no_refresh()). Returns false after printing an error. */
static bool lock_imports(struct store *store)
{
    bool acquired;
    if (import_lock_share(store) || import_lock_try_exclusive(store, &acquired))
        (void)cli_fail(CLI_COULD_NOT, "nothing was changed: the import lock cannot be acquired");
    else if (!acquired)
        (void)cli_fail(CLI_COULD_NOT,
                       "nothing was changed: an import is running; repeat the command when it has ended");
    else
        return true;
    return false;
}

/* Prints an error and returns ERR_CANCELED if a refresh run is active. A run queues readings by the row ids
 * of videos. If a video is removed and a new video gets its row id, the queued reading of the removed video
 * would be applied to the new video. */
static enum err check_no_refresh(struct store *store)
{
    struct lease_row lease;
    bool held;
    const enum err err = lease_read(store, LEASE_REFRESH, &lease, &held);
    if (err || !held)
        return err;
    (void)cli_fail(CLI_COULD_NOT, "nothing was changed: a refresh is running; repeat the command when it has "
                                  "ended (see viewtally status)");
    return ERR_CANCELED;
}

static enum err run_transaction(struct store *store, bool dry_run, cli_work *work, void *ctx)
{
    struct arena arena;
    enum err err = store_prepare_erasure(store);
    if (!err)
        err = store_begin(store);
    if (err)
        return err;
    arena_init(&arena, ARENA_BYTES);
    if (!dry_run)
        err = check_no_refresh(store);
    if (!err)
        err = work(store, &arena, ctx);
    arena_fini(&arena);
    if (!err && !dry_run)
        return store_commit(store);
    store_rollback(store);
    return err;
}

/* Empties the write-ahead log. Prints a note if this fails, for example because a transaction of the server
 * uses the log. */
static void empty_log(struct store *store)
{
    const enum err err = store_checkpoint(store, CHECKPOINT_TRUNCATE);
    if (err == ERR_BUSY)
        cli_note("the write-ahead log is in use, so it still contains deleted data until the server "
                 "overwrites it; to empty it now, stop the server and run viewtally migrate");
    else if (err)
        cli_note("the write-ahead log cannot be emptied (%s), so it still contains deleted data; after you "
                 "have removed the cause, stop the server and run viewtally migrate",
                 err_name(err));
}

enum err cli_erasing_transaction(struct cli *cli, bool dry_run, cli_work *work, void *ctx)
{
    struct store *store = cli_open_store(cli);
    if (!store)
        return ERR_IO;
    if (!lock_imports(store)) {
        store_close(store);
        return ERR_CANCELED;
    }
    const enum err err = run_transaction(store, dry_run, work, ctx);
    seam_kill_point();
    if (!err && !dry_run)
        empty_log(store);
    seam_kill_point();
    store_close(store);
    if (err && err != ERR_NOT_FOUND && err != ERR_EXISTS && err != ERR_INVALID && err != ERR_CANCELED)
        cli_fail_transaction(err);
    return err;
}
