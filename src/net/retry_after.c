/* Parses Retry-After. Invalid values are ignored, because the peer is not trusted. */
#include "net/retry_after.h"

#include "base/clock.h"

#include <stdio.h>

/* Returns the value of the only header of this name; p == NULL if it is missing or repeated. */
static struct str only_value(const struct http_response *r, struct str name)
{
    struct str value = {NULL, 0};
    for (size_t i = 0; i < r->header_count; i++) {
        if (!str_eq_nocase(r->headers[i].name, name))
            continue;
        if (value.p)
            return (struct str){NULL, 0};
        value = str_trim(r->headers[i].value);
    }
    return value;
}

static int month_number(struct str name)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++)
        if (str_eq(name, str_make(names + 3 * i, 3)))
            return i + 1;
    return 0;
}

/* Parses a date such as `Sun, 06 Nov 1994 08:49:37 GMT`. The two obsolete formats are not supported. */
static bool parse_http_date(struct str s, int64_t *out)
{
    char text[40];
    if (s.len != 29 || !str_eq(str_make(s.p + 25, 4), STR(" GMT")))
        return false;
    (void)snprintf(text, sizeof text, "%.4s-%02d-%.2sT%.8sZ", s.p + 12, month_number(str_make(s.p + 8, 3)),
                   s.p + 5, s.p + 17);
    return time_parse(str_from_cstr(text), out);
}

int64_t http_retry_after_ms(const struct http_response *r, int64_t now_ms)
{
    const struct str value = only_value(r, STR("Retry-After"));
    unsigned long long seconds;
    int64_t at;
    if (str_to_u64(value, UINT32_MAX, &seconds))
        return (int64_t)seconds * SECOND_MS;
    return now_ms && parse_http_date(value, &at) && at > now_ms ? at - now_ms : 0;
}
