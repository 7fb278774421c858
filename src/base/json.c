/* JSON output (RFC 8259). A string is copied in runs of characters that need no escape. */
#include "base/json.h"

void json_comma(struct buf *b)
{
    char last = b->len ? b->p[b->len - 1] : b->before;
    if (last && last != '{' && last != '[' && last != ':' && last != '\n')
        buf_append_char(b, ',');
}

void json_open(struct buf *b, char bracket)
{
    json_comma(b);
    buf_append_char(b, bracket);
}

void json_append_key(struct buf *b, struct str quoted_name_and_colon)
{
    json_comma(b);
    buf_append(b, quoted_name_and_colon);
}

void json_key(struct buf *b, struct str name)
{
    json_comma(b);
    buf_append_char(b, '"');
    buf_append(b, name);
    buf_append(b, STR("\":"));
}

/* ---- strings ---- */

static void append_escaped(struct buf *b, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    switch (c) {
    case '"': buf_append(b, STR("\\\"")); return;
    case '\\': buf_append(b, STR("\\\\")); return;
    case '\n': buf_append(b, STR("\\n")); return;
    case '\r': buf_append(b, STR("\\r")); return;
    case '\t': buf_append(b, STR("\\t")); return;
    default: break;
    }
    const char u[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    buf_append(b, str_make(u, sizeof u));
}

/* True for the ASCII characters that need no escape: all but control characters, quotes and backslashes. */
static const bool is_plain[256] = {
    [0x20] = true, [0x21] = true, [0x23 ... 0x5B] = true, [0x5D ... 0x7E] = true};

static size_t plain_length(struct str s)
{
    size_t n = 0;
    while (n < s.len && is_plain[(unsigned char)s.p[n]])
        n++;
    return n;
}

/* Appends the first character of `s`, which is not plain ASCII, and returns its length in bytes. Escapes
 * U+2028 and U+2029, which end a line in old JavaScript, and U+0080 to U+009F, which are control characters
 * of terminals. */
static size_t append_special(struct buf *b, struct str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    if (p[0] < 0x80) {
        append_escaped(b, p[0]);
        return 1;
    }
    size_t len = str_utf8_sequence(s.p, s.len);
    if (len == 0) {
        buf_append(b, STR("\xEF\xBF\xBD"));
        return 1;
    }
    if (len == 2 && p[0] == 0xC2 && p[1] < 0xA0)
        append_escaped(b, p[1]);
    else if (len == 3 && p[0] == 0xE2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9))
        buf_append(b, p[2] == 0xA8 ? STR("\\u2028") : STR("\\u2029"));
    else
        buf_append(b, str_make(s.p, len));
    return len;
}

void json_str(struct buf *b, struct str s)
{
    if (!s.p) {
        json_null(b);
        return;
    }
    json_comma(b);
    buf_append_char(b, '"');
    while (s.len) {
        size_t n = plain_length(s);
        if (n)
            buf_append(b, str_make(s.p, n));
        else
            n = append_special(b, s);
        s = str_make(s.p + n, s.len - n);
    }
    buf_append_char(b, '"');
}

/* ---- other values ---- */

static void append_value(struct buf *b, struct str text)
{
    json_comma(b);
    buf_append(b, text);
}

void json_i64(struct buf *b, int64_t v)
{
    json_comma(b);
    buf_append_i64(b, v);
}

void json_bool(struct buf *b, bool v)
{
    append_value(b, v ? STR("true") : STR("false"));
}

void json_null(struct buf *b)
{
    append_value(b, STR("null"));
}

void json_uuid(struct buf *b, const struct uuid *u)
{
    char text[UUID_TEXT_LEN + 2];
    uuid_format(u, text + 1);
    text[0] = text[sizeof text - 1] = '"';
    append_value(b, str_make(text, sizeof text));
}

void json_time(struct buf *b, int64_t t_ms)
{
    char text[TIME_TEXT_LEN + 2];
    time_format(t_ms, text + 1);
    text[0] = text[sizeof text - 1] = '"';
    append_value(b, str_make(text, sizeof text));
}

void json_date(struct buf *b, int32_t date)
{
    char text[DATE_TEXT_LEN + 2];
    date_format(date, text + 1);
    text[0] = text[sizeof text - 1] = '"';
    append_value(b, str_make(text, sizeof text));
}
