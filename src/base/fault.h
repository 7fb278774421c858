/* Fault injection for tests: makes the n-th of the calls wrapped in FAULT_OR() fail (allocations, libuv
 * calls). In the release build FAULT_OR() is the plain call. */
#ifndef VT_BASE_FAULT_H
#define VT_BASE_FAULT_H

#include <stdbool.h>

#ifdef VT_TEST_SEAMS

/* Makes the n-th wrapped call of this thread fail (1: the next one), and every later one too if `for_ever`.
 * 0: disarms. */
void fault_arm(unsigned n, bool for_ever);

/* Number of calls that were made to fail since fault_arm(). */
unsigned fault_count(void);

/* Counts one call and returns true if it must fail. */
bool fault_fires(void);

#else

static inline bool fault_fires(void)
{
    return false;
}

#endif

/* Evaluates to `call`, or to `error` without making the call. */
#define FAULT_OR(error, call) (fault_fires() ? (error) : (call))

#endif
