/* Allocation hooks of hiredis. They have no context argument, so the count is global to the process. */
#include "redis/redis_memory.h"

#include "base/fault.h"

#include <hiredis/alloc.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static size_t used;

static void *counted(void *p)
{
    used += malloc_usable_size(p); /* 0 for NULL */
    return p;
}

static void *on_malloc(size_t size)
{
    return fault_fires() ? NULL : counted(malloc(size));
}

static void *on_calloc(size_t count, size_t size)
{
    return fault_fires() ? NULL : counted(calloc(count, size));
}

static void *on_realloc(void *old, size_t size)
{
    const size_t before = malloc_usable_size(old);
    void *p = fault_fires() ? NULL : realloc(old, size);
    if (p)
        used -= before;
    return counted(p);
}

static char *on_strdup(const char *text)
{
    return fault_fires() ? NULL : counted(strdup(text));
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
