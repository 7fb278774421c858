/* JSON out (RFC 8259). Strings are copied in runs that need no escape; everything else is the rare path. */
#include "base/json.h"

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
typedef signed char signed16 __attribute__((vector_size(16)));

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* The same of sixteen bytes at once: one more makes 0x7F the lowest of the signed numbers, so that one
 * comparison finds controls, 0x7F and all that is above it. */
static inline bool all_plain(bytes16 x)
{
    uint64_t odd[2];
    const bytes16 is_odd = (bytes16)((signed16)(x + 1) < 0x21) | (bytes16)((x == '"') | (x == '\\'));
    memcpy(odd, &is_odd, sizeof odd);
    return (odd[0] | odd[1]) == 0;
}

/* Copies sixteen bytes and says whether they could be copied as they are. */
static inline bool copy_16(char *to, const unsigned char *p)
{
    bytes16 x;
    memcpy(&x, p, sizeof x);
    memcpy(to, &x, sizeof x);
    return all_plain(x);
}

/* The same of 8 to 16 bytes: the first eight and the last eight. */
static inline bool copy_8_to_16(char *to, const unsigned char *p, size_t n)
{
    uint64_t half[2];
    bytes16 x;
    memcpy(&half[0], p, 8);
    memcpy(&half[1], p + n - 8, 8);
    memcpy(to, &half[0], 8);
    memcpy(to + n - 8, &half[1], 8);
    memcpy(&x, half, sizeof x);
    return all_plain(x);
}

/* Copies from p what can be copied as it is: ASCII without controls, quote and backslash. Returns how much
 * that was; `to` has room for n bytes. */
static size_t copy_plain(char *to, const unsigned char *p, size_t n)
{
    size_t i = 0;
    for (; n - i >= 16 && copy_16(to + i, p + i); i += 16)
        ;
    if (n - i < 16) { /* the rest, where it is short with some of what is copied */
        if (n >= 16 && copy_16(to + n - 16, p + n - 16))
            return n;
        if (n < 16 && n >= 8 && copy_8_to_16(to, p, n))
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

/* What cannot be copied as it is, and all that stands behind it. */
static void append_rest(struct buf *b, const unsigned char *p, const unsigned char *end)
{
    while (p < end) {
        size_t used;
        append_odd(b, p, (size_t)(end - p), &used);
        p += used;
        char *to = buf_reserve(b, (size_t)(end - p));
        if (!to)
            return;
        size_t run = copy_plain(to, p, (size_t)(end - p));
        b->len += run;
        p += run;
    }
}

char *json_put_str(struct buf *b, char *to, struct str s, size_t room)
{
    json_end(b, to);
    to = buf_reserve(b, s.len + 4 + room);
    if (!to)
        return NULL;
    if (!s.p)
        return put_text(to, STR("null"));
    const unsigned char *p = (const unsigned char *)s.p;
    *to = '"';
    size_t run = copy_plain(to + 1, p, s.len);
    to += run + 1;
    if (run < s.len) {
        json_end(b, to);
        append_rest(b, p + run, p + s.len);
        to = buf_reserve(b, 1 + room);
        if (!to)
            return NULL;
    }
    *to = '"';
    return to + 1;
}

void json_str(struct buf *b, struct str s)
{
    char *to = json_begin(b, 0);
    if (to && (to = json_put_str(b, to, s, 0)))
        json_end(b, to);
}

void json_i64(struct buf *b, int64_t v)
{
    char *to = json_begin(b, PUT_I64_MAX);
    if (to)
        json_end(b, put_i64(to, v));
}

void json_bool(struct buf *b, bool v)
{
    char *to = json_begin(b, PUT_BOOL_MAX);
    if (to)
        json_end(b, put_bool(to, v));
}

void json_null(struct buf *b)
{
    json_comma(b);
    buf_append(b, STR("null"));
}

void json_uuid(struct buf *b, const struct uuid *u)
{
    char *to = json_begin(b, PUT_UUID_MAX);
    if (to)
        json_end(b, put_uuid(to, u));
}

void json_time(struct buf *b, int64_t t_ms)
{
    char *to = json_begin(b, PUT_TIME_MAX);
    if (to)
        json_end(b, put_time(to, t_ms));
}

void json_date(struct buf *b, int32_t date)
{
    char *to = json_begin(b, PUT_DATE_MAX);
    if (to)
        json_end(b, put_date(to, date));
}
