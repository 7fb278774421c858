/* Checks requests with Redis or with the windows of this process, and counts the verdicts by source. */
#include "limit/limiter.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>

enum { REJECTION_CACHE_MS = 1000 };

struct limiter {
    int limit;
    struct limit_batcher *batcher; /* NULL if Redis is not used */
    struct windows *windows;
    struct limiter_counts counts;
};

/* Records the verdicts of Redis in the windows of this process, so that the limiter can switch to these
 * windows at any time. Redis checked the request between `opened_ms` and now. An admission is recorded with
 * the later of these times, and the wait after a rejection starts at the earlier one. So this process never
 * admits more requests than Redis would, and never rejects longer than Redis announced. */
static void on_replied(void *ctx, int64_t key_row, const struct limit_verdict *verdict, int64_t opened_ms)
{
    struct limiter *l = ctx;
    const int64_t until_ms = opened_ms + verdict->reset_ms, cached_ms = opened_ms + REJECTION_CACHE_MS;
    if (verdict->admitted)
        windows_record(l->windows, key_row, clock_mono_ms());
    else
        windows_store_rejection(l->windows, key_row, until_ms, until_ms < cached_ms ? until_ms : cached_ms);
}

struct limiter *limiter_new(int requests_per_minute, struct redis *redis, const char *key_prefix)
{
    struct limiter *l = xcalloc(1, sizeof *l);
    l->limit = requests_per_minute;
    if (redis)
        l->batcher = limit_batcher_new(redis, key_prefix, on_replied, l);
    l->windows = windows_new(requests_per_minute);
    return l;
}

void limiter_detach_redis(struct limiter *l)
{
    limit_batcher_free(l->batcher);
    l->batcher = NULL;
}

void limiter_free(struct limiter *l)
{
    if (!l)
        return;
    CHECK(!l->batcher);
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

enum next limiter_acquire(struct limiter *l, int64_t key_row, const struct uuid *key_id, int64_t now_ms,
                          struct waiter *w, struct limiter_call *call)
{
    *call = (struct limiter_call){.key_row = key_row, .now_ms = now_ms, .source = LIMITER_PROCESS};
    if (l->limit == 0 || !l->batcher)
        return NEXT_MORE;
    const int64_t until_ms = windows_find_rejection(l->windows, key_row, now_ms);
    if (!until_ms)
        return limit_batcher_add(l->batcher, key_row, key_id, l->limit, w, &call->reply);
    call->source = LIMITER_CACHED;
    call->verdict = (struct limit_verdict){.limit = l->limit, .reset_ms = until_ms - now_ms};
    return NEXT_MORE;
}

void limiter_decide(struct limiter *l, struct limiter_call *call)
{
    if (l->limit == 0) {
        call->source = LIMITER_OFF;
        call->verdict = (struct limit_verdict){.admitted = true};
    } else if (call->reply.ok) {
        call->source = LIMITER_REDIS;
        call->verdict = call->reply.verdict;
    } else if (call->source != LIMITER_CACHED) {
        call->verdict = windows_acquire(l->windows, call->key_row, call->now_ms);
    }
    if (call->verdict.admitted)
        l->counts.admitted[call->source]++;
    else
        l->counts.rejected[call->source]++;
}

const char *limiter_source_name(enum limiter_source source)
{
    static const char *const names[LIMITER_SOURCES] = {[LIMITER_OFF] = "off",
                                                       [LIMITER_REDIS] = "redis",
                                                       [LIMITER_CACHED] = "redis_cached",
                                                       [LIMITER_PROCESS] = "process"};
    return names[source];
}

struct limiter_counts limiter_get_counts(const struct limiter *l)
{
    struct limiter_counts counts = l->counts;
    counts.keys = windows_key_count(l->windows);
    return counts;
}
