/* HTTP Basic credentials. */
#include "oauth/basic_auth.h"

#include "base/base64.h"
#include "http/form.h"

#include <sodium.h>

bool basic_auth_parse(struct arena *a, struct str field, struct str *id, struct str *secret)
{
    char text[BASIC_DECODED_MAX];
    size_t len;
    struct str scheme, raw_id, raw_secret, coded = str_trim(str_cut(str_trim(field), ' ', &scheme));
    if (!str_eq_nocase(scheme, STR("Basic")) || !coded.p ||
        !base64_decode(coded, BASE64_STANDARD, text, sizeof text, &len))
        return false;
    raw_secret = str_cut(str_make(text, len), ':', &raw_id);
    bool ok = raw_secret.p && form_decode(a, raw_id, id) && form_decode(a, raw_secret, secret);
    sodium_memzero(text, sizeof text);
    return ok;
}
