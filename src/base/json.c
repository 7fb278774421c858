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

/* Whether one of the eight bytes at p is not plain, in one look at all of them. A byte below n makes (x - n)
 * borrow into its highest bit, and a byte equal to c makes (x ^ c) zero, which is below 1; 0x7F is found by
 * its highest bit after adding 1. May say yes for a byte beside an odd one, and never no for an odd one. */
static bool has_odd_byte(const unsigned char *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    uint64_t x;
    memcpy(&x, p, sizeof x);
    uint64_t control = x - ones * 0x20, quote = (x ^ ones * '"') - ones, backslash = (x ^ ones * '\\') - ones,
             del = x + ones;
    return ((control | quote | backslash | del | x) & highs) != 0;
}

/* Bytes at p that can be copied as they are: ASCII without controls, quote and backslash. */
static size_t plain_run(const unsigned char *p, size_t n)
{
    size_t i = 0;
    while (n - i >= 8 && !has_odd_byte(p + i))
        i += 8;
    while (i < n && p[i] >= 0x20 && p[i] < 0x7F && p[i] != '"' && p[i] != '\\')
        i++;
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
    while (p < end) {
        size_t run = plain_run(p, (size_t)(end - p));
        buf_append(b, str_make((const char *)p, run));
        p += run;
        if (p < end) {
            size_t used;
            append_odd(b, p, (size_t)(end - p), &used);
            p += used;
        }
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
