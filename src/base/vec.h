/* A typed array that grows. Declare one with VEC(type); all zeros is an empty one:
 *
 *     VEC(struct reading) readings;
 *     *VEC_ADD(&readings) = (struct reading){…};
 *     for (size_t i = 0; i < readings.count; i++) use(&readings.items[i]);
 *     VEC_FREE(&readings);
 *
 * To pass one to a function, make it a member of a struct that has a name. Adding may move the items. The
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

/* Makes room for `more` items after the last one. Ends the process if out of memory: the caller bounds the
 * number of items. */
#define VEC_RESERVE(v, more)                                                                                 \
    ((v)->items = vec_reserve((v)->items, &(v)->capacity, (v)->count, (more), sizeof *(v)->items))

/* Adds one item, which the caller then sets, and returns its address. Out of memory as in VEC_RESERVE(). */
#define VEC_ADD(v) (VEC_RESERVE((v), 1), &(v)->items[(v)->count++])

/* Like VEC_ADD(), but returns NULL and adds nothing if out of memory or if the array holds `max` items. */
#define VEC_TRY_ADD(v, max)                                                                                  \
    (vec_try_reserve(&(v)->items, &(v)->capacity, (v)->count, (max), sizeof *(v)->items)                     \
         ? &(v)->items[(v)->count++]                                                                         \
         : NULL)

/* Frees the items and leaves an empty array. */
#define VEC_FREE(v) (free((v)->items), (v)->items = NULL, (v)->count = (v)->capacity = 0)

/* What the macros call. */
MUST_USE void *vec_reserve(void *items, size_t *capacity, size_t count, size_t more, size_t item_size);
MUST_USE bool vec_try_reserve(void *items_address, size_t *capacity, size_t count, size_t max,
                              size_t item_size);

#endif
