/* The text of API keys (decision 8): the prefix, 256 random bits as 43 base62 characters, and the CRC-32 of
 * both as 6 base62 characters. Only the SHA-256 of a key is stored. */
#ifndef VT_AUTH_API_KEY_H
#define VT_AUTH_API_KEY_H

#include "base/str.h"
#include "store/model.h"

enum { KEY_RANDOM_LEN = 43, KEY_CHECK_LEN = 6, KEY_PREFIX_MAX = 32 };
enum { KEY_TEXT_MAX = KEY_PREFIX_MAX + KEY_RANDOM_LEN + KEY_CHECK_LEN };

/* Authorization codes and client secrets (oauth/codes.h) have the same form with these prefixes. */
#define CODE_PREFIX   STR("vtcode_")
#define SECRET_PREFIX STR("vtsecret_")

struct key_text {
    char p[KEY_TEXT_MAX + 1]; /* NUL-terminated */
    size_t len;
};

/* Generates a key from the random source of the system. `prefix` has at most KEY_PREFIX_MAX bytes. */
void key_generate(struct str prefix, struct key_text *out);

/* Encodes these random bits as a key. */
enum { KEY_RANDOM_BYTES = 32 };
void key_from_random(struct str prefix, const uint8_t random[KEY_RANDOM_BYTES], struct key_text *out);

/* Checks the form and the checksum, without a lookup. */
bool key_is_well_formed(struct str prefix, struct str key);

/* For redaction in logs: returns the offset of the secret part of the first key, code or client secret in the
 * text, or of text that resembles one (a prefix and eight base62 characters); text.len if there is none. */
size_t key_locate_secret(struct str prefix, struct str text);

void key_hash(struct str key, uint8_t out[KEY_HASH_LEN]);

/* Takes the token from an Authorization header field (RFC 9110, section 11.6.2; RFC 6750, section 2.1). The
 * scheme is case-insensitive. BEARER_MISSING: no field, an empty one, another scheme, or no token. */
enum bearer { BEARER_MISSING, BEARER_PRESENT };
enum bearer key_from_authorization(struct str field, struct str *token);

/* A random UUID (version 4). */
struct uuid uuid_generate(void);

#endif
