/* struct str is the string type: a pointer and a length, not NUL-terminated. It does not own its bytes. p ==
 * NULL stands for "no string" where the two differ. */
#ifndef VT_BASE_STR_H
#define VT_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *p;
    size_t len;
};

/* The str of a string literal; does not compile for anything else. */
#define STR(lit) ((struct str){"" lit, sizeof("" lit) - 1})

static inline struct str str_make(const char *p, size_t len)
{
    return (struct str){p, len};
}

/* The str of a NUL-terminated string; empty for NULL. */
static inline struct str str_from_cstr(const char *s)
{
    return (struct str){s, s ? strlen(s) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* Compares bytes like memcmp(); a prefix sorts before the longer string. */
int str_cmp(struct str a, struct str b);

/* ASCII case-insensitive. */
bool str_eq_nocase(struct str a, struct str b);

bool str_starts_with(struct str s, struct str prefix);

/* Removes leading and trailing spaces and tabs. */
struct str str_trim(struct str s);

/* Splits `s` at the first `sep`: sets `*head` to the part before it and returns the part after it. Without a
 * separator, `*head` is all of `s` and the result has p == NULL. */
struct str str_cut(struct str s, char sep, struct str *head);

/* Parses decimal digits, without sign or white space, of a number up to `max`. Does not change `*out` on
 * failure. */
bool str_to_u64(struct str s, unsigned long long max, unsigned long long *out);

/* True for well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
bool str_is_utf8(struct str s);

/* Length of the well-formed UTF-8 character at the start of the n > 0 bytes at p; 0 if it is ill-formed. */
size_t str_utf8_sequence(const char *p, size_t n);

#endif
