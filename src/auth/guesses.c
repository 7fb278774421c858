/* Failure counts as leaky buckets in a small set-associative table: a name has WAYS places, found by a hash
 * that nobody outside can predict. A bucket is the time at which all its failures are forgotten. */
#include "auth/guesses.h"

#include "base/check.h"
#include "base/hash.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <stdlib.h>

enum { SETS = 4096, WAYS = 4 };

struct bucket {
    uint64_t name;
    int64_t empty_at_ms; /* in the past: free */
};

struct guesses {
    uint64_t seed;
    int64_t forget_ms, full_ms;
    struct bucket buckets[SETS][WAYS];
};

struct guesses *guesses_new(int burst, int64_t forget_ms)
{
    struct guesses *g = xcalloc(1, sizeof *g);
    randombytes_buf(&g->seed, sizeof g->seed);
    g->forget_ms = forget_ms;
    g->full_ms = burst * forget_ms;
    for (size_t i = 0; i < SETS; i++)
        for (size_t j = 0; j < WAYS; j++)
            g->buckets[i][j].empty_at_ms = INT64_MIN;
    return g;
}

void guesses_free(struct guesses *g)
{
    free(g);
}

int64_t guesses_wait_ms(const struct guesses *g, struct str name, int64_t now_ms)
{
    uint64_t hash = hash_64(name, g->seed);
    const struct bucket *set = g->buckets[hash % SETS];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].name != hash || set[i].empty_at_ms <= now_ms)
            continue;
        int64_t room_ms = g->full_ms - (set[i].empty_at_ms - now_ms);
        return room_ms >= g->forget_ms ? 0 : g->forget_ms - room_ms;
    }
    return 0;
}

void guesses_note_failure(struct guesses *g, struct str name, int64_t now_ms)
{
    uint64_t hash = hash_64(name, g->seed);
    struct bucket *set = g->buckets[hash % SETS], *place = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].name == hash) {
            place = &set[i];
            break;
        }
        /* Of equals the last: so newcomers take each other's place, and who came before them stays. */
        if (set[i].empty_at_ms <= place->empty_at_ms)
            place = &set[i];
    }
    bool counted = place->name == hash && place->empty_at_ms > now_ms;
    place->name = hash;
    place->empty_at_ms = (counted ? place->empty_at_ms : now_ms) + g->forget_ms;
    if (place->empty_at_ms > now_ms + g->full_ms)
        place->empty_at_ms = now_ms + g->full_ms;
}

struct str guesses_name_of_address(struct str address, char *room)
{
    enum { TEXT_MAX = 46, PREFIX_BYTES = 8 };
    char text[TEXT_MAX];
    unsigned char bytes[16];
    if (address.len >= sizeof text)
        return address;
    memcpy(text, address.p, address.len);
    text[address.len] = '\0';
    if (inet_pton(AF_INET6, text, bytes) != 1)
        return address;
    memcpy(room, bytes, PREFIX_BYTES);
    return str_make(room, PREFIX_BYTES);
}
