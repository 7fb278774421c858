/* String operations, which treat only ASCII letters as letters, and validation of UTF-8. */
#include "base/str.h"

#include <stdint.h>

static unsigned char lower(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') ? (unsigned char)(c + 32) : c;
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (a.p[i] != b.p[i] && lower((unsigned char)a.p[i]) != lower((unsigned char)b.p[i]))
            return false;
    return true;
}

bool str_starts_with(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq(str_make(s.p, prefix.len), prefix);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct str str_trim(struct str s)
{
    while (s.len && is_blank(s.p[0])) {
        s.p++;
        s.len--;
    }
    while (s.len && is_blank(s.p[s.len - 1]))
        s.len--;
    return s;
}

struct str str_cut(struct str s, char sep, struct str *head)
{
    const char *at = s.len ? memchr(s.p, sep, s.len) : NULL;
    if (!at) {
        *head = s;
        return (struct str){NULL, 0};
    }
    size_t n = (size_t)(at - s.p);
    *head = str_make(s.p, n);
    return str_make(at + 1, s.len - n - 1);
}

bool str_to_u64(struct str s, unsigned long long max, unsigned long long *out)
{
    unsigned long long v = 0;
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        unsigned d = (unsigned)(s.p[i] - '0');
        if (v > max / 10 || d > max - v * 10)
            return false;
        v = v * 10 + d;
    }
    *out = v;
    return true;
}

/* Follows the table of valid byte sequences in RFC 3629, section 4. */
size_t str_utf8_sequence(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned char lo = 0x80, hi = 0xBF;
    size_t len;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xC2 && p[0] <= 0xDF)
        len = 2;
    else if (p[0] >= 0xE0 && p[0] <= 0xEF)
        len = 3;
    else if (p[0] >= 0xF0 && p[0] <= 0xF4)
        len = 4;
    else
        return 0;
    if (p[0] == 0xE0)
        lo = 0xA0;
    else if (p[0] == 0xED)
        hi = 0x9F;
    else if (p[0] == 0xF0)
        lo = 0x90;
    else if (p[0] == 0xF4)
        hi = 0x8F;
    if (n < len || p[1] < lo || p[1] > hi)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (p[i] < 0x80 || p[i] > 0xBF)
            return 0;
    return len;
}

struct str str_cut_character(struct str *rest)
{
    const size_t n = *rest->p ? str_utf8_sequence(rest->p, rest->len) : 0, used = n ? n : 1;
    const struct str character = n ? str_make(rest->p, n) : STR("\xEF\xBF\xBD");
    *rest = str_make(rest->p + used, rest->len - used);
    return character;
}

bool str_is_utf8(struct str s)
{
    for (size_t i = 0; i < s.len;) {
        size_t n = str_utf8_sequence(s.p + i, s.len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}
