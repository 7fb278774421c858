/* A strict JSON reader for platform responses. First the whole body is validated: UTF-8, depth, number of
 * members, no duplicate names. Then values are looked up by name. If a value is absent or has another type,
 * the lookup returns NULL, a text with p == NULL, or COUNT_NONE, so lookups can be chained and checked once
 * at the end. */
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

/* Parses and validates a body. Returns NULL if it is invalid. Everything that is read from the document is in
 * the arena. */
struct yyjson_val *jsonr_parse(struct arena *a, struct str body);

/* Returns the member `name` of an object. Returns NULL if `v` is NULL or not an object, or has no such
 * member. */
struct yyjson_val *jsonr_get(struct yyjson_val *v, const char *name);

/* Return true if `v` is of this type. `v` may be NULL. */
bool jsonr_is_object(struct yyjson_val *v);
bool jsonr_is_array(struct yyjson_val *v);
bool jsonr_is_null(struct yyjson_val *v); /* false if the member is absent */
bool jsonr_is_true(struct yyjson_val *v);

/* Returns a string. `p` of the result is NULL if `v` is not a string. */
struct str jsonr_text(struct yyjson_val *v);

/* Returns the type as a static string: "object", "array", "string", "number", "boolean" or "null". */
const char *jsonr_type(struct yyjson_val *v);

/* Returns the text of a number. `p` of the result is NULL if `v` is not a number. */
struct str jsonr_number(struct yyjson_val *v);

/* Returns an id as text. In the JSON it is a string, or an integer of any size without a sign. `p` of the
 * result is NULL if `v` is neither, or empty. */
struct str jsonr_id(struct yyjson_val *v);

/* Reads an integer, such as an error code or a lifetime in seconds. Returns false if `v` is not an integer.
 */
bool jsonr_integer(struct yyjson_val *v, int64_t *out);

/* Returns a count: a non-negative integer, also as a string (YouTube) or as `20.0` (Pinterest). Returns
 * COUNT_NONE for anything else, and for values above COUNT_MAX. */
int64_t jsonr_count(struct yyjson_val *v);

/* Iterates over the members of an object or the elements of an array, in order. */
struct jsonr_iter {
    struct yyjson_val *at;
    size_t left;
    bool object;
};
struct jsonr_iter jsonr_iterate(struct yyjson_val *v); /* only arrays and objects have elements */
/* Reads the next member or element. Returns false if there are no more. `name` may be NULL; in an array,
 * name->p is set to NULL. */
bool jsonr_next(struct jsonr_iter *it, struct str *name, struct yyjson_val **value);

#endif
