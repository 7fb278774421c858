/* Sorts any number of readings by (observed_at, author, sequence) in limited memory (an external merge sort):
 * each full buffer is sorted and written to a temporary file, and reading merges the sorted sequences. */
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
    uint64_t sequence; /* unique: the input line (staging.h) */
    int64_t video_row;
    uint64_t post_id_hash; /* see struct reading */
    int64_t counts[COUNT_KINDS];
    int32_t platform,
        baseline; /* both are 32 bits wide to avoid padding, because records are written to disk in binary */
};

/* Compares (observed_at, author, sequence). Returns < 0, 0 or > 0. */
int sort_record_cmp(const struct sort_record *a, const struct sort_record *b);

struct sorter;

/* Creates a sorter, which creates its temporary files in `dir`. `buffer_bytes` is the memory for sorting; at
 * least one record is buffered. */
struct sorter *sorter_new(const char *dir, size_t buffer_bytes);
void sorter_free(struct sorter *s);

/* Lets a long-running sort renew a lease: writing and merging sorted runs, which can take minutes on a slow
 * disk, call `heartbeat` after every 1,000 records. If it returns an error, sorter_add() returns this error.
 */
void sorter_set_heartbeat(struct sorter *s, enum err (*heartbeat)(void *ctx), void *ctx);

/* Adds a copy of `record`. Returns an error of a temporary file (ERR_FULL, ERR_IO …) or of the heartbeat. */
MUST_USE enum err sorter_add(struct sorter *s, const struct sort_record *record);

/* Ends adding and prepares reading. Call after the last sorter_add() and before the first sorter_next(). */
MUST_USE enum err sorter_finish(struct sorter *s);

/* Sets `*out` to the next record in order. Sets `*has` to false if there are no more. */
MUST_USE enum err sorter_next(struct sorter *s, struct sort_record *out, bool *has);

#endif
