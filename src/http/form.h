/* Decodes application/x-www-form-urlencoded (URL standard, section 5), from a body or a query. */
#ifndef VT_HTTP_FORM_H
#define VT_HTTP_FORM_H

#include "base/arena.h"
#include "http/request.h"

enum { FORM_FIELDS_MAX = 32 };

struct form {
    size_t count;
    struct {
        struct str name, value; /* decoded, in the arena; valid UTF-8 without U+0000 */
    } fields[FORM_FIELDS_MAX];
};

/* Decodes '+' to a space and %XX to a byte. The result is in the arena. Returns false if a percent-encoding
 * is invalid. */
bool form_decode(struct arena *a, struct str in, struct str *out);

/* Removes the first `name=value` from `rest` and returns its parts, which are still encoded. If there is no
 * '=', sets value->p to NULL. Returns false if rest->p is NULL, as it is after the last pair. */
bool form_next_pair(struct str *rest, struct str *name, struct str *value);

/* Parses a form. On failure, returns ERR_INVALID and sets `error` to a text such as "contains a field twice",
 * to which the caller prepends a subject: "The query contains a field twice". In this case `out` contains the
 * fields before the error. `error` may be NULL. */
MUST_USE enum err form_parse(struct arena *a, struct str text, struct form *out, struct error *error);

/* Returns the value of a field. p == NULL if the form has no such field. */
struct str form_get(const struct form *form, struct str name);

/* Returns true if the Content-Type of the body is application/x-www-form-urlencoded, with or without
 * parameters. */
bool request_has_form_body(const struct request *r);

#endif
