/* Random secrets of 256 bits as they travel (cookies, one-time links): 43 characters of base64url. Stored is
 * only their SHA-256. And what is derived from one: form tokens. */
#ifndef VT_AUTH_SECRET_H
#define VT_AUTH_SECRET_H

#include "base/arena.h"

#include <stdint.h>

enum { SECRET_LEN = 32, SECRET_TEXT_LEN = 43, SECRET_HASH_BYTES = 32 };

struct secret {
    uint8_t b[SECRET_LEN];
};

void secret_generate(struct secret *out);
struct str secret_format(struct arena *a, const struct secret *s);
/* False: not exactly such a text. */
bool secret_parse(struct str text, struct secret *out);
void secret_hash(const struct secret *s, uint8_t out[SECRET_HASH_BYTES]);
void secret_wipe(struct secret *s);

/* 256 bits that only who has the secret can compute: HMAC-SHA-256 of `purpose` and `about`. */
void secret_derive(const struct secret *s, struct str purpose, struct str about, uint8_t out[SECRET_LEN]);

/* A token for a form (CSRF): the derivation behind a random mask, another text each time, so that nothing can
 * be learned from how well an answer compresses. `about` binds it to something more, or is empty. */
struct str secret_form_token(struct arena *a, const struct secret *s, struct str about);
/* In constant time. */
bool secret_is_form_token(const struct secret *s, struct str about, struct str token);

#endif
