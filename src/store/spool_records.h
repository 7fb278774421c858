/* Records of spool files: from the first transaction that applies lines of a file until the file has been
 * moved away. They are written in the same transactions, so that file position and data agree after a crash.
 * Follows write.h. */
#ifndef VT_STORE_SPOOL_RECORDS_H
#define VT_STORE_SPOOL_RECORDS_H

#include "base/arena.h"
#include "base/error.h"
#include "store/model.h"
#include "store/store.h"

/* Distinguishes two files of the same name. */
struct file_identity {
    int64_t size, inode, modified_ns;
};

static inline bool file_identity_eq(const struct file_identity *a, const struct file_identity *b)
{
    return a->size == b->size && a->inode == b->inode && a->modified_ns == b->modified_ns;
}

struct spool_file {
    int64_t row; /* 0: no record yet */
    struct str name;
    struct file_identity identity;
    int64_t applied_at; /* TIME_NONE: not completely applied yet */
    int64_t step_at;    /* observed_at of the last applied step; TIME_NONE: none */
    struct uuid step_author;
};

/* find: the file with this name; next: the first file with a greater name. The name is copied into the arena.
 */
MUST_USE enum err store_spool_find(struct store *s, struct arena *a, struct str name, struct spool_file *out);
MUST_USE enum err store_spool_next(struct store *s, struct arena *a, struct str after,
                                   struct spool_file *out);

/* insert: writes name and identity, sets file->row. save: writes the other members. delete: also deletes the
 * errors. */
MUST_USE enum err store_spool_insert(struct store *s, struct spool_file *file);
MUST_USE enum err store_spool_save(struct store *s, const struct spool_file *file);
MUST_USE enum err store_spool_delete(struct store *s, int64_t file_row);

/* Records the error of a line. `*added` false: the line has one already, which is not changed. */
MUST_USE enum err store_spool_add_error(struct store *s, int64_t file_row, int64_t line, struct str reason,
                                        bool *added);
MUST_USE enum err store_spool_count_errors(struct store *s, int64_t file_row, int64_t *out);
/* By line number. */
typedef bool (*store_spool_error_fn)(void *ctx, int64_t line, struct str reason);
MUST_USE enum err store_spool_list_errors(struct store *s, int64_t file_row, store_spool_error_fn fn,
                                          void *ctx);

#endif
