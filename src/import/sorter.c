/* External merge sort. Each level is a file of consecutive sorted runs. When a level has FAN_IN runs, they
 * are merged into one run of the next level and the file is truncated, so the number of runs, and the memory
 * for their buffers, grows with the logarithm of the input. */
#include "import/sorter.h"

#include "base/check.h"
#include "import/tempfile.h"

#include <stdlib.h>
#include <string.h>

enum { FAN_IN = 32, LEVELS = 8 }; /* 32^8 full buffers exceed the size of any disk */
enum { HEARTBEAT_RECORDS = 1000 };

struct sorted_run {
    int64_t from, to;
};

struct level {
    struct temp_file file;
    struct sorted_run runs[FAN_IN];
    size_t run_count;
};

/* One input of a merge: a sorted run in a file, or the sorted buffer in memory. */
struct merge_source {
    struct sort_record head;
    struct temp_reader reader; /* unused for the buffer */
    bool in_memory;
};

struct sorter {
    char *dir;
    struct sort_record *buffer;
    struct sort_record **order; /* pointers into `buffer`, sorted by order_buffer() */
    size_t used, cap, next;     /* records in `buffer`, its capacity, and the next index in `order` */
    struct level levels[LEVELS];
    struct merge_source sources[FAN_IN * LEVELS + 1];
    struct merge_source *heap[FAN_IN * LEVELS + 1]; /* min-heap by head */
    size_t source_count, heap_count;
    enum err (*heartbeat)(void *ctx); /* may be NULL */
    void *heartbeat_ctx;
    size_t written; /* records written to files, to call heartbeat() after every HEARTBEAT_RECORDS */
};

int sort_record_cmp(const struct sort_record *a, const struct sort_record *b)
{
    if (a->observed_at != b->observed_at)
        return a->observed_at < b->observed_at ? -1 : 1;
    int c = uuid_cmp(&a->author, &b->author);
    return c ? c : (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

struct sorter *sorter_new(const char *dir, size_t buffer_bytes)
{
    struct sorter *s = xcalloc(1, sizeof *s);
    s->dir = xmalloc(strlen(dir) + 1);
    memcpy(s->dir, dir, strlen(dir) + 1);
    s->cap = buffer_bytes / (sizeof s->buffer[0] + sizeof s->order[0]);
    if (s->cap == 0)
        s->cap = 1;
    s->buffer = xmalloc(s->cap * sizeof s->buffer[0]);
    s->order = xmalloc(s->cap * sizeof(struct sort_record *));
    for (size_t i = 0; i < LEVELS; i++)
        s->levels[i].file.fd = -1;
    return s;
}

void sorter_set_heartbeat(struct sorter *s, enum err (*heartbeat)(void *ctx), void *ctx)
{
    s->heartbeat = heartbeat;
    s->heartbeat_ctx = ctx;
}

static void close_sources(struct sorter *s)
{
    for (size_t i = 0; i < s->source_count; i++)
        if (!s->sources[i].in_memory)
            temp_reader_close(&s->sources[i].reader);
    s->source_count = s->heap_count = 0;
}

void sorter_free(struct sorter *s)
{
    if (!s)
        return;
    close_sources(s);
    for (size_t i = 0; i < LEVELS; i++)
        temp_file_close(&s->levels[i].file);
    free(s->order);
    free(s->buffer);
    free(s->dir);
    free(s);
}

static int by_keys(const void *a, const void *b)
{
    struct sort_record *const *x = a, *const *y = b;
    return sort_record_cmp(*x, *y);
}

static void order_buffer(struct sorter *s)
{
    for (size_t i = 0; i < s->used; i++)
        s->order[i] = &s->buffer[i];
    qsort(s->order, s->used, sizeof(struct sort_record *), by_keys);
    s->next = 0;
}

/* ---- merging sorted runs ---- */

static void sift_down(struct sorter *s, size_t i)
{
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < s->heap_count; child++)
            if (sort_record_cmp(&s->heap[child]->head, &s->heap[least]->head) < 0)
                least = child;
        if (least == i)
            return;
        struct merge_source *moved = s->heap[i];
        s->heap[i] = s->heap[least];
        s->heap[least] = moved;
        i = least;
    }
}

static enum err read_head(struct sorter *s, struct merge_source *source, bool *has)
{
    *has = source->in_memory ? s->next < s->used : temp_reader_has_more(&source->reader);
    if (!*has)
        return OK;
    if (!source->in_memory)
        return temp_reader_read(&source->reader, &source->head, sizeof source->head);
    source->head = *s->order[s->next++];
    return OK;
}

static enum err add_source(struct sorter *s, struct merge_source *source)
{
    bool has;
    enum err err = read_head(s, source, &has);
    if (!err && has)
        s->heap[s->heap_count++] = source;
    return err;
}

static enum err add_runs(struct sorter *s, struct level *level)
{
    enum err err = level->run_count ? temp_file_flush(&level->file) : OK;
    for (size_t i = 0; i < level->run_count && !err; i++) {
        struct merge_source *source = &s->sources[s->source_count++];
        *source = (struct merge_source){0};
        temp_reader_open(&source->reader, &level->file, level->runs[i].from, level->runs[i].to);
        err = add_source(s, source);
    }
    return err;
}

static void make_heap(struct sorter *s)
{
    for (size_t i = s->heap_count / 2; i-- > 0;)
        sift_down(s, i);
}

/* Sets `*out` to the smallest head and reads the next record of the source to which this head belonged. Sets
 * `*has` to false if no source has a record left. */
static enum err pop(struct sorter *s, struct sort_record *out, bool *has)
{
    *has = s->heap_count > 0;
    if (!*has)
        return OK;
    bool more;
    *out = s->heap[0]->head;
    enum err err = read_head(s, s->heap[0], &more);
    if (err)
        return err;
    if (!more)
        s->heap[0] = s->heap[--s->heap_count];
    sift_down(s, 0);
    return OK;
}

/* ---- writing sorted runs to a file ---- */

static enum err begin_run(struct sorter *s, struct level *level)
{
    enum err err = level->file.fd < 0 ? temp_file_open(&level->file, s->dir) : OK;
    if (!err)
        level->runs[level->run_count].from = level->file.size;
    return err;
}

static void end_run(struct level *level)
{
    level->runs[level->run_count++].to = level->file.size;
}

static enum err write_record(struct sorter *s, struct level *level, const struct sort_record *record)
{
    const enum err err = temp_file_write(&level->file, record, sizeof *record);
    if (err || !s->heartbeat || ++s->written % HEARTBEAT_RECORDS)
        return err;
    return s->heartbeat(s->heartbeat_ctx);
}

static enum err merge_into(struct sorter *s, struct level *from, struct level *to)
{
    bool has = true;
    struct sort_record record;
    enum err err = begin_run(s, to);
    if (!err)
        err = add_runs(s, from);
    make_heap(s);
    while (!err && (err = pop(s, &record, &has)) == OK && has)
        err = write_record(s, to, &record);
    close_sources(s);
    if (err)
        return err;
    end_run(to);
    from->run_count = 0;
    return temp_file_truncate(&from->file);
}

static enum err make_room(struct sorter *s, size_t i)
{
    if (s->levels[i].run_count < FAN_IN)
        return OK;
    CHECK(i + 1 < LEVELS);
    enum err err = make_room(s, i + 1);
    return err ? err : merge_into(s, &s->levels[i], &s->levels[i + 1]);
}

static enum err spill(struct sorter *s)
{
    order_buffer(s);
    enum err err = make_room(s, 0);
    if (err)
        return err;
    err = begin_run(s, &s->levels[0]);
    for (size_t i = 0; i < s->used && !err; i++)
        err = write_record(s, &s->levels[0], s->order[i]);
    if (err)
        return err;
    end_run(&s->levels[0]);
    s->used = 0;
    return OK;
}

enum err sorter_add(struct sorter *s, const struct sort_record *record)
{
    CHECK(s->source_count == 0);
    enum err err = s->used == s->cap ? spill(s) : OK;
    if (err)
        return err;
    s->buffer[s->used++] = *record;
    return OK;
}

enum err sorter_finish(struct sorter *s)
{
    order_buffer(s);
    enum err err = OK;
    for (size_t i = 0; i < LEVELS && !err; i++)
        err = add_runs(s, &s->levels[i]);
    if (err)
        return err;
    struct merge_source *memory = &s->sources[s->source_count++];
    *memory = (struct merge_source){.in_memory = true};
    err = add_source(s, memory);
    make_heap(s);
    return err;
}

enum err sorter_next(struct sorter *s, struct sort_record *out, bool *has)
{
    CHECK(s->source_count > 0);
    return pop(s, out, has);
}
