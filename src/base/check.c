/* The ways in which the process ends itself: a broken invariant, and no memory. */
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *cond, const char *file, int line)
{
    (void)fprintf(stderr, "viewtally: check failed: %s (%s:%d)\n", cond, file, line);
    abort();
}

static void *or_abort(void *p)
{
    if (!p) {
        (void)fputs("viewtally: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *xmalloc(unsigned long size)
{
    return or_abort(malloc(size ? size : 1));
}

void *xcalloc(unsigned long count, unsigned long size)
{
    return or_abort(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *p, unsigned long size)
{
    return or_abort(realloc(p, size ? size : 1));
}
