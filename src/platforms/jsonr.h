/* A strict JSON reader for platform responses: the whole body is validated first (UTF-8, depth, number of
 * members, no duplicate names), then values are looked up by name. A value that is absent or of another
 * type reads as "none", so lookups can be chained and checked once at the end. */
#ifndef VT_PLATFORMS_JSONR_H
#define VT_PLATFORMS_JSONR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct yyjson_val;

enum {
    JSONR_BODY_MAX = 2 << 20, /* bytes */
    JSONR_DEPTH_MAX = 24,
    JSONR_MEMBERS_MAX = 256, /* per object */
};

/* NULL: invalid. The arena owns all that is read from the document. */
struct yyjson_val *jsonr_parse(struct arena *a, struct str body);

/* NULL: `v` is not an object (or is NULL), or has no such member. */
struct yyjson_val *jsonr_get(struct yyjson_val *v, const char *name);

bool jsonr_is_object(struct yyjson_val *v);
bool jsonr_is_array(struct yyjson_val *v);
bool jsonr_is_null(struct yyjson_val *v); /* false if the member is absent */
bool jsonr_is_true(struct yyjson_val *v);

/* p == NULL: not a string. */
struct str jsonr_text(struct yyjson_val *v);

/* "object", "array", "string", "number", "boolean", "null". Static. */
const char *jsonr_type(struct yyjson_val *v);

/* The text of a number; p == NULL: not a number. */
struct str jsonr_number(struct yyjson_val *v);

/* An id as text: a string, or an integer of any size. p == NULL: neither, or empty. */
struct str jsonr_id(struct yyjson_val *v);

/* An integer, such as an error code or a lifetime in seconds. */
bool jsonr_integer(struct yyjson_val *v, int64_t *out);

/* A count: a non-negative integer, also as a string (YouTube) or as `20.0` (Pinterest). Anything else, and
 * values above COUNT_MAX, are COUNT_NONE. */
int64_t jsonr_count(struct yyjson_val *v);

/* Members of an object or elements of an array, in order. */
struct jsonr_iter {
    struct yyjson_val *at;
    size_t left;
    bool object;
};
struct jsonr_iter jsonr_iterate(struct yyjson_val *v); /* empty for other types */
/* `name` may be NULL; p == NULL in an array. */
bool jsonr_next(struct jsonr_iter *it, struct str *name, struct yyjson_val **value);

#endif
