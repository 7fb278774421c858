/* struct str is the string type: a pointer and a length. The bytes are not NUL-terminated, and the struct
 * does not own them. Where "no string" differs from an empty string, p == NULL means "no string". */
#ifndef VT_BASE_STR_H
#define VT_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *p;
    size_t len;
};

/* Makes a struct str of a string literal. Does not compile for any other argument. */
#define STR(lit) ((struct str){"" lit, sizeof("" lit) - 1})

static inline struct str str_make(const char *p, size_t len)
{
    return (struct str){p, len};
}

/* Makes a struct str of a NUL-terminated string. It is empty if `s` is NULL. */
static inline struct str str_from_cstr(const char *s)
{
    return (struct str){s, s ? strlen(s) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* Compares bytes like memcmp(). A string sorts after its prefixes. */
int str_cmp(struct str a, struct str b);

/* Returns true if the strings are equal, ignoring the case of ASCII letters. */
bool str_eq_nocase(struct str a, struct str b);

/* Returns true if `s` begins with `prefix`. */
bool str_starts_with(struct str s, struct str prefix);

/* Removes leading and trailing spaces and tabs. */
struct str str_trim(struct str s);

/* Splits `s` at the first `sep`: sets `*head` to the part before `sep` and returns the part after it. If
 * there is no `sep`, sets `*head` to all of `s` and returns a string with p == NULL. */
struct str str_cut(struct str s, char sep, struct str *head);

/* Parses an unsigned decimal number of at most `max`, without sign or white space. Returns false and does not
 * change `*out` on failure. */
bool str_to_u64(struct str s, unsigned long long max, unsigned long long *out);

/* Returns true for well-formed UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. */
bool str_is_utf8(struct str s);

/* Returns the length of the UTF-8 character at the start of the `n` bytes at `text`, or 0 if it is
 * ill-formed. Precondition: n > 0. */
size_t str_utf8_sequence(const char *text, size_t n);

/* Removes the first character from `*rest` and returns it. Returns U+FFFD instead of a NUL, and instead of a
 * byte that does not belong to a well-formed UTF-8 character. Precondition: `*rest` is not empty. */
struct str str_cut_character(struct str *rest);

#endif
