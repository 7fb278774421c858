/* Who decides a request: Redis when it can, this process when it must. */
#include "limit/limiter.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>

enum { WINDOW_MS = 60 * 1000 };

struct limiter {
    int limit;
    struct takes *takes; /* NULL: no Redis */
    struct windows *windows;
    struct limiter_counts counts;
};

/* What the script can answer, whoever it was that answered. */
static bool makes_sense(const struct limiter *l, const struct take_answer *a)
{
    return a->ok && (a->admitted == 0 || a->admitted == 1) && a->remaining >= 0 && a->remaining <= l->limit &&
           a->reset_ms >= 0 && a->reset_ms <= WINDOW_MS;
}

/* The process's own windows are fed with what Redis counted, so that they can take over at any moment.
 * Counted until then, refused from the moment it was asked: Redis' own moment was between the two. */
static void learn(void *ctx, const struct taken *taken, int count, int64_t asked_ms)
{
    struct limiter *l = ctx;
    int64_t admitted[TAKES_MAX];
    size_t n = 0;
    for (int i = 0; i < count; i++) {
        const struct take_answer *a = &taken[i].answer;
        if (!makes_sense(l, a))
            continue;
        if (a->admitted)
            admitted[n++] = taken[i].key;
        else
            windows_store_rejection(l->windows, taken[i].key, asked_ms + a->reset_ms);
    }
    windows_record(l->windows, admitted, n, clock_mono_ms());
}

struct limiter *limiter_new(int requests_per_minute, struct redis *redis, const char *key_prefix)
{
    struct limiter *l = xcalloc(1, sizeof *l);
    l->limit = requests_per_minute;
    if (redis)
        l->takes = takes_new(redis, key_prefix, learn, l);
    l->windows = windows_new(requests_per_minute);
    return l;
}

void limiter_detach_redis(struct limiter *l)
{
    takes_free(l->takes);
    l->takes = NULL;
}

void limiter_free(struct limiter *l)
{
    if (!l)
        return;
    CHECK(!l->takes);
    windows_free(l->windows);
    free(l);
}

void limiter_set_limit(struct limiter *l, int requests_per_minute)
{
    if (requests_per_minute == l->limit)
        return;
    l->limit = requests_per_minute;
    windows_set_limit(l->windows, requests_per_minute);
}

static bool is_refused_before(struct limiter *l, struct limiter_call *call)
{
    int64_t until = windows_find_rejection(l->windows, call->key, call->now_ms);
    if (!until)
        return false;
    call->source = LIMITER_CACHED;
    call->verdict = (struct limit_verdict){.limit = l->limit, .reset_ms = until - call->now_ms};
    return true;
}

enum next limiter_acquire(struct limiter *l, int64_t key, int64_t now_ms, struct wait *w,
                          struct limiter_call *call)
{
    *call = (struct limiter_call){.key = key, .now_ms = now_ms, .verdict = {.admitted = true}};
    if (l->limit == 0 || !l->takes || is_refused_before(l, call))
        return NEXT_MORE;
    return takes_ask(l->takes, key, l->limit, w, &call->answer);
}

static void take_answer(struct limiter *l, struct limiter_call *call)
{
    const struct take_answer *a = &call->answer;
    call->source = LIMITER_REDIS;
    call->verdict = (struct limit_verdict){.admitted = a->admitted == 1,
                                           .limit = l->limit,
                                           .remaining = (int)a->remaining,
                                           .reset_ms = a->reset_ms};
}

void limiter_decide(struct limiter *l, struct limiter_call *call)
{
    if (l->limit == 0)
        call->source = LIMITER_OFF;
    else if (makes_sense(l, &call->answer))
        take_answer(l, call);
    else if (call->source != LIMITER_CACHED) {
        call->source = LIMITER_PROCESS;
        call->verdict = windows_acquire(l->windows, call->key, call->now_ms);
    }
    if (call->verdict.admitted)
        l->counts.admitted[call->source]++;
    else
        l->counts.refused[call->source]++;
}

const char *limiter_source_name(enum limiter_source source)
{
    static const char *const names[LIMITER_SOURCES] = {[LIMITER_OFF] = "off",
                                                       [LIMITER_REDIS] = "redis",
                                                       [LIMITER_CACHED] = "redis_cached",
                                                       [LIMITER_PROCESS] = "process"};
    return names[source];
}

struct limiter_counts limiter_counts(const struct limiter *l)
{
    struct limiter_counts counts = l->counts;
    counts.keys = windows_key_count(l->windows);
    return counts;
}
