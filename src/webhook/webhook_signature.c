/* Signs with libsodium. */
#include "webhook/webhook_signature.h"

#include "base/number.h"
#include "vault/webhook_secrets.h"

#include <sodium.h>
#include <stdio.h>

void webhook_secret_format(const uint8_t *secret, char out[WEBHOOK_SECRET_TEXT_ROOM])
{
    memcpy(out, "whsec_", 6);
    (void)sodium_bin2base64(out + 6, WEBHOOK_SECRET_TEXT_ROOM - 6, secret, WEBHOOK_SECRET_LEN,
                            sodium_base64_VARIANT_ORIGINAL);
}

static void add(crypto_auth_hmacsha256_state *state, struct str s)
{
    (void)crypto_auth_hmacsha256_update(state, (const uint8_t *)s.p, s.len);
}

void webhook_sign(const uint8_t *secret, size_t secret_len, struct str id, int64_t timestamp_s,
                  struct str body, char out[WEBHOOK_SIGNATURE_ROOM])
{
    crypto_auth_hmacsha256_state state;
    uint8_t mac[crypto_auth_hmacsha256_BYTES];
    char timestamp[24];
    const size_t len = i64_format(timestamp_s, timestamp);
    (void)crypto_auth_hmacsha256_init(&state, secret, secret_len);
    add(&state, id);
    add(&state, STR("."));
    add(&state, str_make(timestamp, len));
    add(&state, STR("."));
    add(&state, body);
    (void)crypto_auth_hmacsha256_final(&state, mac);
    memcpy(out, "v1,", 3);
    (void)sodium_bin2base64(out + 3, WEBHOOK_SIGNATURE_ROOM - 3, mac, sizeof mac,
                            sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(&state, sizeof state);
}
