/* Two tables of counters, each a hash table of small sets in which a newcomer takes the place of whoever has
 * the least to wait for. Keyed with a random seed, so that nobody can choose with whom to share a set. */
#include "auth/throttle.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <stdlib.h>

enum { SETS = 2048, WAYS = 4, DOUBLINGS_MAX = 20 };

struct entry {
    uint64_t key; /* 0: free */
    int64_t last_ms, next_ms;
    int failures;
};

struct table {
    int tries;
    uint64_t seed;
    struct entry entries[SETS][WAYS];
};

struct throttle {
    struct table accounts, addresses;
};

struct throttle *throttle_new(void)
{
    struct throttle *t = xcalloc(1, sizeof *t);
    t->accounts.tries = THROTTLE_ACCOUNT_TRIES;
    t->addresses.tries = THROTTLE_ADDRESS_TRIES;
    randombytes_buf(&t->accounts.seed, sizeof t->accounts.seed);
    randombytes_buf(&t->addresses.seed, sizeof t->addresses.seed);
    return t;
}

void throttle_free(struct throttle *t)
{
    free(t);
}

static uint64_t key_of(const struct table *t, struct str text)
{
    uint64_t key = hash_64(text, t->seed);
    return key ? key : 1;
}

static bool is_forgotten(const struct entry *e, int64_t now_ms)
{
    return now_ms >= e->next_ms && now_ms - e->last_ms >= THROTTLE_FORGET_S * SECOND_MS;
}

/* NULL: it has no failures. */
static struct entry *find(struct table *t, uint64_t key)
{
    struct entry *set = t->entries[key % SETS];
    for (int i = 0; i < WAYS; i++)
        if (set[i].key == key)
            return &set[i];
    return NULL;
}

static struct entry *find_or_add(struct table *t, uint64_t key, int64_t now_ms)
{
    struct entry *set = t->entries[key % SETS], *e = find(t, key), *least = &set[0];
    for (int i = 0; i < WAYS && !e; i++) {
        bool less = set[i].next_ms < least->next_ms ||
                    (set[i].next_ms == least->next_ms && set[i].last_ms < least->last_ms);
        if (least->key && (!set[i].key || less))
            least = &set[i];
    }
    if (!e)
        e = least;
    if (e->key != key || is_forgotten(e, now_ms))
        *e = (struct entry){.key = key};
    return e;
}

static int64_t wait_after(const struct table *t, int failures)
{
    int over = failures - t->tries;
    if (over < 0)
        return 0;
    int64_t s = over < DOUBLINGS_MAX ? INT64_C(1) << over : THROTTLE_WAIT_MAX_S;
    return (s < THROTTLE_WAIT_MAX_S ? s : THROTTLE_WAIT_MAX_S) * SECOND_MS;
}

static void count(const struct table *t, struct entry *e, int64_t now_ms)
{
    e->failures++;
    e->last_ms = now_ms;
    e->next_ms = now_ms + wait_after(t, e->failures);
}

/* What of an address one customer cannot change. */
static struct str network_of(struct str address, char room[16])
{
    char text[INET6_ADDRSTRLEN + 1] = "";
    unsigned char bytes[16];
    if (address.len >= sizeof text)
        return address;
    memcpy(text, address.p, address.len);
    if (inet_pton(AF_INET6, text, bytes) != 1)
        return address;
    memcpy(room, bytes, 8);
    return str_make(room, 8);
}

int64_t throttle_try(struct throttle *t, struct str account, struct str address, int64_t now_ms)
{
    char room[16];
    struct entry *a = find_or_add(&t->accounts, key_of(&t->accounts, account), now_ms);
    struct entry *b = find_or_add(&t->addresses, key_of(&t->addresses, network_of(address, room)), now_ms);
    int64_t until = a->next_ms > b->next_ms ? a->next_ms : b->next_ms;
    if (until > now_ms)
        return until - now_ms;
    count(&t->accounts, a, now_ms);
    count(&t->addresses, b, now_ms);
    return 0;
}

void throttle_succeeded(struct throttle *t, struct str account, struct str address)
{
    char room[16];
    struct entry *a = find(&t->accounts, key_of(&t->accounts, account));
    struct entry *b = find(&t->addresses, key_of(&t->addresses, network_of(address, room)));
    if (a)
        *a = (struct entry){.key = 0};
    if (b && b->failures > 0) {
        b->failures--;
        b->next_ms = b->last_ms;
    }
}
