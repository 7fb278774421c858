/* CHECK: an assertion on our own code, on in release too. Never for what a client, a file or a platform can
 * cause. */
#ifndef VT_BASE_CHECK_H
#define VT_BASE_CHECK_H

#define CHECK(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))

/* Prints where and aborts. */
_Noreturn void check_failed(const char *cond, const char *file, int line);

/* Prints that there is no memory and aborts. */
_Noreturn void out_of_memory(void);

/* malloc, calloc, realloc that return NULL when there is no memory, but never for a size of 0. Tests make
 * them fail (base/fault.h). */
void *try_malloc(unsigned long size) __attribute__((malloc, warn_unused_result));
void *try_calloc(unsigned long count, unsigned long size) __attribute__((malloc, warn_unused_result));
void *try_realloc(void *p, unsigned long size) __attribute__((warn_unused_result));

/* malloc, calloc, realloc that end the process when there is no memory: only for sizes that a client cannot
 * choose or that were bounded first. */
void *xmalloc(unsigned long size) __attribute__((malloc, returns_nonnull));
void *xcalloc(unsigned long count, unsigned long size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, unsigned long size) __attribute__((returns_nonnull));

#endif
