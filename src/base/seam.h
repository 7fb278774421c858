/* Kill points, for tests of crashes. In builds with test seams, if the environment variable
 * VIEWTALLY_TEST_KILL_AT is n, the n-th call of seam_kill_point() kills the process with SIGKILL. In the
 * release build, seam_kill_point() does nothing. */
#ifndef VT_BASE_SEAM_H
#define VT_BASE_SEAM_H

#ifdef VT_TEST_SEAMS
void seam_kill_point(void);
#else
static inline void seam_kill_point(void) {}
#endif

#endif
