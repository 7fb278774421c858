/* The text form of API keys: a prefix, 256 random bits as 43 base62 characters, and the CRC-32 of these two
 * parts as 6 base62 characters. The database stores the SHA-256 of a key, and its last 4 characters
 * to show them. */
#ifndef VT_AUTH_API_KEY_H
#define VT_AUTH_API_KEY_H

#include "base/str.h"
#include "store/model.h"

enum { KEY_RANDOM_LEN = 43, KEY_CHECK_LEN = 6, KEY_PREFIX_MAX = 32 };
enum { KEY_TEXT_MAX = KEY_PREFIX_MAX + KEY_RANDOM_LEN + KEY_CHECK_LEN };

/* Authorization codes and client secrets (oauth/codes.h) have the same form, with these prefixes. */
#define CODE_PREFIX   STR("vtcode_")
#define SECRET_PREFIX STR("vtsecret_")

struct key_text {
    char p[KEY_TEXT_MAX + 1]; /* NUL-terminated */
    size_t len;
};

/* Generates a key with the system's random number generator. `prefix` has at most KEY_PREFIX_MAX bytes. */
void key_generate(struct str prefix, struct key_text *out);

/* Makes a key from the given random bits, like key_generate(). */
enum { KEY_RANDOM_BYTES = 32 };
void key_from_random(struct str prefix, const uint8_t random[KEY_RANDOM_BYTES], struct key_text *out);

/* Returns true if `key` has the prefix, the form and the checksum of a key. Does not look the key up. */
bool key_is_well_formed(struct str prefix, struct str key);

/* Finds a secret that must not be logged: the first API key, authorization code or client secret in `text`. A
 * prefix followed by eight base62 characters is enough to count as a secret. Returns the offset of the first
 * character after the prefix, or text.len if there is no secret. */
size_t key_locate_secret(struct str prefix, struct str text);

/* Computes the SHA-256 of a key. */
void key_hash(struct str key, uint8_t out[KEY_HASH_LEN]);

/* Extracts the token from an Authorization header field with the scheme Bearer (RFC 9110, section 11.6.2; RFC
 * 6750, section 2.1). The scheme is case-insensitive. Returns BEARER_MISSING if the field is missing or
 * empty, has another scheme, or contains no token. */
enum bearer { BEARER_MISSING, BEARER_PRESENT };
enum bearer key_from_authorization(struct str field, struct str *token);

/* Returns a random UUID (version 4). */
struct uuid uuid_generate(void);

#endif
