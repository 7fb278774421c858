/* API keys as text (decision 8): the prefix, 43 base62 characters of 256 random bits, 6 base62 characters of
 * the CRC-32 of all that. Only the SHA-256 of a key is ever stored. */
#ifndef VT_AUTH_API_KEY_H
#define VT_AUTH_API_KEY_H

#include "base/str.h"
#include "store/model.h"

enum { KEY_RANDOM_LEN = 43, KEY_CHECK_LEN = 6, KEY_PREFIX_MAX = 32 };
enum { KEY_TEXT_MAX = KEY_PREFIX_MAX + KEY_RANDOM_LEN + KEY_CHECK_LEN };

/* Codes and secrets of OAuth (oauth/codes.h) are made like keys. */
#define CODE_PREFIX   STR("vtcode_")
#define SECRET_PREFIX STR("vtsecret_")

struct key_text {
    char p[KEY_TEXT_MAX + 1]; /* NUL-terminated */
    size_t len;
};

/* A new key from the system's random source. `prefix` is at most KEY_PREFIX_MAX bytes. */
void key_generate(struct str prefix, struct key_text *out);

/* The key of these random bits: the same bits give the same key. */
enum { KEY_RANDOM_BYTES = 32 };
void key_from_random(struct str prefix, const uint8_t random[KEY_RANDOM_BYTES], struct key_text *out);

/* Shape and checksum, without any look-up. */
bool key_is_well_formed(struct str prefix, struct str key);

/* For the log: where in a text the secret part of a key, code or client secret begins, or of what may have
 * been meant as one (the prefix and eight base62 characters); text.len when nowhere. */
size_t key_locate_secret(struct str prefix, struct str text);

void key_hash(struct str key, uint8_t out[KEY_HASH_LEN]);

/* What an Authorization field says (RFC 9110, 11.6.2; RFC 6750, 2.1): the scheme is case-insensitive. */
enum bearer { BEARER_MISSING, BEARER_PRESENT };
/* BEARER_MISSING: no field, an empty one, another scheme, or no token behind it. */
enum bearer key_from_authorization(struct str field, struct str *token);

/* Sixteen random bytes as a version 4 UUID. */
struct uuid uuid_generate(void);

#endif
