/* Reads the values of given names from a query or form (application/x-www-form-urlencoded of the URL
 * standard), or from a JSON object of strings. Ignores other names. Records which names occur more than once,
 * because OAuth forbids this (RFC 6749, 3.1). */
#ifndef VT_HTTP_FIELDS_H
#define VT_HTTP_FIELDS_H

#include "base/arena.h"

enum { FIELDS_MAX = 16 };

struct fields {
    const char *const *names;      /* the names to read; NULL-terminated, at most FIELDS_MAX */
    struct str values[FIELDS_MAX]; /* decoded, any bytes; p == NULL if missing or empty */
    bool repeated[FIELDS_MAX];     /* the name occurs more than once */
};

/* Reads the values of `names` from a query or form. Allocates the values in the arena. Returns false if one
 * of these values has an invalid percent-encoding. */
bool fields_read_form(struct fields *f, struct arena *a, const char *const *names, struct str text);

/* Reads the values of `names` from a JSON object. Allocates the values in the arena. Returns false if `text`
 * is not a JSON object, or if one of these values is neither a string nor null. */
bool fields_read_json(struct fields *f, struct arena *a, const char *const *names, struct str text);

/* Returns the first of the names that occurs more than once, or NULL. */
const char *fields_find_repeated(const struct fields *f);

#endif
