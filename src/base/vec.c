/* Enlarges typed arrays: the capacity doubles. */
#include "base/vec.h"

#include "base/check.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

static size_t larger(size_t capacity, size_t need, size_t item_size)
{
    CHECK(need <= SIZE_MAX / 2 / item_size);
    const size_t doubled = capacity ? 2 * capacity : FIRST_CAPACITY;
    return need > doubled ? need : doubled;
}

void *vec_reserve(void *items, size_t *capacity, size_t count, size_t more, size_t item_size)
{
    if (*capacity - count >= more)
        return items;
    *capacity = larger(*capacity, count + more, item_size);
    return xrealloc(items, *capacity * item_size);
}

bool vec_try_reserve(void *items_address, size_t *capacity, size_t count, size_t max, size_t item_size)
{
    if (count >= max)
        return false;
    if (count < *capacity)
        return true;
    size_t wanted = larger(*capacity, count + 1, item_size);
    if (wanted > max)
        wanted = max;
    void *items; /* copied with memcpy(), because `items_address` points to a pointer of another type */
    memcpy(&items, items_address, sizeof items);
    items = try_realloc(items, wanted * item_size);
    if (!items)
        return false;
    memcpy(items_address, &items, sizeof items);
    *capacity = wanted;
    return true;
}
