/* A growing text that holds a secret. Its memory is overwritten before it is freed. */
#ifndef VT_BASE_WIPED_H
#define VT_BASE_WIPED_H

#include "base/error.h"
#include "base/str.h"

/* A zeroed struct is an empty text. The text is NUL-terminated after the first append. */
struct wiped {
    char *p;
    size_t len, cap;
};

/* Appends to the text. Returns false and appends nothing if out of memory. */
MUST_USE bool wiped_append(struct wiped *w, struct str s);
/* Overwrites and frees the text. */
void wiped_fini(struct wiped *w);

#endif
