/* Counts the memory that hiredis uses. hiredis buffers a reply until it is complete and does not limit its
 * size. redis_poll.c uses the count to reject replies that are too large. */
#ifndef VT_REDIS_REDIS_MEMORY_H
#define VT_REDIS_REDIS_MEMORY_H

#include <stddef.h>

/* Makes hiredis use allocation functions that count. Call before the first use of hiredis. Further calls do
 * nothing. The count is for the whole process and not thread-safe: use hiredis only on the thread of the
 * loop. */
void redis_memory_install(void);

/* Returns the number of bytes in use, as malloc_usable_size(3) counts them. */
size_t redis_memory_used(void);

#endif
