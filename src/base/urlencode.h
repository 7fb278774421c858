/* Writing into addresses and forms: percent-encoding and `name=value&…`. Reading them is http/form.h. */
#ifndef VT_BASE_URLENCODE_H
#define VT_BASE_URLENCODE_H

#include "base/arena.h"
#include "base/buf.h"

/* One part of an address: all but unreserved characters (RFC 3986, 2.3) percent-encoded. */
void url_append_encoded(struct buf *b, struct str s);
struct str url_encode(struct arena *a, struct str s);

struct url_field {
    const char *name; /* needs no encoding */
    struct str value; /* p == NULL: left out */
};

/* `before` followed by the fields as name=value&…, as a query or as a body of
 * application/x-www-form-urlencoded. Commas stay as they are, for lists. Written once: no copy of a secret
 * stands anywhere else. */
struct str url_with_fields(struct arena *a, struct str before, const struct url_field *fields, size_t count);

#endif
