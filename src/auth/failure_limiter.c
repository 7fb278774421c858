/* A set-associative table, keyed with a seed that nobody outside knows: a name has WAYS places, and nobody
 * can choose with whom to share them. */
#include "auth/failure_limiter.h"

#include "base/check.h"
#include "base/hash.h"

#include <sodium.h>
#include <stdlib.h>

enum { SETS = 4096, WAYS = 4, DOUBLINGS_MAX = 20 };

struct entry {
    uint64_t key;
    int64_t counted_from_ms; /* the next failure is forgotten decay_ms later */
    int64_t wait_until_ms;
    int failures; /* 0: free */
};

struct failure_limiter {
    struct failure_rule rule;
    uint64_t seed;
    struct entry entries[SETS][WAYS];
};

struct failure_limiter *failure_limiter_new(const struct failure_rule *rule)
{
    struct failure_limiter *l = xcalloc(1, sizeof *l);
    CHECK(rule->burst > 0 && rule->decay_ms > 0);
    l->rule = *rule;
    randombytes_buf(&l->seed, sizeof l->seed);
    return l;
}

void failure_limiter_free(struct failure_limiter *l)
{
    free(l);
}

/* The entry as it is at `now_ms`. */
static struct entry forget(const struct failure_limiter *l, struct entry e, int64_t now_ms)
{
    const int64_t forgotten =
        now_ms > e.counted_from_ms ? (now_ms - e.counted_from_ms) / l->rule.decay_ms : 0;
    e.failures = forgotten < e.failures ? e.failures - (int)forgotten : 0;
    e.counted_from_ms += forgotten * l->rule.decay_ms;
    return e;
}

static uint64_t key_of(const struct failure_limiter *l, struct str name)
{
    return hash_64(name, l->seed);
}

/* NULL: it has no failures. */
static struct entry *find(const struct failure_limiter *l, uint64_t key)
{
    const struct entry *set = l->entries[key % SETS];
    for (int i = 0; i < WAYS; i++)
        if (set[i].failures && set[i].key == key)
            return (struct entry *)(uintptr_t)&set[i];
    return NULL;
}

int64_t failure_limiter_wait_ms(const struct failure_limiter *l, struct str name, int64_t now_ms)
{
    const struct entry *found = find(l, key_of(l, name));
    if (!found)
        return 0;
    const struct entry e = forget(l, *found, now_ms);
    if (l->rule.wait_ms)
        return e.wait_until_ms > now_ms ? e.wait_until_ms - now_ms : 0;
    return e.failures >= l->rule.burst ? e.counted_from_ms + l->rule.decay_ms - now_ms : 0;
}

static int64_t forgotten_at(const struct failure_limiter *l, const struct entry *e)
{
    return e->failures ? e->counted_from_ms + e->failures * l->rule.decay_ms : INT64_MIN;
}

/* Of equals the last: so newcomers displace each other, and older entries stay. */
static struct entry *place_for(struct failure_limiter *l, uint64_t key)
{
    struct entry *set = l->entries[key % SETS], *place = find(l, key);
    if (place)
        return place;
    place = &set[0];
    for (int i = 1; i < WAYS; i++)
        if (forgotten_at(l, &set[i]) <= forgotten_at(l, place))
            place = &set[i];
    *place = (struct entry){.key = key};
    return place;
}

static int64_t doubled_wait(const struct failure_rule *rule, int failures)
{
    const int doublings = failures - rule->burst < DOUBLINGS_MAX ? failures - rule->burst : DOUBLINGS_MAX;
    const int64_t wait_ms = doublings < 0 ? 0 : rule->wait_ms << doublings;
    return wait_ms < rule->wait_max_ms ? wait_ms : rule->wait_max_ms;
}

void failure_limiter_record(struct failure_limiter *l, struct str name, int64_t now_ms)
{
    struct entry *e = place_for(l, key_of(l, name));
    const int most = l->rule.burst + (l->rule.wait_ms ? DOUBLINGS_MAX : 0);
    *e = forget(l, *e, now_ms);
    if (e->failures == 0 || e->failures == most)
        e->counted_from_ms = now_ms;
    e->failures += e->failures < most;
    if (l->rule.wait_ms)
        e->wait_until_ms = now_ms + doubled_wait(&l->rule, e->failures);
}

void failure_limiter_undo(struct failure_limiter *l, struct str name, int64_t now_ms)
{
    struct entry *e = find(l, key_of(l, name));
    if (!e)
        return;
    *e = forget(l, *e, now_ms);
    e->failures -= e->failures > 0;
    e->wait_until_ms = now_ms;
}

void failure_limiter_clear(struct failure_limiter *l, struct str name)
{
    struct entry *e = find(l, key_of(l, name));
    if (e)
        *e = (struct entry){.key = 0};
}
