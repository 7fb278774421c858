/* Random secrets of 256 bits for cookies and one-time links, as 43 characters of base64url, and values that
 * are derived from one, such as form tokens. The database stores only the SHA-256 of a secret. */
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
/* Returns false if the text is not in the form of secret_format(). */
bool secret_parse(struct str text, struct secret *out);
void secret_hash(const struct secret *s, uint8_t out[SECRET_HASH_BYTES]);
void secret_wipe(struct secret *s);

/* HMAC-SHA-256 of `purpose` and `subject` under the secret: 256 bits that cannot be computed without it. */
void secret_derive(const struct secret *s, struct str purpose, struct str subject, uint8_t out[SECRET_LEN]);

/* A form token against CSRF: the derived value, masked with random bytes. The text differs each time, so the
 * size of a compressed response reveals nothing about it (BREACH). `subject` binds the token to more than the
 * secret, or is empty. */
struct str secret_form_token(struct arena *a, const struct secret *s, struct str subject);
/* Runs in constant time. */
bool secret_is_form_token(const struct secret *s, struct str subject, struct str token);

#endif
