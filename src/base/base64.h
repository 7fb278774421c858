/* Strict base64 decoding. */
#ifndef VT_BASE_BASE64_H
#define VT_BASE_BASE64_H

#include "base/str.h"

enum base64_alphabet {
    BASE64_STANDARD, /* RFC 4648, section 4: + and /, padded */
    BASE64_URL,      /* RFC 4648, section 5: - and _, not padded */
};

/* Decodes `text` into `out`, which has room for `size` bytes, and sets `*len` to the number of bytes. Returns
 * false if a character is not in the alphabet, the padding is wrong, unused bits are not zero, or `out` is
 * too small. */
bool base64_decode(struct str text, enum base64_alphabet alphabet, void *out, size_t size, size_t *len);

#endif
