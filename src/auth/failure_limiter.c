/* A set-associative table, indexed by a keyed hash: an attacker cannot choose names that share a set. */
#include "auth/failure_limiter.h"

#include "base/check.h"
#include "base/hash.h"

#include <sodium.h>
#include <stdlib.h>

enum { SETS = 4096, WAYS = 4, DOUBLINGS_MAX = 20 };

struct failure_entry {
    uint64_t key;
    int64_t decay_from_ms; /* the oldest failure that counts expires decay_ms after this time */
    int64_t wait_until_ms;
    int failures; /* 0 if the entry is free */
};

struct failure_limiter {
    struct failure_rule rule;
    uint64_t seed;
    struct failure_entry entries[SETS][WAYS];
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

/* Returns a copy of the entry without the failures that have expired by `now_ms`. */
static struct failure_entry decay(const struct failure_limiter *l, struct failure_entry e, int64_t now_ms)
{
    const int64_t expired = now_ms > e.decay_from_ms ? (now_ms - e.decay_from_ms) / l->rule.decay_ms : 0;
    e.failures = expired < e.failures ? e.failures - (int)expired : 0;
    e.decay_from_ms += expired * l->rule.decay_ms;
    return e;
}

/* Returns the index of the key's entry in `set`, or -1. */
static int find_index(const struct failure_entry set[WAYS], uint64_t key)
{
    for (int i = 0; i < WAYS; i++)
        if (set[i].failures && set[i].key == key)
            return i;
    return -1;
}

/* Returns the entry of the name, or NULL if the name has no failures. */
static struct failure_entry *find(struct failure_limiter *l, struct str name)
{
    const uint64_t key = hash_64(name, l->seed);
    struct failure_entry *set = l->entries[key % SETS];
    const int way = find_index(set, key);
    return way < 0 ? NULL : &set[way];
}

int64_t failure_limiter_wait_ms(const struct failure_limiter *l, struct str name, int64_t now_ms)
{
    const uint64_t key = hash_64(name, l->seed);
    const struct failure_entry *set = l->entries[key % SETS];
    const int way = find_index(set, key);
    if (way < 0)
        return 0;
    const struct failure_entry e = decay(l, set[way], now_ms);
    if (l->rule.wait_ms)
        return e.wait_until_ms > now_ms ? e.wait_until_ms - now_ms : 0;
    return e.failures >= l->rule.burst ? e.decay_from_ms + l->rule.decay_ms - now_ms : 0;
}

static int64_t expires_ms(const struct failure_limiter *l, const struct failure_entry *e)
{
    return e->failures ? e->decay_from_ms + e->failures * l->rule.decay_ms : INT64_MIN;
}

/* Returns the entry of the name. If the name has no entry, replaces the entry of the set that expires first.
 * If several entries expire at the same time, replaces the entry with the highest index, so that new names
 * replace each other and older entries stay. */
static struct failure_entry *find_or_replace(struct failure_limiter *l, struct str name)
{
    const uint64_t key = hash_64(name, l->seed);
    struct failure_entry *set = l->entries[key % SETS], *first = &set[0];
    const int way = find_index(set, key);
    if (way >= 0)
        return &set[way];
    for (int i = 1; i < WAYS; i++)
        if (expires_ms(l, &set[i]) <= expires_ms(l, first))
            first = &set[i];
    *first = (struct failure_entry){.key = key};
    return first;
}

static int64_t doubled_wait_ms(const struct failure_rule *rule, int failures)
{
    const int doublings = failures - rule->burst < DOUBLINGS_MAX ? failures - rule->burst : DOUBLINGS_MAX;
    const int64_t wait_ms = doublings < 0 ? 0 : rule->wait_ms << doublings;
    return wait_ms < rule->wait_max_ms ? wait_ms : rule->wait_max_ms;
}

void failure_limiter_record(struct failure_limiter *l, struct str name, int64_t now_ms)
{
    struct failure_entry *e = find_or_replace(l, name);
    const int max = l->rule.burst + (l->rule.wait_ms ? DOUBLINGS_MAX : 0);
    *e = decay(l, *e, now_ms);
    if (e->failures == 0 || e->failures == max)
        e->decay_from_ms = now_ms;
    e->failures += e->failures < max;
    if (l->rule.wait_ms)
        e->wait_until_ms = now_ms + doubled_wait_ms(&l->rule, e->failures);
}

void failure_limiter_undo(struct failure_limiter *l, struct str name, int64_t now_ms)
{
    struct failure_entry *e = find(l, name);
    if (!e)
        return;
    *e = decay(l, *e, now_ms);
    e->failures -= e->failures > 0;
    e->wait_until_ms = now_ms;
}

void failure_limiter_clear(struct failure_limiter *l, struct str name)
{
    struct failure_entry *e = find(l, name);
    if (e)
        *e = (struct failure_entry){.key = 0};
}
