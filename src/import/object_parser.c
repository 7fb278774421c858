/* Parses objects with yyjson. The same loop parses every kind of object with its table.
 *
 * yyjson rejects ill-formed UTF-8 and lone surrogates, and does not recurse on nested input. */
#include "import/object_parser.h"

#include "base/buf.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/nearest_word.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    URL_MAX = 2048,
    ARENA_BLOCK = 16 * 1024,
    NAME_SHOWN = 48, /* bytes of an unknown field name in a message */
};

void object_parser_init(struct object_parser *p, enum unknown_fields policy)
{
    *p = (struct object_parser){.unknown_fields = policy};
    p->pool_size = yyjson_read_max_memory_usage(OBJECT_POOL_LINE_MAX, YYJSON_READ_NUMBER_AS_RAW);
    p->pool = xmalloc(p->pool_size);
    arena_init(&p->items, ARENA_BLOCK);
}

void object_parser_fini(struct object_parser *p)
{
    yyjson_doc_free(p->doc);
    arena_fini(&p->items);
    free(p->pool);
}

bool object_parser_reject(struct object_parser *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(p->why, sizeof p->why, fmt, ap);
    va_end(ap);
    return false;
}

bool object_parser_reject_field(struct object_parser *p, const char *field, const char *problem)
{
    if (p->list)
        return object_parser_reject(p, "%s[%zu].%s %s", p->list, p->item, field, problem);
    return object_parser_reject(p, "%s %s", field, problem);
}

static bool parse_text(struct object_parser *p, const struct field_rule *rule, yyjson_val *v,
                       struct field *out)
{
    if (!yyjson_is_str(v))
        return object_parser_reject_field(p, rule->name, "is not a string");
    struct str s = str_make(yyjson_get_str(v), yyjson_get_len(v));
    char problem[64];
    if (!s.len && rule->min_len)
        return object_parser_reject_field(p, rule->name, "is empty");
    if (s.len < rule->min_len) {
        (void)snprintf(problem, sizeof problem, "is shorter than %zu bytes", rule->min_len);
        return object_parser_reject_field(p, rule->name, problem);
    }
    if (s.len > rule->max_len) {
        (void)snprintf(problem, sizeof problem, "is longer than %zu bytes", rule->max_len);
        return object_parser_reject_field(p, rule->name, problem);
    }
    if (memchr(s.p, '\0', s.len))
        return object_parser_reject_field(p, rule->name, "contains U+0000");
    out->text = s;
    return true;
}

static bool is_url(struct str s)
{
    struct str scheme = str_starts_with(s, STR("https://")) ? STR("https://") : STR("http://");
    if (!str_starts_with(s, scheme) || s.len == scheme.len)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7F)
            return false;
    return true;
}

static bool parse_url(struct object_parser *p, const struct field_rule *rule, yyjson_val *v,
                      struct field *out)
{
    const struct field_rule text = {.name = rule->name, .max_len = URL_MAX};
    if (!parse_text(p, &text, v, out))
        return false;
    return is_url(out->text) || object_parser_reject_field(p, rule->name, "is not an http or https URL");
}

static bool parse_id(struct object_parser *p, const struct field_rule *rule, yyjson_val *v, struct field *out)
{
    struct uuid id;
    if (!yyjson_is_str(v) || !uuid_parse(str_make(yyjson_get_str(v), yyjson_get_len(v)), &id))
        return object_parser_reject_field(p, rule->name, "is not a UUID");
    out->id = id;
    return true;
}

static bool parse_time(struct object_parser *p, const struct field_rule *rule, yyjson_val *v,
                       struct field *out)
{
    if (!yyjson_is_str(v) || !time_parse(str_make(yyjson_get_str(v), yyjson_get_len(v)), &out->time_ms))
        return object_parser_reject_field(p, rule->name, "is not a UTC time like 2026-06-15T12:00:00Z");
    return true;
}

static bool parse_flag(struct object_parser *p, const struct field_rule *rule, yyjson_val *v,
                       struct field *out)
{
    if (!yyjson_is_bool(v))
        return object_parser_reject_field(p, rule->name, "is not true or false");
    out->flag = yyjson_get_bool(v);
    return true;
}

static bool parse_platform(struct object_parser *p, const struct field_rule *rule, yyjson_val *v,
                           struct field *out)
{
    if (!yyjson_is_str(v) || !platform_parse(str_make(yyjson_get_str(v), yyjson_get_len(v)), &out->platform))
        return object_parser_reject_field(p, rule->name, "is not one of:" PLATFORM_NAMES);
    return true;
}

/* The raw text is a valid JSON number; it is an integer if it has no fraction and no exponent. */
static bool parse_count(struct object_parser *p, const struct field_rule *rule, yyjson_val *v, int64_t max,
                        struct field *out)
{
    if (!yyjson_is_raw(v))
        return object_parser_reject_field(p, rule->name, "is not an integer");
    struct str digits = str_make(yyjson_get_raw(v), yyjson_get_len(v));
    for (size_t i = 0; i < digits.len; i++)
        if (digits.p[i] == '.' || digits.p[i] == 'e' || digits.p[i] == 'E')
            return object_parser_reject_field(p, rule->name, "is not an integer");
    unsigned long long n;
    if (str_eq(digits, STR("-0")))
        n = 0;
    else if (digits.p[0] == '-')
        return object_parser_reject_field(p, rule->name, "is negative");
    else if (!str_to_u64(digits, (unsigned long long)max, &n))
        return object_parser_reject_field(p, rule->name, "is too large");
    out->count = (int64_t)n;
    return true;
}

static bool parse_date(struct object_parser *p, const struct field_rule *rule, yyjson_val *v,
                       struct field *out)
{
    if (!yyjson_is_str(v) || !date_parse(str_make(yyjson_get_str(v), yyjson_get_len(v)), &out->date))
        return object_parser_reject_field(p, rule->name, "is not a date like 2026-06-15");
    return true;
}

static bool parse_list(struct object_parser *p, const struct field_rule *rule, yyjson_val *v,
                       struct field_list *out);

static bool parse_value(struct object_parser *p, const struct field_rule *rule, yyjson_val *v, void *out)
{
    struct field *field = (struct field *)(void *)((char *)out + rule->offset);
    if (rule->type == FIELD_TYPE)
        return true;
    if (rule->type == FIELD_LIST)
        return parse_list(p, rule, v, (struct field_list *)(void *)field);
    if (yyjson_is_null(v) && rule->nullable) {
        field->given = GIVEN_NULL;
        return true;
    }
    if (yyjson_is_null(v))
        return object_parser_reject_field(p, rule->name, "is null");
    field->given = GIVEN_VALUE;
    switch (rule->type) {
    case FIELD_ID: return parse_id(p, rule, v, field);
    case FIELD_TEXT: return parse_text(p, rule, v, field);
    case FIELD_URL: return parse_url(p, rule, v, field);
    case FIELD_TIME: return parse_time(p, rule, v, field);
    case FIELD_FLAG: return parse_flag(p, rule, v, field);
    case FIELD_DATE: return parse_date(p, rule, v, field);
    case FIELD_COUNT: return parse_count(p, rule, v, COUNT_MAX, field);
    case FIELD_TOTAL: return parse_count(p, rule, v, GAINED_MAX, field);
    case FIELD_SUM: return parse_count(p, rule, v, INT64_MAX, field);
    case FIELD_PLATFORM: return parse_platform(p, rule, v, field);
    case FIELD_TYPE:
    case FIELD_LIST: break;
    }
    return false;
}

static int find_rule(const struct field_rule *rules, struct str name)
{
    for (int i = 0; rules[i].name; i++)
        if (str_eq(name, str_from_cstr(rules[i].name)))
            return i;
    return -1;
}

/* Returns the first characters of the text, at most NAME_SHOWN bytes. */
static struct str shorten(struct str text)
{
    size_t n = 0, next;
    while (n < text.len && (next = str_utf8_sequence(text.p + n, text.len - n)) && n + next <= NAME_SHOWN)
        n += next;
    return str_make(text.p, n);
}

/* Describes an unknown field in p->unknown. The name comes from the line, so it is escaped and cut. */
static void describe_unknown(struct object_parser *p, const struct object_kind *kind, struct str name)
{
    struct nearest_word nearest = nearest_word_of(name);
    char room[6 * NAME_SHOWN + 16];
    struct buf shown = buf_on(room, sizeof room);
    for (int i = 0; kind->rules[i].name; i++)
        nearest_word_compare(&nearest, kind->rules[i].name);
    json_str(&shown, shorten(name));
    const struct str inner = str_make(shown.p + 1, shown.len - 2); /* without the quotes */
    (void)snprintf(p->unknown, sizeof p->unknown, "%.*s is not a field of %s%s%s%s",
                   (int)(name.len ? inner.len : shown.len), name.len ? inner.p : shown.p, kind->with_article,
                   nearest.best ? " (did you mean " : "", nearest.best ? nearest.best : "",
                   nearest.best ? "?)" : "");
    p->has_unknown = true;
}

static bool accept_unknown(struct object_parser *p, const struct object_kind *kind, struct str name)
{
    if (!p->has_unknown)
        describe_unknown(p, kind, name);
    return p->unknown_fields == UNKNOWN_FIELDS_IGNORED || object_parser_reject(p, "%s", p->unknown);
}

bool object_parser_parse(struct object_parser *p, yyjson_val *object, const struct object_kind *kind,
                         void *out)
{
    const struct field_rule *rules = kind->rules;
    unsigned seen = 0;
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(object, i, n, key, value)
    {
        const struct str name = str_make(yyjson_get_str(key), yyjson_get_len(key));
        const int r = find_rule(rules, name);
        if (r < 0 && !accept_unknown(p, kind, name))
            return false;
        if (r < 0)
            continue;
        if (seen & 1u << r)
            return object_parser_reject_field(p, rules[r].name, "is given twice");
        seen |= 1u << r;
        if (!parse_value(p, &rules[r], value, out))
            return false;
    }
    for (int r = 0; rules[r].name; r++)
        if (rules[r].required && !(seen & 1u << r))
            return object_parser_reject_field(p, rules[r].name, "is missing");
    return true;
}

static bool parse_item(struct object_parser *p, const struct list_rule *list, yyjson_val *v, void *out)
{
    if (!yyjson_is_obj(v))
        return object_parser_reject(p, "%s[%zu] is not an object", p->list, p->item);
    return object_parser_parse(p, v, &list->item, out);
}

/* p->list contains one name and not a stack of names, because lists are not nested. */
static bool parse_list(struct object_parser *p, const struct field_rule *rule, yyjson_val *v,
                       struct field_list *out)
{
    const struct list_rule *list = rule->list;
    size_t i, n;
    yyjson_val *item;
    if (!yyjson_is_arr(v))
        return object_parser_reject_field(p, rule->name, "is not a list");
    if (yyjson_arr_size(v) > list->max)
        return object_parser_reject(p, "%s has more than %zu items", rule->name, list->max);
    *out = (struct field_list){.count = yyjson_arr_size(v)};
    out->items = arena_alloc(&p->items, out->count * list->item_size + !out->count);
    memset(out->items, 0, out->count * list->item_size);
    yyjson_arr_foreach(v, i, n, item)
    {
        p->list = rule->name;
        p->item = i;
        if (!parse_item(p, list, item, (char *)out->items + i * list->item_size))
            return false;
    }
    p->list = NULL;
    return true;
}

static bool read_json(struct object_parser *p, struct str line)
{
    yyjson_alc pool;
    yyjson_read_err err;
    /* The old document may be in the pool: free it before the pool is reused. */
    yyjson_doc_free(p->doc);
    bool pooled = line.len <= OBJECT_POOL_LINE_MAX && yyjson_alc_pool_init(&pool, p->pool, p->pool_size);
    /* Without YYJSON_READ_INSITU yyjson copies the text and does not modify it, although its parameter is not
     * const. */
    p->doc = yyjson_read_opts((char *)(uintptr_t)line.p, line.len, YYJSON_READ_NUMBER_AS_RAW,
                              pooled ? &pool : NULL, &err);
    if (p->doc)
        return true;
    CHECK(err.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION); /* sizes are bounded by RECORD_LINE_MAX */
    if (err.code == YYJSON_READ_ERROR_UNEXPECTED_END)
        return object_parser_reject(p, "not valid JSON: the line ends too early");
    return object_parser_reject(p, "not valid JSON: %s at byte %zu", err.msg, err.pos + 1);
}

yyjson_val *object_parser_read(struct object_parser *p, struct str line)
{
    CHECK(line.len <= RECORD_LINE_MAX);
    p->list = NULL;
    p->has_unknown = false;
    arena_reset(&p->items);
    if (!read_json(p, line))
        return NULL;
    yyjson_val *root = yyjson_doc_get_root(p->doc);
    if (yyjson_is_obj(root))
        return root;
    (void)object_parser_reject(p, "not a JSON object");
    return NULL;
}
