/* CHECK(cond) aborts the process if `cond` is false, also in release builds. Use it only for conditions that
 * only a bug in viewtally can make false, never for conditions on the input of a client, a file or a
 * platform. */
#ifndef VT_BASE_CHECK_H
#define VT_BASE_CHECK_H

#define CHECK(cond) ((cond) ? (void)0 : check_failed(#cond, __FILE__, __LINE__))

/* Prints the condition, the file and the line, then aborts the process. */
_Noreturn void check_failed(const char *cond, const char *file, int line);

/* Prints "out of memory" and aborts the process. */
_Noreturn void out_of_memory(void);

/* Like malloc(), calloc() and realloc(), but they return NULL only if out of memory, never because the size
 * is 0. Tests can make them fail (base/fault.h). */
void *try_malloc(unsigned long size) __attribute__((malloc, warn_unused_result));
void *try_calloc(unsigned long count, unsigned long size) __attribute__((malloc, warn_unused_result));
void *try_realloc(void *p, unsigned long size) __attribute__((warn_unused_result));

/* Like malloc(), calloc() and realloc(), but they abort the process if out of memory. Use them only for sizes
 * that a client cannot choose, or that the caller has limited before. */
void *xmalloc(unsigned long size) __attribute__((malloc, returns_nonnull));
void *xcalloc(unsigned long count, unsigned long size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, unsigned long size) __attribute__((returns_nonnull));

#endif
