/* Normalizes logins. */
#include "auth/login.h"

#include "base/uuid.h"
#include "store/accounts.h"

struct str login_normalize(struct arena *a, struct str text)
{
    static const struct str none = {NULL, 0};
    struct uuid id;
    struct str trimmed = str_trim(text);
    if (trimmed.len == 0 || trimmed.len > LOGIN_MAX_BYTES || uuid_parse(trimmed, &id))
        return none;
    char *out = arena_alloc(a, trimmed.len + 1);
    for (size_t i = 0; i < trimmed.len; i++) {
        char c = trimmed.p[i];
        if (c <= ' ' || c > '~')
            return none;
        out[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    return str_make(out, trimmed.len);
}
