/* Parses query parameters (application/x-www-form-urlencoded, URL standard). */
#include "api/params.h"

#include "api/description.h"
#include "base/clock.h"
#include "base/unicode.h"
#include "base/urlencode.h"
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

/* ---- the names of unknown parameters, for the field X-Unknown-Parameters ---- */

enum { UNKNOWN_NAMES_MAX = 8, UNKNOWN_NAME_BYTES = 64 };

struct unknown_names {
    struct request *request;
    struct buf text; /* empty until the first name, because most requests have none */
    int count;
};

/* Adds a name to the list. Percent-encodes it, because it comes from the client and may contain any byte. */
static void unknown_names_add(struct unknown_names *u, struct str name)
{
    struct arena *arena = &u->request->arena;
    if (!name.len || u->count == UNKNOWN_NAMES_MAX)
        return;
    if (u->count++ == 0) {
        const size_t size = UNKNOWN_NAMES_MAX * (3 * UNKNOWN_NAME_BYTES + 2) + 32;
        u->text = buf_on(arena_alloc(arena, size), size);
        buf_append(&u->text, STR("X-Unknown-Parameters: "));
    } else {
        buf_append(&u->text, STR(", "));
    }
    struct str decoded;
    if (!form_decode(arena, name, &decoded))
        decoded = name;
    url_append_encoded(
        &u->text, str_make(decoded.p, decoded.len < UNKNOWN_NAME_BYTES ? decoded.len : UNKNOWN_NAME_BYTES));
}

static void unknown_names_report(struct unknown_names *u)
{
    if (!u->count)
        return;
    buf_append(&u->text, STR("\r\n"));
    endpoint_call_of(u->request)->lines = buf_str(&u->text);
}

bool params_parse(struct request *r)
{
    const struct endpoint *endpoint = endpoint_of(r);
    struct unknown_names unknown = {.request = r};
    struct str rest = r->query, name, raw;
    while (form_next_pair(&rest, &name, &raw)) {
        struct str decoded;
        int index = form_decode(&r->arena, name, &decoded) ? find_name(endpoint, decoded) : -1;
        if (index < 0) {
            unknown_names_add(&unknown, name);
            continue;
        }
        const char *reason = decode_value(r, index, raw.p ? raw : STR(""));
        if (reason) {
            (void)envelope_param_error(r, API_INVALID_PARAMETER, endpoint->params[index], "\"%s\" %s.",
                                       endpoint->params[index], reason);
            return false;
        }
    }
    unknown_names_report(&unknown);
    return true;
}

bool param_is_given(const struct request *r, int index)
{
    return endpoint_call_of(r)->params[index].p;
}

static bool reject(struct request *r, int index, const char *accepted)
{
    const char *name = endpoint_of(r)->params[index];
    (void)envelope_param_error(r, API_INVALID_PARAMETER, name, "\"%s\" must be %s.", name, accepted);
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
    return reject(r, index, "a valid date in the form YYYY-MM-DD");
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

bool param_text(struct request *r, int index, size_t max_characters, struct str *out)
{
    if (!param_is_given(r, index))
        return true;
    *out = endpoint_call_of(r)->params[index];
    if (unicode_count(*out) <= max_characters)
        return true;
    return reject(r, index, arena_printf(&r->arena, "a text of at most %zu characters", max_characters).p);
}

/* Returns the words as "a", "a or b", "a, b or c". */
static struct str list_words(struct request *r, const char *const *words)
{
    struct str list = STR("");
    for (int i = 0; words[i]; i++)
        list = arena_printf(&r->arena, "%s%s%s", list.p,
                            i == 0         ? ""
                            : words[i + 1] ? ", "
                                           : " or ",
                            words[i]);
    return list;
}

/* Returns the index of the word that equals the value, or -1 if no word does. */
static int find_word(struct str value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (str_eq(value, str_from_cstr(words[i])))
            return i;
    return -1;
}

bool param_word(struct request *r, int index, const char *const *words, int *out)
{
    if (!param_is_given(r, index))
        return true;
    int word = find_word(endpoint_call_of(r)->params[index], words);
    if (word < 0)
        return reject(r, index, list_words(r, words).p);
    *out = word;
    return true;
}

bool param_words(struct request *r, int index, const char *const *words, unsigned *mask)
{
    if (!param_is_given(r, index))
        return true;
    *mask = 0;
    struct str rest = endpoint_call_of(r)->params[index], value;
    while (rest.p) {
        rest = str_cut(rest, ',', &value);
        int word = find_word(value, words);
        if (word < 0)
            return reject(r, index,
                          arena_printf(&r->arena, "%s, or several of these values separated by commas",
                                       list_words(r, words).p)
                              .p);
        *mask |= 1u << word;
    }
    return true;
}

void params_link_next_page(struct request *r, int index, struct str cursor)
{
    enum { URL_BYTES = 32 << 10 }; /* a request target has at most 8 KiB, and encoding triples a byte */
    struct endpoint_call *call = endpoint_call_of(r);
    const struct endpoint *endpoint = endpoint_of(r);
    struct buf b;
    char separator = '?';
    buf_init_fallible(&b, URL_BYTES);
    buf_append(&b, call->lines);
    buf_append(&b, STR("Link: <"));
    buf_append(&b, call->api->description->base);
    buf_append(&b, str_from_cstr(endpoint->route.path));
    for (int i = 0; i < PARAMS_MAX && endpoint->params[i]; i++) {
        const struct str value = i == index ? cursor : call->params[i];
        if (!value.p)
            continue;
        buf_append_char(&b, separator);
        separator = '&';
        buf_append(&b, str_from_cstr(endpoint->params[i]));
        buf_append_char(&b, '=');
        url_append_encoded(&b, value);
    }
    buf_append(&b, STR(">; rel=\"next\"\r\n"));
    /* If out of memory, the field is omitted. The client can use the cursor in the body instead. */
    if (!b.failed)
        call->lines = arena_copy(&r->arena, buf_str(&b));
    buf_fini(&b);
}
