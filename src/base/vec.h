/* A typed array that grows. VEC(type) declares one; a zeroed array is empty:
 *
 *     VEC(struct reading) readings;
 *     *VEC_ADD(&readings) = (struct reading){…};
 *     for (size_t i = 0; i < readings.count; i++) use(&readings.items[i]);
 *     VEC_FREE(&readings);
 *
 * To pass an array to a function, make it a member of a named struct. Adding an item may move all items. The
 * macros evaluate `v` several times. */
#ifndef VT_BASE_VEC_H
#define VT_BASE_VEC_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define VEC(type)                                                                                            \
    struct {                                                                                                 \
        type *items;                                                                                         \
        size_t count, capacity;                                                                              \
    }

/* Makes room for `more` items after the last item. Aborts the process if out of memory, so limit the number
 * of items before. */
#define VEC_RESERVE(v, more)                                                                                 \
    ((v)->items = vec_reserve((v)->items, &(v)->capacity, (v)->count, (more), sizeof *(v)->items))

/* Adds an uninitialized item and returns its address. Aborts the process if out of memory. */
#define VEC_ADD(v) (VEC_RESERVE((v), 1), &(v)->items[(v)->count++])

/* Like VEC_ADD(), but returns NULL and adds nothing if out of memory or if the array already has `max`
 * items. */
#define VEC_TRY_ADD(v, max)                                                                                  \
    (vec_try_reserve(&(v)->items, &(v)->capacity, (v)->count, (max), sizeof *(v)->items)                     \
         ? &(v)->items[(v)->count++]                                                                         \
         : NULL)

/* Frees the memory of the items and leaves an empty array. */
#define VEC_FREE(v) (free((v)->items), (v)->items = NULL, (v)->count = (v)->capacity = 0)

/* Only the macros above call these two functions. */
MUST_USE void *vec_reserve(void *items, size_t *capacity, size_t count, size_t more, size_t item_size);
MUST_USE bool vec_try_reserve(void *items_address, size_t *capacity, size_t count, size_t max,
                              size_t item_size);

#endif
