/* Keeps at least READINGS_AHEAD readings in the queue until the sorter has no more. */
#include "import/reading_queue.h"

#include "base/check.h"

#include <stdlib.h>
#include <string.h>

enum { READINGS_AHEAD = 1000, READINGS_MAX = 2 * READINGS_AHEAD };

void reading_queue_init(struct reading_queue *q, struct sorter *sorter)
{
    *q = (struct reading_queue){.sorter = sorter};
    q->records = xcalloc(READINGS_MAX, sizeof q->records[0]);
    q->video_rows = xcalloc(READINGS_MAX, sizeof q->video_rows[0]);
}

void reading_queue_fini(struct reading_queue *q)
{
    free(q->records);
    free(q->video_rows);
}

static enum err fill(struct reading_queue *q)
{
    enum err err = OK;
    bool has = true;
    q->count -= q->next;
    memmove(q->records, q->records + q->next, q->count * sizeof q->records[0]);
    memmove(q->video_rows, q->video_rows + q->next, q->count * sizeof q->video_rows[0]);
    q->next = 0;
    while (!err && has && q->count < READINGS_MAX) {
        err = sorter_next(q->sorter, &q->records[q->count], &has);
        q->video_rows[q->count] = q->records[q->count].video_row;
        q->count += !err && has;
    }
    q->has_ended = !has;
    return err;
}

const struct sort_record *reading_queue_peek(struct reading_queue *q, enum err *err)
{
    if (q->count - q->next < READINGS_AHEAD && !q->has_ended)
        *err = fill(q);
    return *err || q->next == q->count ? NULL : &q->records[q->next];
}

void reading_queue_pop(struct reading_queue *q)
{
    CHECK(q->next < q->count);
    q->next++;
}

bool reading_is_of_step(const struct sort_record *a, const struct sort_record *b)
{
    return a->observed_at == b->observed_at && uuid_eq(&a->author, &b->author);
}

enum err reading_queue_load_videos(const struct reading_queue *q, struct store *store)
{
    size_t end = q->next;
    while (end < q->count && reading_is_of_step(&q->records[q->next], &q->records[end]))
        end++;
    return store_load_videos(store, q->video_rows + q->next, end - q->next, q->count - q->next);
}
