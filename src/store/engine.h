/* The functions that each storage engine implements differently. Only for the files of src/store.
 *
 * An engine has a directory of its own, a struct that begins with `struct store`, an SQL interface (sql.h),
 * and a `struct store_engine`. The files of src/store itself call these functions where engines differ,
 * mostly store.c, write_tx.c, write_videos.c and move.c. */
#ifndef VT_STORE_ENGINE_H
#define VT_STORE_ENGINE_H

#include "base/list.h"
#include "store/handle.h"
#include "store/write.h"

/* Unless a comment says otherwise, a function has the contract of store_NAME(). */
struct store_engine {
    /* Allocates the engine's struct and calls store_init(). After a failure it calls store_close(). */
    enum err (*open)(struct store **out, const struct store_options *options, struct error *error);
    /* Closes the connection, if it is open: it might not be open after open() has failed. store_close() frees
     * the struct. */
    void (*close)(struct store *s);

    /* Transactions of store->sql. On error, begin functions leave no transaction open. If commit() fails and
     * sql_in_transaction() still returns true, the caller calls rollback(). */
    enum err (*begin)(struct store *s);
    enum err (*begin_snapshot)(struct store *s); /* begins a transaction that reads one snapshot */
    enum err (*commit)(struct store *s);
    void (*rollback)(struct store *s);
    /* Returns true if the last transaction has failed because of a deadlock or a serialization failure. NULL:
     * the engine has neither. */
    bool (*has_conflict)(const struct store *s);

    enum err (*read_clock)(struct store *s, int64_t *now_ms); /* see store_read_clock() */
    bool (*has_changed)(struct store *s, uint64_t *seen);
    enum next (*resolve_key)(struct store_read *read, const uint8_t hash[KEY_HASH_LEN],
                             struct key_owner *owner);
    enum next (*find_changes)(struct store_read *read, struct list *waiting, struct list *changed);

    /* See store_get_read_batch(). If read_batch is 1, the next three functions are NULL. */
    int read_batch;
    enum err (*load_videos)(struct store *s, const int64_t *video_rows, size_t needed, size_t count);
    /* Returns a statement that is positioned on the row of the video and is valid until the next call.
     * Returns NULL if the video is not loaded. */
    struct sql_statement *(*take_loaded_video)(struct store *s, int64_t video_row);
    enum err (*find_posts)(struct store *s, const struct post_key *keys, size_t count,
                           struct post_owner *out);

    /* Whether the schema has the table `daily` and the column videos.recent, which the previous release
     * reads. */
    bool has_daily;

    enum err (*prepare_erasure)(struct store *s);

    /* See import_lock.h. close() releases the lock. */
    enum err (*share_import_lock)(struct store *s);
    enum err (*try_import_lock)(struct store *s, bool *acquired);
    void (*release_import_lock)(struct store *s);

    /* The next five functions are NULL if the store is a database file. */

    /* See move_check_replaceable(). */
    enum err (*check_replaceable)(struct store *s, struct error *error);
    /* Returns ERR_BUSY if a viewtally server has used the database since the open transaction began. */
    enum err (*check_not_served)(struct store *s, struct error *error);
    /* Deletes all rows of the tables in moved_tables (moved_rows.h), in the open transaction. New rows get
     * row ids from 1. */
    enum err (*clear)(struct store *s, struct error *error);
    void (*get_server_status)(const struct store *s, struct store_server_status *out);
    enum err (*read_server_load)(struct store *s, struct store_server_load *out);

    /* NULL if the store has no log that this process must checkpoint: store_checkpoint() then does nothing,
     * and store_get_log_state() returns zeros. */
    enum err (*checkpoint)(struct store *s, enum checkpoint_mode mode);
    struct store_log_state (*get_log_state)(struct store *s);
};

extern const struct store_engine store_sqlite_engine, store_pg_engine;

/* Initializes the common members of a zeroed struct. `sql` is the engine's connection. */
void store_init(struct store *s, const struct store_engine *engine, struct sql *sql);

/* Reads the store's id and the expiry floor. The open() of every engine calls this function. */
MUST_USE enum err store_load(struct store *s);

#endif
