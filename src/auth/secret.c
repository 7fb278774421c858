/* Uses libsodium. Base64 is encoded by libsodium and decoded by base/base64.h. */
#include "auth/secret.h"

#include "base/base64.h"
#include "base/check.h"

#include <sodium.h>

enum { TOKEN_LEN = 2 * SECRET_LEN, TOKEN_TEXT_LEN = 86 };

static const struct str FORM_PURPOSE = {"form", 4};

void secret_generate(struct secret *out)
{
    randombytes_buf(out->b, sizeof out->b);
}

static struct str to_text(struct arena *a, const uint8_t *bytes, size_t len)
{
    size_t size = sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    char *text = arena_alloc(a, size);
    sodium_bin2base64(text, size, bytes, len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return str_make(text, size - 1);
}

static bool from_text(struct str text, uint8_t *bytes, size_t len)
{
    size_t got;
    return base64_decode(text, BASE64_URL, bytes, len, &got) && got == len;
}

struct str secret_format(struct arena *a, const struct secret *s)
{
    return to_text(a, s->b, sizeof s->b);
}

bool secret_parse(struct str text, struct secret *out)
{
    return text.len == SECRET_TEXT_LEN && from_text(text, out->b, sizeof out->b);
}

void secret_hash(const struct secret *s, uint8_t out[SECRET_HASH_BYTES])
{
    CHECK(crypto_hash_sha256(out, s->b, sizeof s->b) == 0);
}

void secret_wipe(struct secret *s)
{
    sodium_memzero(s, sizeof *s);
}

void secret_derive(const struct secret *s, struct str purpose, struct str subject, uint8_t out[SECRET_LEN])
{
    crypto_auth_hmacsha256_state state;
    const unsigned char end = 0;
    crypto_auth_hmacsha256_init(&state, s->b, sizeof s->b);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)purpose.p, purpose.len);
    crypto_auth_hmacsha256_update(&state, &end, 1);
    if (subject.len)
        crypto_auth_hmacsha256_update(&state, (const unsigned char *)subject.p, subject.len);
    crypto_auth_hmacsha256_final(&state, out);
}

struct str secret_make_form_token(struct arena *a, const struct secret *s, struct str subject)
{
    uint8_t token[TOKEN_LEN];
    randombytes_buf(token, SECRET_LEN);
    secret_derive(s, FORM_PURPOSE, subject, token + SECRET_LEN);
    for (size_t i = 0; i < SECRET_LEN; i++)
        token[SECRET_LEN + i] ^= token[i];
    return to_text(a, token, sizeof token);
}

bool secret_is_form_token(const struct secret *s, struct str subject, struct str text)
{
    uint8_t token[TOKEN_LEN], expected[SECRET_LEN];
    if (text.len != TOKEN_TEXT_LEN || !from_text(text, token, sizeof token))
        return false;
    secret_derive(s, FORM_PURPOSE, subject, expected);
    for (size_t i = 0; i < SECRET_LEN; i++)
        token[SECRET_LEN + i] ^= token[i];
    return sodium_memcmp(expected, token + SECRET_LEN, SECRET_LEN) == 0;
}
