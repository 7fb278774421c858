/* Forms: application/x-www-form-urlencoded (the URL standard, section 5), as a body or a query. */
#ifndef VT_HTTP_FORM_H
#define VT_HTTP_FORM_H

#include "base/arena.h"
#include "http/request.h"

enum { FORM_FIELDS_MAX = 32 };

struct form {
    size_t count;
    struct {
        struct str name, value; /* decoded, in the arena; well-formed UTF-8 without U+0000 */
    } fields[FORM_FIELDS_MAX];
};

/* '+' is a space, %XX a byte. False: a broken escape. */
bool form_decode(struct arena *a, struct str in, struct str *out);

/* Takes the first `name=value` off `rest` (rest->p == NULL: none is left). `value` has p == NULL without a
 * '='. Both are still encoded. */
bool form_next_pair(struct str *rest, struct str *name, struct str *value);

/* NULL when all of `text` could be read, else a sentence's end that says what is wrong with it: a field given
 * twice, a broken escape, text that is not UTF-8, too many fields. The form then holds what stands before. */
const char *form_parse(struct arena *a, struct str text, struct form *out);

/* p == NULL: there is no such field. */
struct str form_get(const struct form *form, struct str name);

/* The body says that it is such a form (parameters of the content type do not matter). */
bool form_is_body(const struct request *r);

#endif
