/* Batches. One is filled while the loop turns; those that were sent stand in a list until they are answered.
 * A key stands in a batch once: whoever asks for it again opens the next one, so one is answered behind the
 * other.
 *
 *   asked --> OPEN --the loop is about to wait, or it is full--> sent --answer, or none--> every asker is
 * woken
 */
#include "limit/limit_batch.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/number.h"
#include "limit/scripts.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 96, NUMBER_MAX = 20, BATCH_MAGIC = 0x54616b65 };
enum { ARG_WINDOWS, ARG_WINDOWS_BEFORE, KEYS, ARG_LIMIT = KEYS, ARG_FIRST };

struct asker {
    struct batch *batch;
    struct wait *wait; /* NULL: has left */
    struct take_answer *out;
};

struct batch {
    unsigned magic;
    struct takes *takes;
    struct list link; /* among those under way */
    struct wait wait; /* ours, for Redis */
    struct redis_result answer;
    int64_t asked_ms; /* by the first */
    int limit;
    int count;
    struct asker askers[TAKES_MAX];
    struct taken taken[TAKES_MAX]; /* what they asked for */
    int64_t integers[TAKES_MAX];   /* the answers */
};

struct takes {
    struct redis *redis;
    takes_heard *heard;
    void *ctx;
    struct str names[KEYS]; /* of the hashes: "prefix:rate", "prefix:rate:before" */
    struct batch *open;     /* NULL: nobody has asked in this turn */
    struct batch *spare;    /* NULL: none; one of the last batch, still warm */
    struct list under_way;
    char texts[KEYS][NAME_BYTES];
};

static struct batch *batch_of(struct wait *w)
{
    struct batch *b = LIST_ENTRY(w, struct batch, wait);
    CHECK(b->magic == BATCH_MAGIC);
    return b;
}

static void batch_free(struct batch *b)
{
    struct takes *t = b->takes;
    list_remove(&b->link);
    b->magic = 0;
    free(t->spare);
    t->spare = b;
}

/* As the script packs it. */
static struct take_answer unpack(int64_t n)
{
    return (struct take_answer){
        .ok = n >= 0, .admitted = n & 1, .reset_ms = n >> 1 & 0xFFFF, .remaining = n >> 17};
}

/* Wakes everybody who is still there. */
static void deal_out(struct wait *w)
{
    struct batch *b = batch_of(w);
    bool ok = b->answer.ok && b->answer.count == (size_t)b->count;
    for (int i = 0; ok && i < b->count; i++)
        b->taken[i].answer = unpack(b->integers[i]);
    if (ok)
        b->takes->heard(b->takes->ctx, b->taken, b->count, b->asked_ms);
    for (int i = 0; i < b->count; i++) {
        const struct asker *a = &b->askers[i];
        if (!a->wait)
            continue;
        if (ok)
            *a->out = b->taken[i].answer;
        wait_finish(a->wait);
    }
    batch_free(b);
}

static enum next run(const struct takes *t, struct batch *b)
{
    char numbers[1 + TAKES_MAX][NUMBER_MAX];
    struct str args[ARG_FIRST + TAKES_MAX] = {t->names[0], t->names[1]};
    args[ARG_LIMIT] = str_make(numbers[TAKES_MAX], i64_format(b->limit, numbers[TAKES_MAX]));
    for (int i = 0; i < b->count; i++)
        args[ARG_FIRST + i] = str_make(numbers[i], i64_format(b->taken[i].key, numbers[i]));
    b->answer = (struct redis_result){.integers = b->integers, .room = (size_t)b->count};
    return redis_call(t->redis, SCRIPT_LIMIT, args, KEYS, ARG_FIRST + b->count, &b->wait, &b->answer);
}

static void send_open(struct takes *t)
{
    struct batch *b = t->open;
    if (!b)
        return;
    t->open = NULL;
    list_add_last(&t->under_way, &b->link);
    if (run(t, b) != NEXT_WAIT)
        deal_out(&b->wait);
}

static void on_turn(void *ctx)
{
    send_open(ctx);
}

/* What is counted stays counted. */
static void leave(struct wait *w)
{
    struct asker *a = w->call;
    CHECK(a->batch->magic == BATCH_MAGIC);
    a->wait = NULL;
    a->out = NULL;
}

static bool takes_key(const struct batch *b, int64_t key, int limit)
{
    bool free = b->count < TAKES_MAX && b->limit == limit;
    for (int i = 0; i < b->count; i++)
        free &= b->taken[i].key != key;
    return free;
}

static struct batch *open_batch(struct takes *t, int64_t key, int limit)
{
    struct batch *b = t->open;
    if (b && !takes_key(b, key, limit)) {
        send_open(t);
        b = NULL;
    }
    if (b)
        return b;
    b = t->spare ? t->spare : try_malloc(sizeof *b);
    t->spare = NULL;
    if (!b)
        return NULL;
    b->magic = BATCH_MAGIC;
    b->takes = t;
    b->asked_ms = clock_mono_ms();
    b->limit = limit;
    b->count = 0;
    b->wait = (struct wait){.wake = deal_out};
    list_init(&b->link);
    return t->open = b;
}

enum next takes_ask(struct takes *t, int64_t key, int limit, struct wait *w, struct take_answer *out)
{
    out->ok = false;
    if (!redis_is_up(t->redis))
        return NEXT_MORE;
    CHECK(!wait_is_armed(w));
    struct batch *b = open_batch(t, key, limit);
    if (!b)
        return NEXT_MORE; /* out of memory: as if Redis were away */
    b->taken[b->count].key = key;
    struct asker *a = &b->askers[b->count++];
    *a = (struct asker){.batch = b, .wait = w, .out = out};
    w->cancel = leave;
    w->call = a;
    return NEXT_WAIT;
}

struct takes *takes_new(struct redis *redis, const char *key_prefix, takes_heard *heard, void *ctx)
{
    struct takes *t = xcalloc(1, sizeof *t);
    t->redis = redis;
    t->heard = heard;
    t->ctx = ctx;
    static const char *const names[KEYS] = {"rate", "rate:before"};
    for (int i = 0; i < KEYS; i++) {
        int len = snprintf(t->texts[i], NAME_BYTES, "%s%s", key_prefix, names[i]);
        CHECK(len > 0 && len < NAME_BYTES);
        t->names[i] = str_make(t->texts[i], (size_t)len);
    }
    list_init(&t->under_way);
    redis_set_before_wait(redis, on_turn, t);
    return t;
}

void takes_free(struct takes *t)
{
    if (!t)
        return;
    redis_set_before_wait(t->redis, NULL, NULL);
    while (!list_is_empty(&t->under_way)) {
        struct batch *b = LIST_ENTRY(t->under_way.next, struct batch, link);
        wait_cancel(&b->wait);
        batch_free(b);
    }
    free(t->open);
    free(t->spare);
    free(t);
}
