/* Percent-encoding (RFC 3986). */
#include "base/urlencode.h"

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

/* Encodes one byte as one or three characters and returns their number. Does not encode the character
 * `plain`. */
static size_t encode_byte(char *to, unsigned char c, char plain)
{
    static const char hex[] = "0123456789ABCDEF";
    if (is_unreserved(c) || (plain && c == (unsigned char)plain)) {
        to[0] = (char)c;
        return 1;
    }
    to[0] = '%';
    to[1] = hex[c >> 4];
    to[2] = hex[c & 15];
    return 3;
}

static size_t encode(char *to, struct str s, char plain)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += encode_byte(to + n, (unsigned char)s.p[i], plain);
    return n;
}

void url_append_encoded(struct buf *b, struct str s)
{
    char *to = buf_reserve(b, 3 * s.len);
    if (to)
        b->len += encode(to, s, 0);
}

struct str url_encode(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, 3 * s.len + 1);
    return str_make(p, encode(p, s, 0));
}

struct str url_with_fields(struct arena *a, struct str before, const struct url_field *fields, size_t count)
{
    size_t size = before.len + 1; /* allocated once, so that no other copy of a secret remains */
    for (size_t i = 0; i < count; i++)
        size += strlen(fields[i].name) + 3 * fields[i].value.len + 2;
    char *p = arena_alloc(a, size);
    if (before.len)
        memcpy(p, before.p, before.len);
    size_t n = before.len;
    for (size_t i = 0; i < count; i++) {
        if (!fields[i].value.p)
            continue;
        if (n > before.len)
            p[n++] = '&';
        size_t name_len = strlen(fields[i].name);
        memcpy(p + n, fields[i].name, name_len);
        n += name_len;
        p[n++] = '=';
        n += encode(p + n, fields[i].value, ',');
    }
    return str_make(p, n);
}
