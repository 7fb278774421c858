/* Strict base64 decoding. */
#ifndef VT_BASE_BASE64_H
#define VT_BASE_BASE64_H

#include "base/str.h"

enum base64_alphabet {
    BASE64_STANDARD, /* RFC 4648, 4: + and /, padded */
    BASE64_URL,      /* RFC 4648, 5: - and _, not padded */
};

/* Decodes `text` into at most `size` bytes. Returns false for a character outside the alphabet, wrong
 * padding, unused bits that are not zero, and more than `size` bytes. */
bool base64_decode(struct str text, enum base64_alphabet alphabet, void *out, size_t size, size_t *len);

#endif
