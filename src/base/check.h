/* CHECK asserts what only a bug in viewtally can break, in release builds too. Never CHECK what a client, a
 * file or a platform can cause. */
#ifndef VT_BASE_CHECK_H
#define VT_BASE_CHECK_H

#define CHECK(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))

/* Prints the condition and its position, then aborts. */
_Noreturn void check_failed(const char *cond, const char *file, int line);

/* Prints "out of memory" and aborts. */
_Noreturn void out_of_memory(void);

/* malloc, calloc, realloc, which return NULL only if out of memory, not for a size of 0. Tests can make them
 * fail (base/fault.h). */
void *try_malloc(unsigned long size) __attribute__((malloc, warn_unused_result));
void *try_calloc(unsigned long count, unsigned long size) __attribute__((malloc, warn_unused_result));
void *try_realloc(void *p, unsigned long size) __attribute__((warn_unused_result));

/* malloc, calloc, realloc that end the process if out of memory: only for sizes that a client cannot choose,
 * or that were bounded first. */
void *xmalloc(unsigned long size) __attribute__((malloc, returns_nonnull));
void *xcalloc(unsigned long count, unsigned long size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, unsigned long size) __attribute__((returns_nonnull));

#endif
