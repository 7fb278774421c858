/* Encodes URLs and forms: percent-encoding and `name=value&…`. http/form.h decodes them. */
#ifndef VT_BASE_URLENCODE_H
#define VT_BASE_URLENCODE_H

#include "base/arena.h"
#include "base/buf.h"

/* Percent-encodes everything except unreserved characters (RFC 3986, 2.3). */
void url_append_encoded(struct buf *b, struct str s);
struct str url_encode(struct arena *a, struct str s);

struct url_field {
    const char *name; /* needs no encoding */
    struct str value; /* p == NULL: the field is omitted */
};

/* Returns `before` followed by the fields as name=value&…: a URL with a query, or with an empty `before` a
 * body of application/x-www-form-urlencoded. Commas are not encoded. The values may be secrets: no other copy
 * of them remains. */
struct str url_with_fields(struct arena *a, struct str before, const struct url_field *fields, size_t count);

#endif
