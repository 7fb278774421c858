/* JSON out (RFC 8259). Strings are copied in runs that need no escape; everything else is the rare path. */
#include "base/json.h"

#include "base/clock.h"

/* U+2028 and U+2029 are valid in JSON but end a line in old JavaScript, so they are escaped too; so are
 * U+0080 to U+009F, which terminals take for control characters. */
static void escape(struct buf *b, unsigned char c)
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
    char u[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    buf_append(b, str_make(u, sizeof u));
}

typedef unsigned char bytes16 __attribute__((vector_size(16)));

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* The same of sixteen bytes at once. */
static bool all_plain(const unsigned char *p)
{
    bytes16 x;
    uint64_t odd[2];
    memcpy(&x, p, sizeof x);
    const bytes16 is_odd = (bytes16)((x < 0x20) | (x >= 0x7F) | (x == '"') | (x == '\\'));
    memcpy(odd, &is_odd, sizeof odd);
    return (odd[0] | odd[1]) == 0;
}

/* Copies from p what can be copied as it is: ASCII without controls, quote and backslash. Returns how much
 * that was; `to` has room for n bytes. */
static size_t copy_plain(char *to, const unsigned char *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 16 && all_plain(p + i); i += 16)
        memcpy(to + i, p + i, 16);
    if (i < n && n - i < 16 && n >= 16 && all_plain(p + n - 16)) { /* the rest, with some of what is copied */
        memcpy(to + n - 16, p + n - 16, 16);
        return n;
    }
    for (; i < n && is_plain(p[i]); i++)
        to[i] = (char)p[i];
    return i;
}

/* Length of the longest well-formed multi-byte sequence at p, 0 when there is none. */
static size_t multi_byte(const unsigned char *p, size_t n)
{
    for (size_t len = 2; len <= 4 && len <= n; len++)
        if (str_is_utf8(str_make((const char *)p, len)))
            return len;
    return 0;
}

static void append_odd(struct buf *b, const unsigned char *p, size_t n, size_t *used)
{
    *used = 1;
    if (p[0] < 0x80) {
        escape(b, p[0]);
        return;
    }
    size_t len = multi_byte(p, n);
    if (len == 0) {
        buf_append(b, STR("\xEF\xBF\xBD"));
        return;
    }
    *used = len;
    if (len == 2 && p[0] == 0xC2 && p[1] < 0xA0)
        escape(b, p[1]);
    else if (len == 3 && p[0] == 0xE2 && p[1] == 0x80 && (p[2] == 0xA8 || p[2] == 0xA9))
        buf_append(b, p[2] == 0xA8 ? STR("\\u2028") : STR("\\u2029"));
    else
        buf_append(b, str_make((const char *)p, len));
}

void json_str(struct buf *b, struct str s)
{
    if (!s.p) {
        json_null(b);
        return;
    }
    json_comma(b);
    buf_append_char(b, '"');
    const unsigned char *p = (const unsigned char *)s.p, *end = p + s.len;
    for (;;) {
        size_t left = (size_t)(end - p), used;
        char *to = buf_reserve(b, left + 1);
        if (!to)
            return;
        size_t run = copy_plain(to, p, left);
        b->len += run;
        if (run == left)
            break;
        append_odd(b, p + run, left - run, &used);
        p += run + used;
    }
    buf_append_char(b, '"');
}

void json_i64(struct buf *b, int64_t v)
{
    json_comma(b);
    buf_append_i64(b, v);
}

void json_bool(struct buf *b, bool v)
{
    json_comma(b);
    buf_append(b, v ? STR("true") : STR("false"));
}

void json_null(struct buf *b)
{
    json_comma(b);
    buf_append(b, STR("null"));
}

/* Room for a quoted text of `len` characters; the caller fills the middle. NULL when the buffer failed. */
static char *quoted(struct buf *b, size_t len)
{
    json_comma(b);
    char *to = buf_reserve(b, len + 2);
    if (!to)
        return NULL;
    to[0] = to[len + 1] = '"';
    b->len += len + 2;
    return to + 1;
}

void json_uuid(struct buf *b, const struct uuid *u)
{
    char *to = quoted(b, UUID_TEXT_LEN);
    if (to)
        uuid_format(u, to);
}

void json_time(struct buf *b, int64_t t_ms)
{
    char *to = quoted(b, TIME_TEXT_LEN);
    if (to)
        time_format(t_ms, to);
}

void json_date(struct buf *b, int32_t date)
{
    char *to = quoted(b, DATE_TEXT_LEN);
    if (to)
        date_format(date, to);
}
