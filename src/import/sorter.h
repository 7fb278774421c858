/* Sorts any number of readings by (observed_at, author, sequence) in bounded memory: full buffers are written
 * as sorted runs to temporary files and merged while reading. */
#ifndef VT_IMPORT_SORTER_H
#define VT_IMPORT_SORTER_H

#include "base/error.h"
#include "base/uuid.h"
#include "store/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sort_record {
    int64_t observed_at;
    struct uuid author;
    uint64_t sequence; /* unique: the input line */
    int64_t video_row;
    int64_t counts[COUNT_KINDS];
    int32_t platform, baseline; /* this wide to avoid padding: records are written to disk in binary */
};

/* Compares the three keys: <0, 0 or >0. */
int sort_record_cmp(const struct sort_record *a, const struct sort_record *b);

struct sorter;

/* Temporary files are created in `dir`. `buffer_bytes`: memory for sorting, at least one record. */
struct sorter *sorter_new(const char *dir, size_t buffer_bytes);
void sorter_free(struct sorter *s);

/* Errors are those of the temporary files (ERR_FULL, ERR_IO …). */
MUST_USE enum err sorter_add(struct sorter *s, const struct sort_record *record);

/* Ends adding; then sorter_next() returns the records in order. */
MUST_USE enum err sorter_finish(struct sorter *s);

/* Returns the next record; `*has` is false at the end. */
MUST_USE enum err sorter_next(struct sorter *s, struct sort_record *out, bool *has);

#endif
