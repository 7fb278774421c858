/* Divides the file descriptors of the process between connections, the memory files of shared bodies, and all
 * other files. Use only on the thread of the event loop. */
#ifndef VT_HTTP_DESCRIPTORS_H
#define VT_HTTP_DESCRIPTORS_H

#include <stdbool.h>

/* Reserves descriptors for `wanted` connections, and raises the soft limit of open files to the hard limit.
 * Returns the number reserved, which is smaller than `wanted` if the limit is too low. */
int descriptors_reserve(int wanted);

/* Ends a reservation of `n` descriptors. */
void descriptors_unreserve(int n);

/* Returns true if the new descriptor `fd` may be kept for a memory file, in addition to `files` existing
 * memory files: the descriptors of all reserved connections and the spare descriptors must remain available.
 */
bool descriptors_allow_memory_file(int fd, int files);

#endif
