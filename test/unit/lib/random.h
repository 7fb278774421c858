/* A random generator (xorshift64*) that gives the same numbers in every run of a test program. */
#ifndef VT_TEST_RANDOM_H
#define VT_TEST_RANDOM_H

#include <stdint.h>

static uint64_t random_state = 88172645463325252u;

static inline uint64_t random_u64(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 2685821657736338717u;
}

static inline uint64_t random_below(uint64_t n)
{
    return random_u64() % n;
}

/* glibc's rand_r(), so that test data do not depend on the libc. */
static inline int random_seeded(unsigned *seed)
{
    unsigned result = 0;
    for (int i = 0; i < 3; i++) {
        *seed = *seed * 1103515245u + 12345u;
        result = (result << 10) ^ (*seed / 65536u % (i ? 1024u : 2048u));
    }
    return (int)result;
}

#endif
