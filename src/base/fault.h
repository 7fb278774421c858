/* Fault injection for tests. Allocations and libuv calls are wrapped in FAULT_OR(), and a test makes the n-th
 * wrapped call fail. In the release build FAULT_OR() is the plain call. */
#ifndef VT_BASE_FAULT_H
#define VT_BASE_FAULT_H

#include <stdbool.h>

#ifdef VT_TEST_SEAMS

/* Makes the n-th wrapped call of this thread fail; 1 means the next call. If `is_permanent`, all later calls
 * fail too. If `n` is 0, no call fails any more. */
void fault_arm(unsigned n, bool is_permanent);

/* Returns the number of calls that were made to fail since fault_arm(). */
unsigned fault_count(void);

/* Counts one call and returns true if it must fail. */
bool fault_fires(void);

#else

static inline bool fault_fires(void)
{
    return false;
}

#endif

/* Evaluates to `call`. If the call must fail, evaluates to `error` instead and does not make the call. */
#define FAULT_OR(error, call) (fault_fires() ? (error) : (call))

#endif
