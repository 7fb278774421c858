/* The strict reader, based on yyjson, which allocates the document in the caller's arena. Numbers are read as
 * raw text, so that a count is validated by its digits, whatever its size. yyjson rejects invalid UTF-8 and
 * lone surrogates and does not recurse; depth, members and duplicate names are checked here. */
#include "platforms/jsonr.h"

#include "base/hash.h"
#include "store/model.h"

#include <yyjson.h>

/* ---- allocator for yyjson ---- */

static void *on_malloc(void *arena, size_t size)
{
    return arena_alloc(arena, size);
}

static void *on_realloc(void *arena, void *old, size_t old_size, size_t size)
{
    void *p = arena_alloc(arena, size);
    memcpy(p, old, old_size < size ? old_size : size);
    return p;
}

static void on_free(void *arena, void *p)
{
    (void)arena;
    (void)p;
}

/* ---- validating and parsing ---- */

static struct str key_text(yyjson_val *key)
{
    return str_make(unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
}

static bool has_name_twice(yyjson_val *object)
{
    struct str seen[2 * JSONR_MEMBERS_MAX], name;
    yyjson_val *v;
    memset(seen, 0, sizeof seen);
    struct jsonr_iter it = jsonr_iterate(object);
    while (jsonr_next(&it, &name, &v)) {
        size_t at = hash_64(name, 0) % (sizeof seen / sizeof seen[0]);
        for (; seen[at].p; at = (at + 1) % (sizeof seen / sizeof seen[0]))
            if (str_eq(seen[at], name))
                return true;
        seen[at] = name;
    }
    return false;
}

/* Compares all pairs of names. Used for small objects, which nearly all objects are. */
static bool has_name_twice_small(yyjson_val *object)
{
    struct jsonr_iter it = jsonr_iterate(object);
    struct str name, other;
    yyjson_val *v;
    while (jsonr_next(&it, &name, &v)) {
        struct jsonr_iter rest = it;
        while (jsonr_next(&rest, &other, &v))
            if (str_eq(name, other))
                return true;
    }
    return false;
}

static bool is_valid_object(yyjson_val *object)
{
    const size_t members = unsafe_yyjson_get_len(object);
    if (members <= 16)
        return !has_name_twice_small(object);
    return members <= JSONR_MEMBERS_MAX && !has_name_twice(object);
}

/* Recursion is limited by JSONR_DEPTH_MAX. */
static bool is_valid(yyjson_val *v, int depth)
{
    if (!yyjson_is_ctn(v))
        return true;
    if (depth == JSONR_DEPTH_MAX)
        return false;
    if (yyjson_is_obj(v) && !is_valid_object(v))
        return false;
    struct jsonr_iter it = jsonr_iterate(v);
    yyjson_val *inner;
    while (jsonr_next(&it, NULL, &inner))
        if (!is_valid(inner, depth + 1))
            return false;
    return true;
}

struct yyjson_val *jsonr_parse(struct arena *a, struct str body)
{
    if (body.len == 0 || body.len > JSONR_BODY_MAX)
        return NULL;
    const yyjson_alc in_arena = {on_malloc, on_realloc, on_free, a};
    /* Without YYJSON_READ_INSITU yyjson copies the text, so it does not modify `body`. */
    yyjson_doc *doc =
        yyjson_read_opts((char *)(uintptr_t)body.p, body.len, YYJSON_READ_NUMBER_AS_RAW, &in_arena, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    return root && is_valid(root, 0) ? root : NULL;
}

/* ---- reading values ---- */

struct yyjson_val *jsonr_get(struct yyjson_val *v, const char *name)
{
    return yyjson_obj_get(v, name);
}

bool jsonr_is_object(struct yyjson_val *v)
{
    return yyjson_is_obj(v);
}

bool jsonr_is_array(struct yyjson_val *v)
{
    return yyjson_is_arr(v);
}

bool jsonr_is_null(struct yyjson_val *v)
{
    return yyjson_is_null(v);
}

bool jsonr_is_true(struct yyjson_val *v)
{
    return yyjson_is_true(v);
}

struct str jsonr_text(struct yyjson_val *v)
{
    return yyjson_is_str(v) ? key_text(v) : (struct str){NULL, 0};
}

const char *jsonr_type(struct yyjson_val *v)
{
    if (yyjson_is_obj(v))
        return "object";
    if (yyjson_is_arr(v))
        return "array";
    if (yyjson_is_raw(v))
        return "number";
    if (yyjson_is_bool(v))
        return "boolean";
    return yyjson_is_str(v) ? "string" : "null";
}

struct str jsonr_number(struct yyjson_val *v)
{
    return yyjson_is_raw(v) ? str_make(yyjson_get_raw(v), yyjson_get_len(v)) : (struct str){NULL, 0};
}

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.len > 0;
}

struct str jsonr_id(struct yyjson_val *v)
{
    struct str s = jsonr_text(v);
    if (yyjson_is_raw(v))
        s = str_make(yyjson_get_raw(v), yyjson_get_len(v));
    bool good = s.len && (!yyjson_is_raw(v) || is_digits(s));
    return good ? s : (struct str){NULL, 0};
}

bool jsonr_integer(struct yyjson_val *v, int64_t *out)
{
    if (!yyjson_is_raw(v))
        return false;
    struct str s = str_make(yyjson_get_raw(v), yyjson_get_len(v));
    bool negative = s.p[0] == '-';
    unsigned long long n;
    if (negative)
        s = str_make(s.p + 1, s.len - 1);
    if (!str_to_u64(s, INT64_MAX, &n))
        return false;
    *out = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

/* Returns "20" for "20.0". A fraction with other digits is not removed, so the result is not an integer. */
static struct str without_zero_fraction(struct str s)
{
    struct str whole, fraction = str_cut(s, '.', &whole);
    for (size_t i = 0; i < fraction.len; i++)
        if (fraction.p[i] != '0')
            return s;
    return whole;
}

int64_t jsonr_count(struct yyjson_val *v)
{
    struct str digits = jsonr_text(v);
    if (yyjson_is_raw(v))
        digits = without_zero_fraction(str_make(yyjson_get_raw(v), yyjson_get_len(v)));
    else if (digits.len > 1 && digits.p[0] == '0')
        return COUNT_NONE; /* rejects a leading zero, which JSON does not allow in a number either */
    unsigned long long n;
    return str_to_u64(digits, COUNT_MAX, &n) ? (int64_t)n : COUNT_NONE;
}

/* ---- iterating over arrays and objects ---- */

struct jsonr_iter jsonr_iterate(struct yyjson_val *v)
{
    if (!yyjson_is_ctn(v) || unsafe_yyjson_get_len(v) == 0)
        return (struct jsonr_iter){0};
    return (struct jsonr_iter){unsafe_yyjson_get_first(v), unsafe_yyjson_get_len(v), yyjson_is_obj(v)};
}

bool jsonr_next(struct jsonr_iter *it, struct str *name, struct yyjson_val **value)
{
    if (it->left == 0)
        return false;
    yyjson_val *v = it->object ? it->at + 1 : it->at;
    if (name)
        *name = it->object ? key_text(it->at) : (struct str){NULL, 0};
    *value = v;
    it->left--;
    it->at = unsafe_yyjson_get_next(v);
    return true;
}
