/* Slices: the text type inside viewtally. A slice borrows its bytes; whoever made them says how long they
 * live. */
#ifndef VT_BASE_STR_H
#define VT_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *p;
    size_t len;
};

/* A slice of a string literal; anything else does not compile. */
#define STR(lit) ((struct str){"" lit, sizeof("" lit) - 1})

static inline struct str str_make(const char *p, size_t len)
{
    return (struct str){p, len};
}

/* Slice of a NUL-terminated string; NULL gives the empty slice. */
static inline struct str str_from_cstr(const char *s)
{
    return (struct str){s, s ? strlen(s) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* Byte order, shorter first on a tie: <0, 0, >0. */
int str_cmp(struct str a, struct str b);

/* ASCII case-insensitive. */
bool str_eq_nocase(struct str a, struct str b);

bool str_starts_with(struct str s, struct str prefix);

/* Without leading and trailing spaces and tabs. */
struct str str_trim(struct str s);

/* Cuts `s` at the first `sep`: `*head` is what stands before it, the result is what stands behind it. Without
 * a `sep`
 * `*head` is all of it and the result has p == NULL. */
struct str str_cut(struct str s, char sep, struct str *head);

/* Decimal digits only, no sign, no white space, at most `max`. False leaves `*out` alone. */
bool str_to_u64(struct str s, unsigned long long max, unsigned long long *out);

/* Well-formed UTF-8 as of RFC 3629 (no overlong forms, no surrogates, nothing above U+10FFFF). */
bool str_is_utf8(struct str s);

/* Length of the one well-formed character that the n > 0 bytes at p begin with; 0: they begin with none. */
size_t str_utf8_sequence(const char *p, size_t n);

#endif
