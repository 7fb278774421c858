/* The sorted readings in the order of the steps. Some are read in advance, so that the videos of many steps
 * can be loaded in one round trip. */
#ifndef VT_IMPORT_READING_QUEUE_H
#define VT_IMPORT_READING_QUEUE_H

#include "import/sorter.h"
#include "store/write.h"

struct reading_queue {
    struct sorter *sorter;
    struct sort_record *records; /* the elements from `next` to `count` - 1 are in the queue */
    int64_t *video_rows;         /* video rows of the records */
    size_t next, count;
    bool has_ended; /* the sorter has no more records */
};

/* `sorter` must outlive the queue. */
void reading_queue_init(struct reading_queue *q, struct sorter *sorter);
void reading_queue_fini(struct reading_queue *q);

/* Returns the next reading, valid until the next call, or NULL after the last one. If a temporary file cannot
 * be read, returns NULL and sets `*err`, which must be OK before the call. */
const struct sort_record *reading_queue_peek(struct reading_queue *q, enum err *err);

/* Removes the next reading. Precondition: reading_queue_peek() has returned it. */
void reading_queue_pop(struct reading_queue *q);

/* Returns true if both readings belong to the same step. */
bool reading_is_of_step(const struct sort_record *a, const struct sort_record *b);

/* Loads the videos of the step that begins with the next reading, unless they are loaded already. If it loads
 * them, it also loads the videos of the other readings in the queue. Call in the transaction of the step,
 * before its first reading is added. */
MUST_USE enum err reading_queue_load_videos(const struct reading_queue *q, struct store *store);

#endif
