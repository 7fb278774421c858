/* Encodes and checks keys. libsodium provides random bytes and SHA-256. */
#include "auth/api_key.h"

#include "base/check.h"

#include <sodium.h>

enum { RESEMBLING_LEN = 8 };

static const char base62[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* Computes the CRC-32 (ISO-HDLC, as in zip) bit by bit, because a table is not worthwhile for 60 bytes. */
static uint32_t crc32(struct str s)
{
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < s.len; i++) {
        crc ^= (unsigned char)s.p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xEDB88320 & (0 - (crc & 1)));
    }
    return ~crc;
}

/* Divides a big-endian number by 62 and returns the remainder, which is its last base62 digit. */
static unsigned divide_by_62(uint8_t *number, size_t len)
{
    unsigned remainder = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned v = remainder << 8 | number[i];
        number[i] = (uint8_t)(v / 62);
        remainder = v % 62;
    }
    return remainder;
}

static void write_checksum(char *out, struct str text)
{
    uint32_t crc = crc32(text);
    for (size_t i = KEY_CHECK_LEN; i-- > 0; crc /= 62)
        out[i] = base62[crc % 62];
}

void key_from_random(struct str prefix, const uint8_t random[KEY_RANDOM_BYTES], struct key_text *out)
{
    uint8_t number[KEY_RANDOM_BYTES];
    CHECK(prefix.len <= KEY_PREFIX_MAX);
    memcpy(number, random, sizeof number);
    memcpy(out->p, prefix.p, prefix.len);
    for (size_t i = KEY_RANDOM_LEN; i-- > 0;)
        out->p[prefix.len + i] = base62[divide_by_62(number, sizeof number)];
    size_t n = prefix.len + KEY_RANDOM_LEN;
    write_checksum(out->p + n, str_make(out->p, n));
    out->len = n + KEY_CHECK_LEN;
    out->p[out->len] = '\0';
    sodium_memzero(number, sizeof number);
}

void key_generate(struct str prefix, struct key_text *out)
{
    uint8_t random[KEY_RANDOM_BYTES];
    randombytes_buf(random, sizeof random);
    key_from_random(prefix, random, out);
    sodium_memzero(random, sizeof random);
}

static bool is_base62(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')))
            return false;
    }
    return true;
}

static size_t find_secret(struct str prefix, struct str text)
{
    for (size_t at = 0; at + prefix.len + RESEMBLING_LEN <= text.len; at++)
        if (str_starts_with(str_make(text.p + at, text.len - at), prefix) &&
            is_base62(str_make(text.p + at + prefix.len, RESEMBLING_LEN)))
            return at + prefix.len;
    return text.len;
}

size_t key_locate_secret(struct str prefix, struct str text)
{
    /* Search only the text before the earliest match so far. */
    text.len = find_secret(prefix, text);
    text.len = find_secret(CODE_PREFIX, text);
    return find_secret(SECRET_PREFIX, text);
}

bool key_is_well_formed(struct str prefix, struct str key)
{
    char check[KEY_CHECK_LEN];
    size_t n = prefix.len + KEY_RANDOM_LEN;
    if (key.len != n + KEY_CHECK_LEN || !str_starts_with(key, prefix) ||
        !is_base62(str_make(key.p + prefix.len, key.len - prefix.len)))
        return false;
    write_checksum(check, str_make(key.p, n));
    return memcmp(check, key.p + n, sizeof check) == 0;
}

void key_hash(struct str key, uint8_t out[KEY_HASH_LEN])
{
    CHECK(crypto_hash_sha256(out, (const unsigned char *)key.p, key.len) == 0);
}

enum bearer key_from_authorization(struct str field, struct str *token)
{
    struct str scheme, rest = str_cut(str_trim(field), ' ', &scheme);
    *token = str_trim(rest);
    return rest.p && str_eq_nocase(scheme, STR("Bearer")) && token->len ? BEARER_PRESENT : BEARER_MISSING;
}

struct uuid uuid_generate(void)
{
    uint8_t random[16];
    randombytes_buf(random, sizeof random);
    return uuid_from_random(random);
}
