/* Parses and prints values of each configuration type. */
#include "config/value.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>

static void *member(const struct config *c, const struct config_key *key)
{
    return (char *)(uintptr_t)c + key->place.offset;
}

static char *copy_text(struct str s)
{
    char *p = xmalloc(s.len + 1);
    if (s.len)
        memcpy(p, s.p, s.len);
    p[s.len] = '\0';
    return p;
}

static void replace_text(struct config *c, const struct config_key *key, char *text)
{
    char **to = member(c, key);
    free(*to);
    *to = text;
}

static void set_list(struct config *c, const struct config_key *key, struct str text)
{
    struct buf joined;
    buf_init(&joined, text.len + 1);
    while (text.p) {
        struct str item;
        text = str_cut(text, ',', &item);
        item = str_trim(item);
        if (item.len == 0)
            continue;
        if (joined.len)
            buf_append_char(&joined, ',');
        buf_append(&joined, item);
    }
    replace_text(c, key, copy_text(buf_str(&joined)));
    buf_fini(&joined);
}

static bool parse_integer(const struct config_key *key, struct str text, int64_t *out, struct buf *why)
{
    unsigned long long v;
    if (!str_to_u64(text, INT64_MAX, &v) || (int64_t)v < key->min || (int64_t)v > key->max) {
        buf_printf(why, "must be a whole number from %lld to %lld", (long long)key->min, (long long)key->max);
        return false;
    }
    *out = (int64_t)v;
    return true;
}

/* Parses "5" and "5.25" to thousandths. */
static bool parse_milli(const struct config_key *key, struct str text, int64_t *out, struct buf *why)
{
    struct str whole, decimals = str_cut(text, '.', &whole);
    unsigned long long w = 0, d = 0;
    bool ok = str_to_u64(whole, INT64_MAX / 2000, &w) &&
              (!decimals.p || (decimals.len <= 3 && str_to_u64(decimals, 999, &d)));
    for (size_t i = decimals.len; i < 3; i++)
        d *= 10;
    int64_t v = (int64_t)(w * 1000 + d);
    if (!ok || v < key->min || v > key->max) {
        buf_printf(why, "must be a number from %lld to %lld with at most three decimals",
                   (long long)key->min / 1000, (long long)key->max / 1000);
        return false;
    }
    *out = v;
    return true;
}

static const struct duration_unit {
    char letter;
    int64_t ms;
} duration_units[] = {{'d', DAY_MS}, {'h', HOUR_MS}, {'m', MINUTE_MS}, {'s', SECOND_MS}};
enum { DURATION_UNITS = 4, DURATION_MAX = 1000000 };

static void print_duration(int64_t ms, struct buf *out)
{
    int i = 0;
    while (i < DURATION_UNITS - 1 && ms % duration_units[i].ms)
        i++;
    buf_printf(out, "%lld%c", (long long)(ms / duration_units[i].ms), duration_units[i].letter);
}

static bool parse_duration(const struct config_key *key, struct str text, int64_t *out, struct buf *why)
{
    unsigned long long n;
    for (int i = 0; i < DURATION_UNITS && text.len > 1; i++) {
        if (text.p[text.len - 1] != duration_units[i].letter ||
            !str_to_u64(str_make(text.p, text.len - 1), DURATION_MAX, &n))
            continue;
        const int64_t ms = (int64_t)n * duration_units[i].ms;
        if (ms < key->min || ms > key->max)
            continue;
        *out = ms;
        return true;
    }
    buf_append(why, STR("must be a whole number with s, m, h or d, such as 90m, from "));
    print_duration(key->min, why);
    buf_append(why, STR(" to "));
    print_duration(key->max, why);
    return false;
}

static bool parse_switch(struct str text, bool *out)
{
    static const char *const on[] = {"on", "yes", "true"}, *const off[] = {"off", "no", "false"};
    for (size_t i = 0; i < 3; i++) {
        bool is_on = str_eq_nocase(text, str_from_cstr(on[i]));
        if (is_on || str_eq_nocase(text, str_from_cstr(off[i]))) {
            *out = is_on;
            return true;
        }
    }
    return false;
}

static bool reject(struct buf *why, const char *sentence)
{
    buf_append(why, str_from_cstr(sentence));
    return false;
}

static bool set_date(struct config *c, const struct config_key *key, struct str text, struct buf *why)
{
    int32_t date;
    if (!date_parse(text, &date))
        return reject(why, "must be a valid date in the form YYYY-MM-DD");
    *(int64_t *)member(c, key) = date_start_ms(date);
    return true;
}

static bool set_text(struct config *c, const struct config_key *key, struct str text, struct buf *why)
{
    if (text.len > (size_t)key->max) {
        buf_printf(why, "is longer than %lld bytes", (long long)key->max);
        return false;
    }
    if (key->type == CONFIG_LIST)
        set_list(c, key, text);
    else
        replace_text(c, key, copy_text(text));
    return true;
}

bool value_set(struct config *c, const struct config_key *key, struct str text, struct buf *why)
{
    struct error rule;
    if (text.len && memchr(text.p, '\0', text.len))
        return reject(why, "contains a NUL byte");
    if (key->check && key->check(text, &rule))
        return reject(why, rule.text);
    switch (key->type) {
    case CONFIG_TEXT:
    case CONFIG_LIST: return set_text(c, key, text, why);
    case CONFIG_INTEGER: return parse_integer(key, text, member(c, key), why);
    case CONFIG_MILLI: return parse_milli(key, text, member(c, key), why);
    case CONFIG_DURATION: return parse_duration(key, text, member(c, key), why);
    case CONFIG_SWITCH: return parse_switch(text, member(c, key)) || reject(why, "must be on or off");
    case CONFIG_DATE: return set_date(c, key, text, why);
    case CONFIG_LOG_LEVEL:
        return log_level_parse(text, member(c, key)) || reject(why, "must be debug, info, warn or error");
    case CONFIG_LOG_FORMAT:
        return log_format_parse(text, member(c, key)) || reject(why, "must be text or json");
    }
    CHECK(false); /* every type has a case above */
    return false;
}

static void print_milli(int64_t v, struct buf *out)
{
    buf_printf(out, "%lld.%03lld", (long long)(v / 1000), (long long)(v % 1000));
    while (out->p[out->len - 1] == '0' && out->p[out->len - 2] != '.')
        out->len--;
}

void value_print(const struct config *c, const struct config_key *key, struct buf *out)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"}, *const formats[] = {"text",
                                                                                                "json"};
    const void *at = member(c, key);
    char date[DATE_TEXT_LEN];
    switch (key->type) {
    case CONFIG_TEXT:
    case CONFIG_LIST: buf_append(out, str_from_cstr(*(char *const *)at)); break;
    case CONFIG_INTEGER: buf_append_i64(out, *(const int64_t *)at); break;
    case CONFIG_MILLI: print_milli(*(const int64_t *)at, out); break;
    case CONFIG_DURATION: print_duration(*(const int64_t *)at, out); break;
    case CONFIG_SWITCH: buf_append(out, *(const bool *)at ? STR("on") : STR("off")); break;
    case CONFIG_DATE:
        date_format(date_of(*(const int64_t *)at), date);
        buf_append(out, str_make(date, sizeof date));
        break;
    case CONFIG_LOG_LEVEL: buf_append(out, str_from_cstr(levels[*(const enum log_level *)at])); break;
    case CONFIG_LOG_FORMAT: buf_append(out, str_from_cstr(formats[*(const enum log_format *)at])); break;
    }
}

void value_free(struct config *c, const struct config_key *key)
{
    if (key->type == CONFIG_TEXT || key->type == CONFIG_LIST)
        replace_text(c, key, NULL);
}

static size_t size_of(const struct config_key *key)
{
    switch (key->type) {
    case CONFIG_TEXT:
    case CONFIG_LIST: return sizeof(char *);
    case CONFIG_INTEGER:
    case CONFIG_MILLI:
    case CONFIG_DURATION:
    case CONFIG_DATE: return sizeof(int64_t);
    case CONFIG_SWITCH: return sizeof(bool);
    case CONFIG_LOG_LEVEL: return sizeof(enum log_level);
    case CONFIG_LOG_FORMAT: return sizeof(enum log_format);
    }
    CHECK(false); /* every type has a case above */
    return 0;
}

bool value_differs(const struct config *a, const struct config *b, const struct config_key *key)
{
    if (key->type == CONFIG_TEXT || key->type == CONFIG_LIST)
        return strcmp(*(char **)member(a, key), *(char **)member(b, key)) != 0;
    return memcmp(member(a, key), member(b, key), size_of(key)) != 0;
}

void value_swap(struct config *a, struct config *b, const struct config_key *key)
{
    char saved[sizeof(int64_t)];
    size_t size = size_of(key);
    CHECK(size <= sizeof saved);
    memcpy(saved, member(a, key), size);
    memcpy(member(a, key), member(b, key), size);
    memcpy(member(b, key), saved, size);
}

void value_copy(struct config *to, const struct config *from, const struct config_key *key)
{
    memcpy(member(to, key), member(from, key), size_of(key));
    if (key->type == CONFIG_TEXT || key->type == CONFIG_LIST)
        *(char **)member(to, key) = copy_text(str_from_cstr(*(char **)member(from, key)));
}
