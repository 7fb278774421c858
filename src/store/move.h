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
    int64_t rows;      /* of this table so far */
};
/* Called many times a second. Returns false to cancel the move, which then returns ERR_CANCELED. */
typedef bool move_observer(void *ctx, const struct move_progress *progress);

struct move_options {
    struct store_options from, to; /* both in STORE_WRITE mode */
    bool from_snapshot;            /* other processes can write; `from` may be in STORE_READ mode. Such a copy
                                      cannot be continued */
    bool keeps_id;                 /* the copy gets the store_id() of `from`, as that of a file gets it */
    move_observer *observer;       /* may be NULL */
    void *ctx;
};

struct move_result {
    int64_t copied;   /* rows that this call has copied */
    int64_t compared; /* rows of either store */
    bool resumed;     /* an earlier, interrupted call had copied the others */
};

/* Copies all data of `from` into `to`, which must be empty, and compares the stores. The copy has another
 * store_id(), unless `keeps_id`, and issues event ids that are greater than those of `from`. Returns
 * ERR_EXISTS if `to` contains data that is not a part of this copy; ERR_INVALID if the stores differ, for
 * example because `from` has changed since the copy was interrupted; ERR_BUSY if another process writes in
 * `from`. */
MUST_USE enum err move_store(const struct move_options *options, struct move_result *result,
                             struct error *error);

/* Copies one snapshot of the database server `from` into the existing empty file `to`, for a backup: the copy
 * has the same store_id(), is compared with the snapshot, is a single file without a write-ahead log, is
 * verified like with store_verify(), and is synced to disk. Other processes can write while it is made.
 * `progress` may be NULL. */
MUST_USE enum err move_back_up(const struct store_options *from, const char *to,
                               const struct store_progress *progress, struct error *error);

/* Checks whether move_replace() is possible and safe. Returns ERR_READONLY if the role does not own the
 * tables, and ERR_BUSY if another viewtally process uses the database on the server `to`. Waits a few seconds
 * for a process that has just ended. */
MUST_USE enum err move_check_replaceable(const struct store_options *to, struct error *error);

struct move_replacement {
    struct store_options to; /* on a server, in STORE_WRITE mode; may be an incomplete copy */
    const char *from;        /* a database file, which fill() may create */
    /* Called before `from` is opened, while other processes can read but not write `to`. */
    enum err (*fill)(void *ctx, struct error *error);
    void *ctx;
    bool ignores_servers; /* do not fail with ERR_BUSY if a server was started after the check */
};

/* Replaces all data of the server `to` by those of `from`, with its store_id(), and compares them. This is
 * one transaction: after a crash at any point, `to` has all of its old or all of its new data. Sets
 * `*committing` if it fails after it has begun to commit: then it is unknown which of both `to` has. */
MUST_USE enum err move_replace(const struct move_replacement *replacement, bool *committing,
                               struct error *error);

/* Returns ERR_VERSION if the store is a copy that is not complete. `name` names it in the error. */
MUST_USE enum err move_check_complete(struct store *s, const char *name, struct error *error);

/* Compares the stores, each in one snapshot. Returns ERR_INVALID if they differ. The error names the first
 * row that differs. */
MUST_USE enum err move_verify(const struct move_options *options, struct move_result *result,
                              struct error *error);

#endif
