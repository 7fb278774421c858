/* Random secrets of 256 bits for cookies and one-time links, and values derived from a secret, such as form
 * tokens. The text form of a secret is 43 characters of base64url. The database stores only the SHA-256 of a
 * secret. */
#ifndef VT_AUTH_SECRET_H
#define VT_AUTH_SECRET_H

#include "base/arena.h"

#include <stdint.h>

enum { SECRET_LEN = 32, SECRET_TEXT_LEN = 43, SECRET_HASH_BYTES = 32 };

struct secret {
    uint8_t b[SECRET_LEN];
};

/* Generates a secret with the system's random number generator. */
void secret_generate(struct secret *out);

/* Returns the text form, in the arena. */
struct str secret_format(struct arena *a, const struct secret *s);

/* Parses the text form. Returns false if `text` has another form. */
bool secret_parse(struct str text, struct secret *out);

/* Computes the SHA-256 of the secret. */
void secret_hash(const struct secret *s, uint8_t out[SECRET_HASH_BYTES]);

/* Overwrites the secret in memory. */
void secret_wipe(struct secret *s);

/* Computes the HMAC-SHA-256 of `purpose` and `subject` with the secret as the key. */
void secret_derive(const struct secret *s, struct str purpose, struct str subject, uint8_t out[SECRET_LEN]);

/* Returns a form token, which protects a form from CSRF: a value derived from the secret and `subject`,
 * masked with random bytes. The mask makes the text differ each time, so that the size of a compressed
 * response reveals nothing about the token (BREACH attack). A token is valid only for its `subject`, which
 * may be empty. */
struct str secret_make_form_token(struct arena *a, const struct secret *s, struct str subject);

/* Returns true if `token` is a form token for this secret and `subject`. Compares in constant time. */
bool secret_is_form_token(const struct secret *s, struct str subject, struct str token);

#endif
