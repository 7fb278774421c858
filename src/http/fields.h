/* Named values of a request: a query string or a form (application/x-www-form-urlencoded as of the URL
 * standard), or a flat JSON object of strings. Names that are not asked for are ignored; one that is given
 * twice is remembered as such, for whom that is an error (RFC 6749, 3.1). */
#ifndef VT_HTTP_FIELDS_H
#define VT_HTTP_FIELDS_H

#include "base/arena.h"

enum { FIELDS_MAX = 16 };

struct fields {
    const char *const *names;      /* NULL-terminated, at most FIELDS_MAX */
    struct str values[FIELDS_MAX]; /* decoded, any bytes; p == NULL: not given, or empty */
    bool repeated[FIELDS_MAX];
};

/* False: a broken percent escape in a name or value that is asked for. Values live in the arena. */
bool fields_read_form(struct fields *f, struct arena *a, const char *const *names, struct str text);

/* False: not one JSON object, or a value that is asked for is no string. */
bool fields_read_json(struct fields *f, struct arena *a, const char *const *names, struct str text);

/* The name of one that was given twice; NULL: none. */
const char *fields_repeated(const struct fields *f);

#endif
