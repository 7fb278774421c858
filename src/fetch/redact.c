/* Redacts too much rather than too little. Field names, punctuation and numbers are sufficient to show the
 * shape of a response. */
#include "fetch/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { PLAIN_WORD_MAX = 24 };

static bool is_word_char(char c)
{
    return c == '_' || isalnum((unsigned char)c) || (c && strchr(".~+/=-|%", c));
}

/* Returns true if the word is a number or a short lower-case name, such as a field name of an API. */
static bool is_plain(const char *p, size_t len)
{
    size_t digits = 0, lower = 0;
    for (size_t i = 0; i < len; i++) {
        digits += isdigit((unsigned char)p[i]) != 0;
        lower += islower((unsigned char)p[i]) || p[i] == '_';
    }
    return digits == len || (lower == len && len <= PLAIN_WORD_MAX);
}

static void mask_words(char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = 0;
        while (i + n < len && is_word_char(text[i + n]))
            n++;
        if (!is_plain(text + i, n))
            memset(text + i, '*', n);
        i += n ? n : 1;
    }
}

/* Masks the value that follows a name. The name ends at `at`, and the value ends with its string, parameter
 * or line. */
static void mask_value(char *text, size_t len, size_t at)
{
    while (at < len && strchr("\"': =", text[at]) && text[at])
        at++;
    for (; at < len && text[at] && !strchr("\"'&,}\r\n", text[at]); at++)
        text[at] = '*';
}

static void mask_values_of(char *text, size_t len, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i + n <= len; i++)
        if (strncasecmp(text + i, name, n) == 0)
            mask_value(text, len, i + n);
}

void redact(char *text, size_t len)
{
    static const char *const names[] = {"token", "secret", "authorization", "\"code", "code=", "bearer"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        mask_values_of(text, len, names[i]);
    mask_words(text, len);
}
