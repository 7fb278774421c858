/* How much memory hiredis holds. A reply is buffered until it is complete, and nothing in hiredis bounds it:
 * this is what lets the connection refuse an endless one. */
#ifndef VT_REDIS_REDIS_MEMORY_H
#define VT_REDIS_REDIS_MEMORY_H

#include <stddef.h>

/* Before the first use of hiredis; harmless twice. Counts for the whole process, on the thread of the loop.
 */
void redis_memory_install(void);

/* Bytes that hiredis holds now, as the allocator counts them. */
size_t redis_memory_used(void);

#endif
