/* Base64 with libsodium. libsodium's decoder ignores the highest bit of a byte: it reads 0xDF as '_'. Bytes
 * with this bit are rejected first, because otherwise one value would have several spellings. */
#include "base/base64.h"

#include <sodium.h>

static bool is_ascii(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] >= 0x80)
            return false;
    return true;
}

bool base64_decode(struct str text, enum base64_alphabet alphabet, void *out, size_t size, size_t *len)
{
    const int variant =
        alphabet == BASE64_URL ? sodium_base64_VARIANT_URLSAFE_NO_PADDING : sodium_base64_VARIANT_ORIGINAL;
    return is_ascii(text) && sodium_base642bin(out, size, text.p, text.len, NULL, len, NULL, variant) == 0;
}
