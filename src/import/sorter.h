/* Sorts readings by (observed_at, author, sequence), however many there are, in bounded memory: what does not
 * fit in the buffer goes in sorted runs to temporary files and is merged when it is read back. */
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
    uint64_t sequence; /* unique: the place of the line in the input */
    int64_t video_row;
    int64_t counts[COUNT_KINDS];
    int32_t platform,
        baseline; /* as wide as they are so that there is no padding: records go to disk as they are */
};

/* By the three keys: <0, 0, >0. */
int sort_record_cmp(const struct sort_record *a, const struct sort_record *b);

struct sorter;

/* `dir` is where the temporary files go; `buffer_bytes` is what is sorted in memory (at least one record). */
struct sorter *sorter_new(const char *dir, size_t buffer_bytes);
void sorter_free(struct sorter *s);

/* ERR_FULL, ERR_IO and the like of the temporary files. */
MUST_USE enum err sorter_add(struct sorter *s, const struct sort_record *record);

/* No more is added; what was added comes out in order. */
MUST_USE enum err sorter_finish(struct sorter *s);

/* The next record; `*has` is false when all are out. */
MUST_USE enum err sorter_next(struct sorter *s, struct sort_record *out, bool *has);

#endif
