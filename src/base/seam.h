/* Places at which a test can kill the process: in the seams build, the n-th call of seam_kill_point() ends
 * the process with SIGKILL if VIEWTALLY_TEST_KILL_AT is n. The release build compiles it to nothing. */
#ifndef VT_BASE_SEAM_H
#define VT_BASE_SEAM_H

#ifdef VT_TEST_SEAMS
void seam_kill_point(void);
#else
static inline void seam_kill_point(void) {}
#endif

#endif
