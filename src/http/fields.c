/* Reads named values from a form or a JSON object. */
#include "http/fields.h"

#include "http/form.h"

#include <yyjson.h>

static void begin(struct fields *f, const char *const *names)
{
    *f = (struct fields){.names = names};
}

static int find(const struct fields *f, struct str name)
{
    for (int i = 0; i < FIELDS_MAX && f->names[i]; i++)
        if (str_eq(name, str_from_cstr(f->names[i])))
            return i;
    return -1;
}

/* Stores the value of the name f->names[i]. Treats an empty value as missing (RFC 6749, 3.1), but counts it
 * as an occurrence of the name. */
static void put(struct fields *f, int i, bool *seen, struct str value)
{
    f->repeated[i] = seen[i];
    seen[i] = true;
    if (value.len)
        f->values[i] = value;
}

bool fields_read_form(struct fields *f, struct arena *a, const char *const *names, struct str text)
{
    struct str rest = text, name, raw, value;
    bool seen[FIELDS_MAX] = {false};
    begin(f, names);
    while (form_next_pair(&rest, &name, &raw)) {
        if (!form_decode(a, name, &name))
            continue;
        int i = find(f, name);
        if (i < 0)
            continue;
        if (!form_decode(a, raw.p ? raw : STR(""), &value))
            return false;
        put(f, i, seen, value);
    }
    return true;
}

static bool put_member(struct fields *f, struct arena *a, bool *seen, yyjson_val *key, yyjson_val *value)
{
    int i = find(f, str_make(yyjson_get_str(key), yyjson_get_len(key)));
    if (i < 0)
        return true;
    if (!yyjson_is_str(value) && !yyjson_is_null(value))
        return false;
    struct str text = str_make(yyjson_get_str(value), yyjson_get_len(value));
    put(f, i, seen, text.len ? arena_copy(a, text) : text);
    return true;
}

bool fields_read_json(struct fields *f, struct arena *a, const char *const *names, struct str text)
{
    bool seen[FIELDS_MAX] = {false}, ok;
    size_t at, count;
    yyjson_val *key, *value;
    begin(f, names);
    yyjson_doc *doc = yyjson_read(text.p ? text.p : "", text.len, YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc);
    ok = yyjson_is_obj(root);
    if (ok)
        yyjson_obj_foreach(root, at, count, key, value) ok = ok && put_member(f, a, seen, key, value);
    yyjson_doc_free(doc);
    return ok;
}

const char *fields_find_repeated(const struct fields *f)
{
    for (int i = 0; i < FIELDS_MAX && f->names[i]; i++)
        if (f->repeated[i])
            return f->names[i];
    return NULL;
}
