/* Named values of a request: from a query or form (application/x-www-form-urlencoded of the URL standard), or
 * from a JSON object of strings. Other names are ignored. Names given more than once are recorded, because
 * OAuth forbids them (RFC 6749, 3.1). */
#ifndef VT_HTTP_FIELDS_H
#define VT_HTTP_FIELDS_H

#include "base/arena.h"

enum { FIELDS_MAX = 16 };

struct fields {
    const char *const *names;      /* NULL-terminated, at most FIELDS_MAX */
    struct str values[FIELDS_MAX]; /* decoded, any bytes; p == NULL: missing or empty */
    bool repeated[FIELDS_MAX];
};

/* The values are allocated in the arena. Returns false for an invalid percent-encoding in a requested value.
 */
bool fields_read_form(struct fields *f, struct arena *a, const char *const *names, struct str text);

/* Returns false unless the text is one JSON object whose requested members are strings or null. */
bool fields_read_json(struct fields *f, struct arena *a, const char *const *names, struct str text);

/* The first name that was given more than once; NULL: none. */
const char *fields_repeated(const struct fields *f);

#endif
