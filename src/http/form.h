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

/* Decodes '+' to a space and %XX to a byte. Returns false for an invalid percent-encoding. */
bool form_decode(struct arena *a, struct str in, struct str *out);

/* Removes the first `name=value` from `rest`; both parts are still encoded, and value->p == NULL if there is
 * no
 * '='. Returns false at the end. */
bool form_next_pair(struct str *rest, struct str *name, struct str *value);

/* Parses a form. Returns NULL, or what is wrong with it as the end of a sentence ("contains a field twice");
 * then `out` has the fields before the error. */
const char *form_parse(struct arena *a, struct str text, struct form *out);

/* p == NULL: no such field. */
struct str form_get(const struct form *form, struct str name);

/* True if the Content-Type of the body is application/x-www-form-urlencoded; ignores its parameters. */
bool form_is_body(const struct request *r);

#endif
