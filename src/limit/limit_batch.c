/* One batch is open during a loop iteration. Batches in flight are in a list until Redis replies.
 *
 *   first request --> OPEN --iteration ends, or batch full--> IN FLIGHT
 *   IN FLIGHT --reply or failure--> waiters complete */
#include "limit/limit_batch.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/number.h"
#include "limit/scripts.h"

#include <stdlib.h>

enum { BATCH_MAX = 64, REPLY_INTEGERS = 2, BATCH_MAGIC = 0x54616b65 };

struct batch_entry {
    struct limit_batch *batch;
    int64_t key_row;
    struct uuid key_id;
    struct waiter *waiter; /* NULL if canceled */
    struct limit_reply *out;
};

struct limit_batch {
    unsigned magic;
    struct limit_batcher *batcher;
    struct list link;     /* link in batcher->in_flight */
    struct waiter waiter; /* waiter of the call to Redis */
    struct redis_result result;
    int64_t opened_ms;
    int limit;
    int count;
    struct batch_entry entries[BATCH_MAX];
    int64_t integers[BATCH_MAX * REPLY_INTEGERS];
};

struct limit_batcher {
    struct redis *redis;
    limit_replied_fn *replied;
    void *ctx;
    struct redis_key_family keys;
    struct limit_batch *open; /* the batch of this iteration; NULL before the first request of the
                                 iteration */
    struct list in_flight;
};

static void batch_free(struct limit_batch *batch)
{
    list_remove(&batch->link);
    batch->magic = 0;
    free(batch);
}

/* Reads the two integers of SCRIPT_LIMIT for the i-th request of the batch. If a value is out of range, the
 * result has `ok` set to false. */
static struct limit_reply read_reply(const struct limit_batch *batch, int i)
{
    const int64_t remaining = batch->integers[REPLY_INTEGERS * i];
    const int64_t reset_ms = batch->integers[REPLY_INTEGERS * i + 1];
    if (remaining < -1 || remaining >= batch->limit || reset_ms < 0 || reset_ms > WINDOW_MS)
        return (struct limit_reply){.ok = false};
    return (struct limit_reply){.ok = true,
                                .verdict = {.admitted = remaining >= 0,
                                            .limit = batch->limit,
                                            .remaining = remaining > 0 ? (int)remaining : 0,
                                            .reset_ms = reset_ms}};
}

static void complete_batch(struct waiter *w)
{
    struct limit_batch *batch = LIST_ENTRY(w, struct limit_batch, waiter);
    CHECK(batch->magic == BATCH_MAGIC);
    const struct limit_batcher *b = batch->batcher;
    struct limit_reply replies[BATCH_MAX] = {{0}};
    const bool ok = batch->result.ok && batch->result.count == batch->result.room;
    for (int i = 0; ok && i < batch->count; i++) {
        replies[i] = read_reply(batch, i);
        if (replies[i].ok)
            b->replied(b->ctx, batch->entries[i].key_row, &replies[i].verdict, batch->opened_ms);
    }
    for (int i = 0; i < batch->count; i++) {
        const struct batch_entry *e = &batch->entries[i];
        if (!e->waiter)
            continue;
        *e->out = replies[i];
        waiter_complete(e->waiter);
    }
    batch_free(batch);
}

static enum next call_redis(const struct limit_batcher *b, struct limit_batch *batch)
{
    char names[BATCH_MAX][REDIS_KEY_MAX], number[I64_TEXT_MAX];
    struct str args[BATCH_MAX + 1];
    const int n = batch->count;
    for (int i = 0; i < n; i++)
        args[i] = redis_key_format(&b->keys, &batch->entries[i].key_id, names[i]);
    args[n] = str_make(number, i64_format(batch->limit, number));
    batch->result = (struct redis_result){.integers = batch->integers, .room = (size_t)n * REPLY_INTEGERS};
    return redis_call(b->redis, SCRIPT_LIMIT, args, n, n + 1, &batch->waiter, &batch->result);
}

static void send_open(struct limit_batcher *b)
{
    struct limit_batch *batch = b->open;
    if (!batch)
        return;
    b->open = NULL;
    list_add_last(&b->in_flight, &batch->link);
    if (call_redis(b, batch) != NEXT_WAIT)
        complete_batch(&batch->waiter);
}

static void before_wait(void *ctx)
{
    send_open(ctx);
}

static void cancel(struct waiter *w)
{
    struct batch_entry *e = w->call;
    CHECK(e->batch->magic == BATCH_MAGIC);
    e->waiter = NULL;
    e->out = NULL;
}

/* Returns the open batch. Sends it first if it is full, and opens a new one if none is open. Returns NULL
 * if out of memory. */
static struct limit_batch *find_open(struct limit_batcher *b)
{
    if (b->open && b->open->count == BATCH_MAX)
        send_open(b);
    if (b->open)
        return b->open;
    struct limit_batch *batch = try_malloc(sizeof *batch);
    if (!batch)
        return NULL;
    batch->magic = BATCH_MAGIC;
    batch->batcher = b;
    batch->opened_ms = clock_mono_ms();
    batch->count = 0;
    batch->waiter = (struct waiter){.wake = complete_batch};
    list_init(&batch->link);
    return b->open = batch;
}

enum next limit_batcher_add(struct limit_batcher *b, int64_t key_row, const struct uuid *key_id, int limit,
                            struct waiter *w, struct limit_reply *out)
{
    out->ok = false;
    if (!redis_is_up(b->redis))
        return NEXT_MORE;
    CHECK(!waiter_is_armed(w));
    struct limit_batch *batch = find_open(b);
    if (!batch)
        return NEXT_MORE; /* out of memory: treated as if Redis were unavailable */
    struct batch_entry *e = &batch->entries[batch->count++];
    *e = (struct batch_entry){.batch = batch, .key_row = key_row, .key_id = *key_id, .waiter = w, .out = out};
    batch->limit =
        limit; /* a reload may change the limit within an iteration: the batch uses the latest limit */
    w->cancel = cancel;
    w->call = e;
    return NEXT_WAIT;
}

struct limit_batcher *limit_batcher_new(struct redis *redis, const char *key_prefix,
                                        limit_replied_fn *replied, void *ctx)
{
    struct limit_batcher *b = xcalloc(1, sizeof *b);
    b->redis = redis;
    b->replied = replied;
    b->ctx = ctx;
    redis_key_family_init(&b->keys, key_prefix, LIMIT_KEYS);
    list_init(&b->in_flight);
    redis_set_before_wait(redis, before_wait, b);
    return b;
}

void limit_batcher_free(struct limit_batcher *b)
{
    if (!b)
        return;
    redis_set_before_wait(b->redis, NULL, NULL);
    while (!list_is_empty(&b->in_flight)) {
        struct limit_batch *batch = LIST_ENTRY(b->in_flight.next, struct limit_batch, link);
        waiter_cancel(&batch->waiter);
        batch_free(batch);
    }
    free(b->open);
    free(b);
}
