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
 * percent escapes. The comma is excluded although RFC 3986 allows it, because the parser joins several Host
 * fields with a comma. */
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

static bool is_lower_hex(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    return true;
}

static bool is_nonzero_hex(struct str s)
{
    size_t zeros = 0;
    while (zeros < s.len && s.p[zeros] == '0')
        zeros++;
    return zeros < s.len && is_lower_hex(s);
}

bool grammar_split_traceparent(struct str s, struct str *trace_id, struct str *parent_id)
{
    enum { VERSION = 0, TRACE = 3, PARENT = 36, FLAGS = 53, END = 55 };
    if (s.len < END || s.p[TRACE - 1] != '-' || s.p[PARENT - 1] != '-' || s.p[FLAGS - 1] != '-')
        return false;
    const struct str version = str_make(s.p + VERSION, 2);
    if (!is_lower_hex(version) || str_eq(version, STR("ff")) || !is_lower_hex(str_make(s.p + FLAGS, 2)))
        return false;
    if (s.len > END && (str_eq(version, STR("00")) || s.p[END] != '-'))
        return false;
    *trace_id = str_make(s.p + TRACE, PARENT - 1 - TRACE);
    *parent_id = str_make(s.p + PARENT, FLAGS - 1 - PARENT);
    return is_nonzero_hex(*trace_id) && is_nonzero_hex(*parent_id);
}

bool grammar_is_token_char(char c)
{
    return is_alnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

bool grammar_ends_with_chunked(struct str codings)
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
        list = str_cut(list, ',', &item); /* the server's entity tags contain no comma */
        item = str_trim(item);
        if (str_starts_with(item, STR("W/")))
            item = str_make(item.p + 2, item.len - 2);
        if (str_eq(item, etag))
            return true;
    }
    return false;
}

/* Returns true if the weight is above 0. The parameter is `q=` with 1 or 0 and at most three decimals.
 * Without a parameter the weight is 1; a malformed one is the weight 0. */
static bool has_positive_weight(struct str parameter)
{
    const struct str p = str_trim(parameter);
    if (!p.p)
        return true;
    if (p.len < 3 || p.len > 7 || (p.p[0] | 0x20) != 'q' || p.p[1] != '=')
        return false;
    if ((p.p[2] != '0' && p.p[2] != '1') || (p.len > 3 && p.p[3] != '.'))
        return false;
    bool positive = p.p[2] == '1';
    const char most = positive ? '0' : '9'; /* no weight is above 1 */
    for (size_t i = 4; i < p.len; i++) {
        if (p.p[i] < '0' || p.p[i] > most)
            return false;
        positive = positive || p.p[i] != '0';
    }
    return positive;
}

bool grammar_accepts_gzip(struct str list)
{
    bool any = false;
    struct str item, coding;
    while (list.p) {
        list = str_cut(list, ',', &item);
        const struct str weight = str_cut(item, ';', &coding);
        coding = str_trim(coding);
        if (str_eq_nocase(coding, STR("gzip")) || str_eq_nocase(coding, STR("x-gzip")))
            return has_positive_weight(weight);
        if (str_eq(coding, STR("*")))
            any = has_positive_weight(weight);
    }
    return any;
}
