/* Enlarges the text without realloc(), because realloc() could leave a copy of the secret in freed memory. */
#include "base/wiped.h"

#include "base/fault.h"

#include <stdlib.h>

bool wiped_append(struct wiped *w, struct str s)
{
    if (w->cap - w->len < s.len + 1) {
        const size_t cap = (w->len + s.len + 1) * 2;
        char *p = FAULT_OR(NULL, malloc(cap));
        if (!p)
            return false;
        if (w->len)
            memcpy(p, w->p, w->len);
        wiped_fini(&(struct wiped){w->p, w->len, w->cap});
        w->p = p;
        w->cap = cap;
    }
    if (s.len)
        memcpy(w->p + w->len, s.p, s.len);
    w->len += s.len;
    w->p[w->len] = 0;
    return true;
}

void wiped_fini(struct wiped *w)
{
    if (w->p)
        explicit_bzero(w->p, w->cap);
    free(w->p);
    *w = (struct wiped){0};
}
