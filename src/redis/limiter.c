/* Who decides a request: Redis when it can, this process when it must. */
#include "redis/limiter.h"

#include "base/check.h"
#include "base/clock.h"
#include "redis/scripts.h"

#include <stdio.h>
#include <stdlib.h>

enum { WINDOW_MS = 60 * 1000 };

struct limiter {
    int limit;
    struct redis *redis;
    const char *key_prefix;
    struct windows *windows;
    struct limiter_counts counts;
};

struct limiter *limiter_new(int requests_per_minute, struct redis *redis, const char *key_prefix)
{
    struct limiter *l = xcalloc(1, sizeof *l);
    l->limit = requests_per_minute;
    l->redis = redis;
    l->key_prefix = key_prefix;
    l->windows = windows_new(requests_per_minute);
    return l;
}

void limiter_free(struct limiter *l)
{
    if (!l)
        return;
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
    int64_t until = windows_refused_until(l->windows, call->key);
    if (until <= call->now_ms)
        return false;
    call->source = LIMITER_REFUSED_BEFORE;
    call->verdict = (struct limiter_verdict){.limit = l->limit, .reset_ms = until - call->now_ms};
    return true;
}

enum next limiter_take(struct limiter *l, int64_t key, int64_t now_ms, struct wait *w,
                       struct limiter_call *call)
{
    *call = (struct limiter_call){.key = key, .now_ms = now_ms, .verdict = {.admitted = true}};
    if (l->limit == 0 || !l->redis || !redis_is_up(l->redis) || is_refused_before(l, call))
        return NEXT_MORE;
    int key_len =
        snprintf(call->key_text, sizeof call->key_text, "%srate:%lld", l->key_prefix, (long long)key);
    int limit_len = snprintf(call->limit_text, sizeof call->limit_text, "%d", l->limit);
    CHECK(key_len > 0 && (size_t)key_len < sizeof call->key_text);
    const struct str args[] = {str_make(call->key_text, (size_t)key_len),
                               str_make(call->limit_text, (size_t)limit_len)};
    call->asked = true;
    call->answer = (struct redis_answer){.integers = call->integers, .room = 3};
    return redis_run(l->redis, SCRIPT_TAKE, args, 1, 2, w, &call->answer);
}

/* What the script can answer, whoever it was that answered. */
static bool makes_sense(const struct limiter *l, const struct limiter_call *call)
{
    const int64_t *n = call->integers;
    return call->asked && call->answer.ok && call->answer.count == 3 && (n[0] == 0 || n[0] == 1) &&
           n[1] >= 0 && n[1] <= l->limit && n[2] >= 0 && n[2] <= WINDOW_MS;
}

/* The process's own window is fed with what Redis admitted, so that it can take over at any moment. */
static void take_answer(struct limiter *l, struct limiter_call *call)
{
    const int64_t *n = call->integers;
    call->source = LIMITER_REDIS;
    call->verdict = (struct limiter_verdict){
        .admitted = n[0] == 1, .limit = l->limit, .remaining = (int)n[1], .reset_ms = n[2]};
    if (call->verdict.admitted)
        windows_record(l->windows, call->key, call->now_ms);
    else
        windows_refuse_until(l->windows, call->key, call->now_ms + call->verdict.reset_ms);
}

void limiter_decide(struct limiter *l, struct limiter_call *call)
{
    if (l->limit == 0)
        call->source = LIMITER_OFF;
    else if (makes_sense(l, call))
        take_answer(l, call);
    else if (call->source != LIMITER_REFUSED_BEFORE) {
        call->source = LIMITER_PROCESS;
        call->verdict = windows_take(l->windows, call->key, call->now_ms);
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
                                                       [LIMITER_REFUSED_BEFORE] = "redis_before",
                                                       [LIMITER_PROCESS] = "process"};
    return names[source];
}

struct limiter_counts limiter_counts(const struct limiter *l)
{
    struct limiter_counts counts = l->counts;
    counts.keys = windows_key_count(l->windows);
    return counts;
}
