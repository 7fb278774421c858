/* HTTP Basic credentials of an OAuth client. */
#ifndef VT_OAUTH_BASIC_AUTH_H
#define VT_OAUTH_BASIC_AUTH_H

#include "base/arena.h"

enum { BASIC_DECODED_MAX = 1024 };

/* Parses `Basic base64(id ":" secret)`, in which id and secret are form-encoded (RFC 6749, 2.3.1). Stores
 * both decoded in the arena; they may contain any bytes. The scheme is case-insensitive. Returns false for
 * another scheme, invalid base64, more than BASIC_DECODED_MAX decoded bytes, a missing colon, or an invalid
 * percent escape. */
bool basic_auth_parse(struct arena *a, struct str field, struct str *id, struct str *secret);

#endif
