/* memcpy() and memmove() of the static binary.
 *
 * musl's memcpy() for x86-64 is `rep movsq`, which takes longer to start than to copy a short string.
 * Rendering a page of JSON copies thousands of short strings and spent 45 % of its time in memcpy(). */
#ifndef VT_BASE_COPY_BYTES_H
#define VT_BASE_COPY_BYTES_H

#include <stddef.h>

/* Copies `n` bytes between buffers that do not overlap, like memcpy(). In the static binary (VT_STATIC),
 * memcpy() is this function. */
void *copy_bytes(void *restrict to, const void *restrict from, size_t n);

/* Copies `n` bytes between buffers that may overlap, like memmove(). In the static binary, memmove() is
 * this function, because musl's memmove() calls its slow memcpy(). */
void *move_bytes(void *to, const void *from, size_t n);

#endif
