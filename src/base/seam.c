/* Kill points, in builds with test seams. */
#include "base/seam.h"

#ifdef VT_TEST_SEAMS
#include <signal.h>
#include <stdlib.h>

void seam_kill_point(void)
{
    static long passed;
    const char *at = getenv("VIEWTALLY_TEST_KILL_AT");
    if (at && ++passed == strtol(at, NULL, 10))
        (void)raise(SIGKILL);
}
#endif
