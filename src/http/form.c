/* Splits forms into fields and decodes the fields. */
#include "http/form.h"

#include "base/number.h"

bool form_decode(struct arena *a, struct str in, struct str *out)
{
    char *p = arena_alloc_text(a, in.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < in.len; i++) {
        if (in.p[i] == '%') {
            int high = i + 2 < in.len ? hex_digit(in.p[i + 1]) : -1;
            int low = i + 2 < in.len ? hex_digit(in.p[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            p[n++] = (char)(high << 4 | low);
            i += 2;
        } else {
            p[n++] = in.p[i] == '+' ? ' ' : in.p[i];
        }
    }
    *out = str_make(p, n);
    return true;
}

bool form_next_pair(struct str *rest, struct str *name, struct str *value)
{
    struct str pair;
    if (!rest->p)
        return false;
    *rest = str_cut(*rest, '&', &pair);
    *value = str_cut(pair, '=', name);
    return true;
}

static bool is_text(struct str s)
{
    return str_is_utf8(s) && !memchr(s.p, '\0', s.len);
}

static enum err add(struct arena *a, struct form *form, struct str raw_name, struct str raw_value,
                    struct error *error)
{
    struct str name, value;
    if (!form_decode(a, raw_name, &name) || !form_decode(a, raw_value, &value))
        return error_set(error, ERR_INVALID, "contains an invalid percent-encoding");
    if (!is_text(name) || !is_text(value))
        return error_set(error, ERR_INVALID, "contains a NUL character, or text that is not valid UTF-8");
    if (form_get(form, name).p)
        return error_set(error, ERR_INVALID, "contains a field twice");
    if (form->count == FORM_FIELDS_MAX)
        return error_set(error, ERR_INVALID, "contains too many fields");
    form->fields[form->count].name = name;
    form->fields[form->count++].value = value;
    return OK;
}

enum err form_parse(struct arena *a, struct str text, struct form *out, struct error *error)
{
    struct str rest = text, name, value;
    enum err err = OK;
    out->count = 0;
    while (!err && form_next_pair(&rest, &name, &value))
        if (name.len || value.p)
            err = add(a, out, name, value.p ? value : STR(""), error);
    return err;
}

struct str form_get(const struct form *form, struct str name)
{
    for (size_t i = 0; i < form->count; i++)
        if (str_eq(form->fields[i].name, name))
            return form->fields[i].value;
    return (struct str){NULL, 0};
}

bool request_has_form_body(const struct request *r)
{
    struct str type;
    (void)str_cut(r->field[FIELD_CONTENT_TYPE], ';', &type);
    return str_eq_nocase(str_trim(type), STR("application/x-www-form-urlencoded"));
}
