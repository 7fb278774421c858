/* Records of spool files. A record exists from the first transaction that applies lines of the file until the
 * file has been moved away. It is written in the transactions that apply the lines, so that the stored
 * position in the file and the data agree after a crash. The rules of write.h apply. */
#ifndef VT_STORE_SPOOL_RECORDS_H
#define VT_STORE_SPOOL_RECORDS_H

#include "base/arena.h"
#include "base/error.h"
#include "store/model.h"
#include "store/store.h"

/* Identifies a file, to distinguish it from another file that had the same name. */
struct file_identity {
    int64_t size, inode, modified_ns;
};

static inline bool file_identity_eq(const struct file_identity *a, const struct file_identity *b)
{
    return a->size == b->size && a->inode == b->inode && a->modified_ns == b->modified_ns;
}

struct spool_file {
    int64_t row;     /* 0: no record yet */
    struct str name; /* any bytes except NUL and `/` */
    struct file_identity identity;
    int64_t applied_at; /* TIME_NONE: not completely applied yet */
    int64_t step_at;    /* observed_at of the last applied step; TIME_NONE: none */
    struct uuid step_author;
};

/* Finds the record with this file name. The name is copied into the arena. */
MUST_USE enum err store_spool_find(struct store *s, struct arena *a, struct str name, struct spool_file *out);
/* Finds the record with the lowest row above `after` (0: the first record). The name is copied into the
 * arena.
 */
MUST_USE enum err store_spool_next(struct store *s, struct arena *a, int64_t after, struct spool_file *out);

/* Inserts a record with the name and identity of the file, and sets file->row. */
MUST_USE enum err store_spool_insert(struct store *s, struct arena *a, struct spool_file *file);
/* Writes the position in the file: applied_at, step_at, step_author. */
MUST_USE enum err store_spool_save(struct store *s, const struct spool_file *file);
/* Deletes the record of a file and the errors of its lines. */
MUST_USE enum err store_spool_delete(struct store *s, int64_t file_row);

/* Records the error of a line. `*added` is false if the line already has an error, which stays as it is. */
MUST_USE enum err store_spool_add_error(struct store *s, int64_t file_row, int64_t line, struct str reason,
                                        bool *added);
/* Counts the recorded errors of a file. */
MUST_USE enum err store_spool_count_errors(struct store *s, int64_t file_row, int64_t *out);
typedef bool (*store_spool_error_fn)(void *ctx, int64_t line, struct str reason);
/* Lists the errors of a file, ordered by line number. */
MUST_USE enum err store_spool_list_errors(struct store *s, int64_t file_row, store_spool_error_fn fn,
                                          void *ctx);

#endif
