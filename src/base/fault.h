/* Fault injection for tests: of the calls that pass through here (allocations, calls of libuv), the n-th one
 * fails. The release build compiles it to the plain call. */
#ifndef VT_BASE_FAULT_H
#define VT_BASE_FAULT_H

#include <stdbool.h>

#ifdef VT_TEST_SEAMS

/* Makes the n-th call of this thread from now on fail (1: the next one), and every later one too if
 * `for_ever`. 0: none. */
void fault_arm(unsigned n, bool for_ever);

/* The number of calls that have failed since fault_arm(). */
unsigned fault_count(void);

/* True if the call that asks must fail. */
bool fault_fires(void);

#else

static inline bool fault_fires(void)
{
    return false;
}

#endif

/* The result of `call`, or `error` without calling if it must fail. */
#define FAULT_OR(error, call) (fault_fires() ? (error) : (call))

#endif
