/* A growing text that holds a secret: overwritten wherever it gives memory back. */
#ifndef VT_BASE_WIPED_H
#define VT_BASE_WIPED_H

#include "base/error.h"
#include "base/str.h"

/* Zeroed: empty. Terminated behind its end as soon as something was appended. */
struct wiped {
    char *p;
    size_t len, cap;
};

/* False: out of memory; nothing was appended. */
MUST_USE bool wiped_append(struct wiped *w, struct str s);
void wiped_fini(struct wiped *w);

#endif
