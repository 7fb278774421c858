/* The memory that hiredis uses. hiredis buffers a reply until it is complete, without a bound: this count is
 * what lets redis_poll.c reject a reply without an end. */
#ifndef VT_REDIS_REDIS_MEMORY_H
#define VT_REDIS_REDIS_MEMORY_H

#include <stddef.h>

/* Call before the first use of hiredis; may be called again. Counts for the whole process; use it only on the
 * thread of the loop. */
void redis_memory_install(void);

/* Bytes in use, as the allocator counts them. */
size_t redis_memory_used(void);

#endif
