/* Hooks into the allocations of hiredis. The hooks have no context, so the count is the process's. */
#include "redis/memory.h"

#include <hiredis/alloc.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static size_t used;

#ifdef VT_TEST_SEAMS
static long fail_at;
static int fails_for_ever;

void redis_memory_fail_at(long n, int for_ever)
{
    fail_at = n;
    fails_for_ever = for_ever;
}

static int fails(void)
{
    if (fail_at == 0 || --fail_at > 0)
        return 0;
    fail_at = fails_for_ever ? 1 : 0;
    return 1;
}
#else
static int fails(void)
{
    return 0;
}
#endif

static void *counted(void *p)
{
    used += malloc_usable_size(p); /* 0 for NULL */
    return p;
}

static void *on_malloc(size_t size)
{
    return fails() ? NULL : counted(malloc(size));
}

static void *on_calloc(size_t count, size_t size)
{
    return fails() ? NULL : counted(calloc(count, size));
}

static void *on_realloc(void *old, size_t size)
{
    const size_t before = malloc_usable_size(old);
    void *p = fails() ? NULL : realloc(old, size);
    if (p)
        used -= before;
    return counted(p);
}

static char *on_strdup(const char *text)
{
    return fails() ? NULL : counted(strdup(text));
}

static void on_free(void *p)
{
    used -= malloc_usable_size(p);
    free(p);
}

void redis_memory_install(void)
{
    hiredisAllocFuncs hooks = {.mallocFn = on_malloc,
                               .callocFn = on_calloc,
                               .reallocFn = on_realloc,
                               .strdupFn = on_strdup,
                               .freeFn = on_free};
    (void)hiredisSetAllocators(&hooks);
}

size_t redis_memory_used(void)
{
    return used;
}
