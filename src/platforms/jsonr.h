/* Reading a platform's JSON, strictly: the whole body is checked first (UTF-8, depth, members, no name twice
 * in an object), then values are taken out by name. A value that is absent or of another type reads as
 * nothing, so look-ups can be chained and end in one test. */
#ifndef VT_PLATFORMS_JSONR_H
#define VT_PLATFORMS_JSONR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct yyjson_val;

enum {
    JSONR_BODY_MAX = 2 << 20, /* bytes */
    JSONR_DEPTH_MAX = 24,
    JSONR_MEMBERS_MAX = 256, /* of an object */
};

/* NULL: not JSON as above. Everything that is read from it lives in the arena. */
struct yyjson_val *jsonr_parse(struct arena *a, struct str body);

/* NULL: `v` is no object (or NULL itself), or has no such member. */
struct yyjson_val *jsonr_get(struct yyjson_val *v, const char *name);

bool jsonr_is_object(struct yyjson_val *v);
bool jsonr_is_array(struct yyjson_val *v);
bool jsonr_is_null(struct yyjson_val *v); /* of a member that is there */
bool jsonr_is_true(struct yyjson_val *v);

/* p == NULL: not a string. */
struct str jsonr_text(struct yyjson_val *v);

/* "object", "array", "string", "number", "boolean", "null". Static. */
const char *jsonr_type(struct yyjson_val *v);

/* The text of a number as it stands; p == NULL: not a number. */
struct str jsonr_number(struct yyjson_val *v);

/* The digits of an id, which comes as a string or as an integer of any size; p == NULL: neither, or empty. */
struct str jsonr_id(struct yyjson_val *v);

/* An integer as JSON's grammar has it, with a sign or without: codes of errors, lives in seconds. */
bool jsonr_integer(struct yyjson_val *v, int64_t *out);

/* A count: an integer without sign, the same in a string (YouTube), or `20.0` (Pinterest). Anything else, and
 * what is above COUNT_MAX, is COUNT_NONE. */
int64_t jsonr_count(struct yyjson_val *v);

/* Members of an object or elements of an array, in order. */
struct jsonr_iter {
    struct yyjson_val *at;
    size_t left;
    bool object;
};
struct jsonr_iter jsonr_iterate(struct yyjson_val *v); /* of anything else: none */
/* `name` may be NULL; p == NULL in an array. */
bool jsonr_next(struct jsonr_iter *it, struct str *name, struct yyjson_val **value);

#endif
