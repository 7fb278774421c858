/* Copies the JSON one value at a time, and replaces tokens and personal data. */
#include "platforms/anonymize.h"

#include "base/json.h"
#include "platforms/jsonr.h"

#include <stdio.h>

enum {
    LONG_ID_DIGITS = 9, /* a string of this many digits or more is an id, unless it is named as a count */
    NUMBER_DIGITS = 15, /* a number of this many digits or more is an id */
    SHORT_ID = 6,
    WORD_MAX = 20, /* a longer word that contains a digit may be a token */
    NAME_MAX_LEN = 80,
    BODY_MAX = 4 << 20,
};

void anonymizer_init(struct anonymizer *a, struct arena *arena, struct str request)
{
    *a = (struct anonymizer){.arena = arena, .request = request};
}

/* ---- replacing ids ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_digit(s.p[i]))
            return false;
    return s.len > 0;
}

void anonymizer_set_id(struct anonymizer *a, struct str from, struct str to)
{
    if (a->id_count == ANONYMIZED_IDS || !from.len)
        return;
    a->ids[a->id_count].from = arena_copy(a->arena, from);
    a->ids[a->id_count++].to = arena_copy(a->arena, to);
}

static struct str known_id(const struct anonymizer *a, struct str id)
{
    for (size_t i = 0; i < a->id_count; i++)
        if (str_eq(a->ids[i].from, id))
            return a->ids[i].to;
    return (struct str){NULL, 0};
}

/* Returns another id of the same length: each digit becomes a digit, each letter becomes "A", and other
 * characters stay. The ordinal number of the id (1, 2 …) overwrites the last characters, unless the id is too
 * short. */
static struct str generate_id(struct anonymizer *a, struct str id)
{
    char number[24];
    char *to = arena_alloc(a->arena, id.len + 1);
    for (size_t i = 0; i < id.len; i++)
        to[i] = is_digit(id.p[i]) ? '0' : is_letter(id.p[i]) ? 'A' : id.p[i];
    if (id.len > 1 && to[0] == '0')
        to[0] = '1';
    const int digits = snprintf(number, sizeof number, "%zu", a->id_count + 1);
    if ((size_t)digits < id.len)
        memcpy(to + id.len - (size_t)digits, number, (size_t)digits);
    to[id.len] = '\0';
    return str_make(to, id.len);
}

struct str anonymize_id(struct anonymizer *a, struct str id)
{
    struct str known = known_id(a, id), first, second = str_cut(id, '_', &first);
    if (known.p || !id.len)
        return known.p ? known : id;
    if (second.p && is_digits(first) && is_digits(second)) {
        struct str one = anonymize_id(a, first), other = anonymize_id(a, second);
        return arena_printf(a->arena, "%.*s_%.*s", (int)one.len, one.p, (int)other.len, other.p);
    }
    if (id.len < SHORT_ID)
        return id; /* too short to identify anybody */
    struct str to = generate_id(a, id);
    anonymizer_set_id(a, id, to);
    return to;
}

/* ---- replacing tokens and ids in texts ---- */

static bool is_word_char(char c)
{
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || (c && strchr(".~+=|@%", c));
}

static bool is_token_like(struct str word)
{
    bool digit = false;
    for (size_t i = 0; i < word.len; i++) {
        if (word.p[i] == '@')
            return true;
        digit |= is_digit(word.p[i]);
    }
    return word.len > WORD_MAX && digit;
}

/* Returns the length of a URL, which ends at a space or quote. */
static size_t url_length(struct str text)
{
    size_t n = 0;
    if (!str_starts_with(text, STR("http://")) && !str_starts_with(text, STR("https://")))
        return 0;
    while (n < text.len && !strchr(" \t\r\n\"'<>)", text.p[n]))
        n++;
    return n;
}

/* Appends the word with its ids replaced. Characters that ids cannot contain separate the parts of a word, as
 * in `1784/insights/views/lifetime`. */
static void append_with_ids(struct anonymizer *a, struct buf *out, struct str word)
{
    for (size_t i = 0; i < word.len;) {
        size_t n = 0;
        while (i + n < word.len && (is_letter(word.p[i + n]) || is_digit(word.p[i + n]) ||
                                    word.p[i + n] == '_' || word.p[i + n] == '-'))
            n++;
        struct str part = str_make(word.p + i, n ? n : 1), first, second = str_cut(part, '_', &first);
        const bool composite = second.p && is_digits(first) && is_digits(second);
        const bool id = known_id(a, part).p || composite || (is_digits(part) && part.len >= LONG_ID_DIGITS);
        buf_append(out, id ? anonymize_id(a, part) : part);
        i += part.len;
    }
}

struct str anonymize_text(struct anonymizer *a, struct str text)
{
    struct buf out;
    buf_init(&out, BODY_MAX);
    for (size_t i = 0; i < text.len;) {
        size_t n = url_length(str_make(text.p + i, text.len - i));
        if (n) {
            buf_append(&out, STR("REMOVED"));
            i += n;
            continue;
        }
        while (i + n < text.len && is_word_char(text.p[i + n]))
            n++;
        struct str word = str_make(text.p + i, n ? n : 1);
        struct buf exchanged;
        buf_init(&exchanged, BODY_MAX);
        append_with_ids(a, &exchanged, word);
        const struct str to = buf_str(&exchanged);
        /* A word in which an id was replaced is not removed, because its other parts are names of the API. */
        buf_append(&out, str_eq(to, word) && is_token_like(word) ? STR("REMOVED") : to);
        buf_fini(&exchanged);
        i += word.len;
    }
    struct str result = arena_copy(a->arena, buf_str(&out));
    buf_fini(&out);
    return result;
}

/* ---- replacing values ---- */

static bool is_one_of(struct str s, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(s, str_from_cstr(list[i])))
            return true;
    return false;
}

#define ONE_OF(s, list) is_one_of(s, list, sizeof(list) / sizeof((list)[0]))

static bool ends_with(struct str s, struct str end)
{
    return s.len >= end.len && str_eq(str_make(s.p + s.len - end.len, end.len), end);
}

static bool contains(struct str text, struct str s)
{
    for (size_t i = 0; s.len && i + s.len <= text.len; i++)
        if (memcmp(text.p + i, s.p, s.len) == 0)
            return true;
    return false;
}

/* Returns true if the text may be a name of the API: it has no spaces and does not look like a token. */
static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~')
            return false;
    return s.len <= NAME_MAX_LEN && !is_token_like(s);
}

static bool is_date(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_digit(s.p[i]) && !strchr("-:+.TZ", s.p[i]))
            return false;
    return s.len >= 10 && s.len <= 32 && s.p[4] == '-';
}

/* Returns true for members whose values are names defined by the platform, never by a person. */
static bool holds_names(struct str key)
{
    static const char *const keys[] = {
        "kind",        "code",       "type",        "reason",       "domain",         "status",
        "period",      "media_type", "service",     "scope",        "token_type",     "account_type",
        "data_status", "quota_unit", "quota_limit", "quota_metric", "quota_location", "media_product_type",
        "error",       "error_type", "@type",       "permission",   "privacyStatus",  "location",
        "locationType"};
    return ONE_OF(key, keys);
}

static bool holds_message(struct str key)
{
    static const char *const keys[] = {"message", "error_message", "error_description", "error_user_msg",
                                       "error_user_title"};
    return ONE_OF(key, keys);
}

static struct str anonymize_value(struct anonymizer *a, struct str key, struct str s)
{
    const bool count = ends_with(key, STR("Count")) || ends_with(key, STR("count"));
    if (s.len && (s.p[0] == '{' || s.p[0] == '[')) {
        struct str inner = anonymize_json(a, s);
        if (inner.p)
            return inner;
    }
    if (known_id(a, s).p)
        return known_id(a, s);
    if (is_digits(s) && (count || s.len < LONG_ID_DIGITS))
        return s;
    if (!s.len || is_date(s))
        return s;
    if (holds_message(key) || str_eq(key, STR("id")) || is_digits(s))
        return anonymize_text(a, s);
    /* The path of a Facebook URL shows the kind of the video, so this part of the path stays. */
    if (str_eq(key, STR("url")) && contains(s, STR("/reel/")))
        return STR("https://x/reel/x");
    if (str_eq(key, STR("url")) && contains(s, STR("/videos/")))
        return STR("https://x/videos/x");
    const bool of_header =
        str_eq(key, STR("name")) && (str_starts_with(s, STR("X-")) || str_starts_with(s, STR("x-")));
    if (is_name(s) &&
        (holds_names(key) || of_header || (str_eq(key, STR("name")) && contains(a->request, s))))
        return s;
    return STR("x");
}

static void write_value(struct anonymizer *a, struct buf *b, struct str key, struct yyjson_val *v);

static void write_members(struct anonymizer *a, struct buf *b, struct str key, struct yyjson_val *v)
{
    const bool object = jsonr_is_object(v);
    struct jsonr_iter it = jsonr_iterate(v);
    struct str name;
    struct yyjson_val *inner;
    json_open(b, object ? '{' : '[');
    while (jsonr_next(&it, &name, &inner)) {
        if (object) {
            json_str(b, known_id(a, name).p || (is_digits(name) && name.len >= LONG_ID_DIGITS)
                            ? anonymize_id(a, name)
                            : name);
            buf_append_char(b, ':');
        }
        /* In an insight, `name` is the metric, possibly one that was not requested. */
        const bool metric = object && str_eq(name, STR("name")) && jsonr_get(v, "period");
        write_value(a, b, metric ? STR("kind") : object ? name : key, inner);
    }
    json_close(b, object ? '}' : ']');
}

/* Recursion is limited by jsonr_parse(). */
static void write_value(struct anonymizer *a, struct buf *b, struct str key, struct yyjson_val *v)
{
    struct str number = jsonr_number(v), text = jsonr_text(v);
    if (jsonr_is_object(v) || jsonr_is_array(v)) {
        write_members(a, b, key, v);
    } else if (number.p) {
        json_comma(b);
        buf_append(b, is_digits(number) && number.len >= NUMBER_DIGITS ? anonymize_id(a, number) : number);
    } else if (text.p) {
        json_str(b, anonymize_value(a, key, text));
    } else if (jsonr_is_null(v)) {
        json_null(b);
    } else {
        json_bool(b, jsonr_is_true(v));
    }
}

struct str anonymize_json(struct anonymizer *a, struct str body)
{
    struct yyjson_val *root = jsonr_parse(a->arena, body);
    struct str result = {NULL, 0};
    struct buf b;
    if (!root)
        return result;
    buf_init(&b, BODY_MAX);
    write_value(a, &b, STR(""), root);
    result = arena_copy(a->arena, buf_str(&b));
    buf_fini(&b);
    return result;
}
