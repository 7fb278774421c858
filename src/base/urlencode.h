/* Encodes URLs and forms: percent-encoding and `name=value&…`. http/form.h decodes them. */
#ifndef VT_BASE_URLENCODE_H
#define VT_BASE_URLENCODE_H

#include "base/arena.h"
#include "base/buf.h"

/* Percent-encodes all characters except the unreserved ones (RFC 3986, 2.3). url_encode() returns a text in
 * the arena. */
void url_append_encoded(struct buf *b, struct str s);
struct str url_encode(struct arena *a, struct str s);

struct url_field {
    const char *name; /* must need no encoding */
    struct str value; /* if p == NULL, the field is omitted */
};

/* Returns `before` followed by the fields as name=value&…, in the arena. With a URL up to "?" as `before`,
 * the result is a URL with a query; with an empty `before`, it is a body of type
 * application/x-www-form-urlencoded. Commas are not encoded. The values may be secrets: the function leaves
 * no other copy of them in memory. */
struct str url_with_fields(struct arena *a, struct str before, const struct url_field *fields, size_t count);

#endif
