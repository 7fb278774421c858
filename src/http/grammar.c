/* Checks the parts of the HTTP grammar that llhttp does not check. */
#include "http/grammar.h"

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Returns the length of the registered name at the start of `s`: unreserved characters, sub-delims and
 * percent escapes. The comma is excluded, because it joins two Host fields. */
static size_t reg_name(struct str s)
{
    size_t i = 0;
    while (i < s.len) {
        if (is_alnum(s.p[i]) || (s.p[i] && strchr("-._~!$&'()*+;=", s.p[i])))
            i++;
        else if (s.p[i] == '%' && i + 2 < s.len && is_hex(s.p[i + 1]) && is_hex(s.p[i + 2]))
            i += 3;
        else
            break;
    }
    return i;
}

static size_t ip_literal(struct str s)
{
    size_t i = 1;
    while (i < s.len && (is_hex(s.p[i]) || s.p[i] == ':' || s.p[i] == '.' || s.p[i] == 'v' || s.p[i] == 'V'))
        i++;
    return i > 1 && i < s.len && s.p[i] == ']' ? i + 1 : 0;
}

bool grammar_is_host(struct str s)
{
    size_t i = s.len && s.p[0] == '[' ? ip_literal(s) : reg_name(s);
    if (s.len && s.p[0] == '[' && i == 0)
        return false;
    if (i == s.len)
        return true;
    if (s.p[i++] != ':')
        return false;
    for (; i < s.len; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

static bool is_clean(struct str s)
{
    static const bool dirty[0x7F] = {['#'] = true, ['"'] = true, ['<'] = true, ['>'] = true, ['\\'] = true,
                                     ['^'] = true, ['`'] = true, ['{'] = true, ['|'] = true, ['}'] = true};
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] <= ' ' || s.p[i] >= 0x7F || dirty[(unsigned char)s.p[i]])
            return false;
    return true;
}

/* Removes the authority that follows "http://" or "https://". */
static bool strip_authority(struct str *s)
{
    size_t i = 0;
    while (i < s->len && s->p[i] != '/' && s->p[i] != '?')
        i++;
    if (i == 0 || s->p[0] == ':' || !grammar_is_host(str_make(s->p, i)))
        return false;
    *s = str_make(s->p + i, s->len - i);
    return true;
}

static bool strip_nocase(struct str *s, struct str prefix)
{
    if (s->len < prefix.len || !str_eq_nocase(str_make(s->p, prefix.len), prefix))
        return false;
    *s = str_make(s->p + prefix.len, s->len - prefix.len);
    return true;
}

static bool strip_origin(struct str *s)
{
    return (strip_nocase(s, STR("http://")) || strip_nocase(s, STR("https://"))) && strip_authority(s);
}

bool grammar_split_target(struct str target, struct str *path, struct str *query)
{
    struct str rest = target;
    if (!is_clean(target) || target.len == 0)
        return false;
    if (rest.p[0] != '/' && !str_eq(rest, STR("*")) && !strip_origin(&rest))
        return false;
    *query = str_cut(rest, '?', path);
    if (path->len == 0)
        *path = STR("/");
    return true;
}

bool grammar_is_request_id(struct str s)
{
    if (s.len == 0 || s.len > 128)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if (!is_alnum(s.p[i]) && s.p[i] != '.' && s.p[i] != '_' && s.p[i] != '-')
            return false;
    return true;
}

bool grammar_is_token_char(char c)
{
    return is_alnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

bool grammar_ends_chunked(struct str codings)
{
    struct str item;
    while (codings.p) {
        codings = str_cut(codings, ',', &item);
        item = str_trim(item);
        bool chunked = str_eq_nocase(item, STR("chunked"));
        if (item.len == 0 || chunked != !codings.p)
            return false;
    }
    return true;
}

bool grammar_etag_matches(struct str list, struct str etag)
{
    struct str item;
    if (str_eq(str_trim(list), STR("*")))
        return true;
    while (list.p) {
        list = str_cut(list, ',', &item); /* our entity tags contain no comma */
        item = str_trim(item);
        if (str_starts_with(item, STR("W/")))
            item = str_make(item.p + 2, item.len - 2);
        if (str_eq(item, etag))
            return true;
    }
    return false;
}
