/* The countdown of fault injection, one for each thread. */
#include "base/fault.h"

#ifdef VT_TEST_SEAMS

static _Thread_local unsigned until, count;
static _Thread_local bool ever;

void fault_arm(unsigned n, bool is_permanent)
{
    until = n;
    ever = is_permanent;
    count = 0;
}

unsigned fault_count(void)
{
    return count;
}

bool fault_fires(void)
{
    if (until == 0 || --until > 0)
        return false;
    if (ever)
        until = 1;
    count++;
    return true;
}

#endif
