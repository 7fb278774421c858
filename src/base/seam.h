/* Kill points for tests: in builds with test seams, the n-th call of seam_kill_point() ends the process with
 * SIGKILL if VIEWTALLY_TEST_KILL_AT is n. In the release build it does nothing. */
#ifndef VT_BASE_SEAM_H
#define VT_BASE_SEAM_H

#ifdef VT_TEST_SEAMS
void seam_kill_point(void);
#else
static inline void seam_kill_point(void) {}
#endif

#endif
