/* Takes away too much rather than too little: a sample is to show the shape of an answer. */
#include "refresh/poll/scrub.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

enum { WORD_MOST = 12 };

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || strchr("._~+/=-|%", c) != NULL;
}

static bool is_number(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isdigit((unsigned char)p[i]))
            return false;
    return true;
}

static void mask(char *p, size_t len)
{
    memset(p, '*', len);
}

static void mask_long_words(char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t n = 0;
        while (i + n < len && text[i + n] && is_word(text[i + n]))
            n++;
        if (n > WORD_MOST && !is_number(text + i, n) && !memchr(text + i, '_', n))
            mask(text + i, n);
        i += n ? n : 1;
    }
}

/* The value behind the name that ends at `at`: up to the end of the string, the parameter or the line. */
static void mask_value(char *text, size_t len, size_t at)
{
    while (at < len && strchr("\"': =", text[at]) && text[at])
        at++;
    for (; at < len && text[at] && !strchr("\"'&,}\r\n", text[at]); at++)
        text[at] = '*';
}

static void mask_named(char *text, size_t len, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; i + n <= len; i++)
        if (strncasecmp(text + i, name, n) == 0)
            mask_value(text, len, i + n);
}

void scrub(char *text, size_t len)
{
    static const char *const names[] = {"token", "secret", "authorization", "\"code", "code=", "bearer"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        mask_named(text, len, names[i]);
    mask_long_words(text, len);
}
