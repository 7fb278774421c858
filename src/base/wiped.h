/* A growing text that holds a secret: all memory is overwritten before it is freed. */
#ifndef VT_BASE_WIPED_H
#define VT_BASE_WIPED_H

#include "base/error.h"
#include "base/str.h"

/* All zeros: empty. NUL-terminated after the first append. */
struct wiped {
    char *p;
    size_t len, cap;
};

/* Returns false, and appends nothing, if out of memory. */
MUST_USE bool wiped_append(struct wiped *w, struct str s);
void wiped_fini(struct wiped *w);

#endif
