/* Validates the parts of a request, and returns the names of transport errors. */
#include "net/http_client.h"

#include "base/check.h"

#include <ctype.h>

const char *transport_error_name(enum transport_error e)
{
    static const char *const names[TRANSPORT_ERRORS] = {
        "ok", "dns", "connect", "tls", "timeout", "reset", "too_large", "protocol", "request", "address",
    };
    CHECK((unsigned)e < TRANSPORT_ERRORS);
    return names[e];
}

bool http_is_field_value(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return true;
}

bool http_is_path(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] <= ' ' || (unsigned char)s.p[i] >= 0x7f || s.p[i] == '#')
            return false;
    return s.len > 0 && s.p[0] == '/';
}

bool http_is_field_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!isalnum((unsigned char)s.p[i]) && s.p[i] != '-' && s.p[i] != '_')
            return false;
    return s.len > 0;
}
