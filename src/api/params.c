/* Query parameters (application/x-www-form-urlencoded, URL standard). */
#include "api/params.h"

#include "base/clock.h"
#include "http/form.h"

static int find_name(const struct endpoint *endpoint, struct str name)
{
    for (int i = 0; i < PARAMS_MAX && endpoint->params[i]; i++)
        if (str_eq(name, str_from_cstr(endpoint->params[i])))
            return i;
    return -1;
}

/* Decodes the value of a parameter into call->params. Returns NULL, or the reason why the value is invalid.
 */
static const char *decode_value(struct request *r, int index, struct str raw)
{
    struct str *value = &endpoint_call_of(r)->params[index];
    if (value->p)
        return "must be given only once";
    if (!form_decode(&r->arena, raw, value))
        return "is not valid percent-encoding";
    if (value->len == 0)
        return "must not be empty";
    return str_is_utf8(*value) ? NULL : "is not valid UTF-8";
}

bool params_parse(struct request *r)
{
    const struct endpoint *endpoint = endpoint_of(r);
    struct str rest = r->query, name, raw;
    while (form_next_pair(&rest, &name, &raw)) {
        if (!form_decode(&r->arena, name, &name))
            continue;
        int index = find_name(endpoint, name);
        if (index < 0)
            continue;
        const char *reason = decode_value(r, index, raw.p ? raw : STR(""));
        if (reason) {
            (void)envelope_error(r, API_INVALID_PARAMETER, "\"%s\" %s.", endpoint->params[index], reason);
            return false;
        }
    }
    return true;
}

bool param_is_given(const struct request *r, int index)
{
    return endpoint_call_of(r)->params[index].p;
}

static bool reject(struct request *r, int index, const char *accepted)
{
    (void)envelope_error(r, API_INVALID_PARAMETER, "\"%s\" must be %s.", endpoint_of(r)->params[index],
                         accepted);
    return false;
}

bool param_integer(struct request *r, int index, int64_t min, int64_t max, int64_t *out)
{
    unsigned long long v;
    if (!param_is_given(r, index))
        return true;
    if (!str_to_u64(endpoint_call_of(r)->params[index], (unsigned long long)max, &v) || (int64_t)v < min) {
        struct str accepted =
            arena_printf(&r->arena, "an integer from %lld to %lld", (long long)min, (long long)max);
        return reject(r, index, accepted.p);
    }
    *out = (int64_t)v;
    return true;
}

bool param_date(struct request *r, int index, int32_t *out)
{
    if (!param_is_given(r, index) || date_parse(endpoint_call_of(r)->params[index], out))
        return true;
    return reject(r, index, "an existing date in the form YYYY-MM-DD");
}

bool param_time(struct request *r, int index, int64_t *out)
{
    if (!param_is_given(r, index) || time_parse(endpoint_call_of(r)->params[index], out))
        return true;
    return reject(r, index, "a UTC time in the form 2026-06-15T00:00:00.000Z");
}

bool param_uuid(struct request *r, int index, struct uuid *out)
{
    if (!param_is_given(r, index) || uuid_parse(endpoint_call_of(r)->params[index], out))
        return true;
    return reject(r, index, "a UUID");
}

bool param_word(struct request *r, int index, const char *const *words, int *out)
{
    if (!param_is_given(r, index))
        return true;
    struct str accepted = STR("");
    for (int i = 0; words[i]; i++) {
        if (str_eq(endpoint_call_of(r)->params[index], str_from_cstr(words[i]))) {
            *out = i;
            return true;
        }
        accepted = arena_printf(&r->arena, "%s%s%s", accepted.p,
                                i == 0         ? ""
                                : words[i + 1] ? ", "
                                               : " or ",
                                words[i]);
    }
    return reject(r, index, accepted.p);
}
