/* Grammatical number in messages: "1 file", "2 files". */
#ifndef VT_BASE_PLURAL_H
#define VT_BASE_PLURAL_H

#include <stdint.h>

/* Returns the form that agrees with the number n: printf("%d backup%s %s", n, plural(n, "", "s"),
 * plural(n, "was", "were")). */
static inline const char *plural(int64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

#endif
