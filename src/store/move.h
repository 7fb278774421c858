/* Copies a store into another one, which may have another engine, and compares stores.
 *
 * While a store is copied, other processes can read but not write it. The copy is made in transactions of
 * some thousand rows. Until it is complete and has been compared with the original, store_open() rejects it.
 * If the copy is interrupted, the next call continues it. */
#ifndef VT_STORE_MOVE_H
#define VT_STORE_MOVE_H

#include "base/error.h"
#include "store/store.h"

struct move_progress {
    const char *table;
    bool is_comparing; /* false: copying */
    int64_t rows;      /* rows of this table that were copied or compared so far */
};
/* Called many times a second. Returns false to cancel the move, which then returns ERR_CANCELED. */
typedef bool move_observer(void *ctx, const struct move_progress *progress);

struct move_options {
    struct store_options from, to; /* both in STORE_WRITE mode */
    bool from_snapshot; /* copies one snapshot of `from`, while other processes can write; `from` may be in
                           STORE_READ mode. If the copy is interrupted, it cannot be continued */
    bool keeps_id;      /* the copy gets the store_id() of `from`, as with store_copy() */
    move_observer *observer; /* may be NULL */
    void *ctx;
    /* Creates `to` unless it exists. Called after `from` has been opened, so that a `from` that cannot be
     * used leaves no empty store. NULL: `to` exists. */
    enum err (*create)(const struct store_options *to, struct error *error);
};

struct move_result {
    int64_t copied;   /* rows that this call has copied */
    int64_t compared; /* rows that are equal in both stores */
    int64_t replaced; /* texts of `from` that are not valid UTF-8 or contain a NUL; the comparison ignores
                         which bytes were invalid (moved_rows_next()) */
    bool resumed;     /* the call has continued an interrupted one, whose rows are not included in `copied` */
    bool differs;     /* the call has failed because the stores differ */
};

/* Copies all data of `from` into `to`, which must be empty, and compares the stores. Unless `keeps_id` is
 * set, the copy has a store_id() of its own. Later event ids of the copy are greater than all event ids of
 * `from`. Returns
 *   ERR_EXISTS   `to` contains data that is not a part of this copy
 *   ERR_INVALID  both stores have the same store_id(), or they differ after the copy, for example because
 *                `from` has changed since an earlier copy was interrupted
 *   ERR_BUSY     another process is writing to `from` */
MUST_USE enum err move_store(const struct move_options *options, struct move_result *result,
                             struct error *error);

/* Copies one snapshot of the database server `from` into the existing empty file `to`, for a backup. The copy
 * has the same store_id() and is a single file without a write-ahead log. It is compared with the snapshot,
 * verified as by store_verify(), and synced to disk. Other processes can write while the copy is made.
 * `progress` may be NULL. */
MUST_USE enum err move_back_up(const struct store_options *from, const char *to,
                               const struct store_progress *progress, struct error *error);

/* Checks whether move_replace() is possible and safe. Returns ERR_READONLY if the role does not own the
 * tables, and ERR_BUSY if another viewtally process uses the database on the server `to`. Waits up to six
 * seconds, because a process that has just ended still seems to use the database. */
MUST_USE enum err move_check_replaceable(const struct store_options *to, struct error *error);

struct move_replacement {
    struct store_options to; /* on a server, in STORE_WRITE mode; may be an incomplete copy */
    const char *from;        /* a database file, which fill() may create */
    /* Called before `from` is opened, while other processes can read but not write `to`. */
    enum err (*fill)(void *ctx, struct error *error);
    void *ctx;
    bool ignores_servers; /* do not fail with ERR_BUSY if a viewtally server was started during the
                             replacement */
};

/* Replaces all data of the server `to` with the data and the store_id() of `from`, and compares the two
 * stores. This is one transaction: after a crash at any point, `to` has all of its old or all of its new
 * data. Sets `*committing` to true before the commit. If the function fails after that, it is unknown whether
 * `to` has the old or the new data. */
MUST_USE enum err move_replace(const struct move_replacement *replacement, bool *committing,
                               struct error *error);

/* Returns ERR_VERSION if the store is a copy that is not complete. `name` is the name of the store for the
 * error message. */
MUST_USE enum err move_check_complete(struct store *s, const char *name, struct error *error);

/* Compares the stores, each in one snapshot. Returns ERR_INVALID if they differ, or if both have the same
 * path or URL. The error names the first row that differs. */
MUST_USE enum err move_verify(const struct move_options *options, struct move_result *result,
                              struct error *error);

#endif
