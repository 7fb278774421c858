/* What is known of the files of the spool: from the first transaction that has to do with one until it has
 * been moved away. Written in the transactions that apply it, so after a crash both agree. Contracts as in
 * write.h. */
#ifndef VT_STORE_SPOOL_RECORDS_H
#define VT_STORE_SPOOL_RECORDS_H

#include "base/arena.h"
#include "base/error.h"
#include "store/model.h"
#include "store/store.h"

/* Tells a file from another one of the same name. */
struct file_identity {
    int64_t size, inode, modified_ns;
};

static inline bool file_identity_eq(const struct file_identity *a, const struct file_identity *b)
{
    return a->size == b->size && a->inode == b->inode && a->modified_ns == b->modified_ns;
}

struct spool_file {
    int64_t row; /* 0: not in the database */
    struct str name;
    struct file_identity identity;
    int64_t applied_at; /* TIME_NONE: not all of it is applied yet */
    int64_t step_at;    /* observed_at of the last step that is applied; TIME_NONE: none is */
    struct uuid step_author;
};

/* By name; the first one whose name is greater. ERR_NOT_FOUND. The name lives in the arena. */
MUST_USE enum err store_spool_find(struct store *s, struct arena *a, struct str name, struct spool_file *out);
MUST_USE enum err store_spool_next(struct store *s, struct arena *a, struct str after,
                                   struct spool_file *out);

/* insert sets file->row and takes name and identity; save writes the rest; delete takes the errors along. */
MUST_USE enum err store_spool_insert(struct store *s, struct spool_file *file);
MUST_USE enum err store_spool_save(struct store *s, const struct spool_file *file);
MUST_USE enum err store_spool_delete(struct store *s, int64_t file_row);

/* A line that was not applied. `*added` is false when the line has one already, which stays. */
MUST_USE enum err store_spool_add_error(struct store *s, int64_t file_row, int64_t line, struct str reason,
                                        bool *added);
MUST_USE enum err store_spool_count_errors(struct store *s, int64_t file_row, int64_t *out);
/* By line. False from the callback ends it. */
typedef bool (*store_spool_error_fn)(void *ctx, int64_t line, struct str reason);
MUST_USE enum err store_spool_list_errors(struct store *s, int64_t file_row, store_spool_error_fn fn,
                                          void *ctx);

#endif
