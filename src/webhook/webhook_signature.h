/* Signatures of webhook messages as defined by Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks): HMAC-SHA256 over `id.timestamp.body`. */
#ifndef VT_WEBHOOK_WEBHOOK_SIGNATURE_H
#define VT_WEBHOOK_WEBHOOK_SIGNATURE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

enum {
    WEBHOOK_SIGNATURE_ROOM = 3 + 44 + 1,
    WEBHOOK_SECRET_TEXT_ROOM = 6 + 44 + 1, /* text of a secret of WEBHOOK_SECRET_LEN bytes, with the NUL */
};

/* Writes the secret in the form that receivers store: `whsec_` followed by base64. */
void webhook_secret_format(const uint8_t *secret, char out[WEBHOOK_SECRET_TEXT_ROOM]);

/* Writes `v1,` followed by the signature in base64. `timestamp_s` is the time of the attempt in seconds since
 * 1970. */
void webhook_sign(const uint8_t *secret, size_t secret_len, struct str id, int64_t timestamp_s,
                  struct str body, char out[WEBHOOK_SIGNATURE_ROOM]);

#endif
