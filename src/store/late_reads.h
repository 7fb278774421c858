/* A driver (row_read.h) for tests: completes every read in the next loop iteration, like an engine that must
 * wait for a server. In builds with test seams, it is used if the environment variable
 * VIEWTALLY_TEST_LATE_READS is set. */
#ifndef VT_STORE_LATE_READS_H
#define VT_STORE_LATE_READS_H

#include "store/row_read.h"

#include <uv.h>

#ifdef VT_TEST_SEAMS
/* Returns a driver for reads on `loop`, or NULL if VIEWTALLY_TEST_LATE_READS is not set. */
struct row_driver *late_reads_new(uv_loop_t *loop);
/* Closes the driver, which may be NULL. Precondition: no read is waiting. */
void late_reads_close(struct row_driver *driver);
#else
static inline struct row_driver *late_reads_new(uv_loop_t *loop)
{
    (void)loop;
    return NULL;
}
static inline void late_reads_close(struct row_driver *driver)
{
    (void)driver;
}
#endif

#endif
