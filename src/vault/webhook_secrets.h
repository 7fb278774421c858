/* Sealed secrets of webhooks. The secret of an author's endpoint can only be decrypted for this author and
 * endpoint id; the secret of an app only for its client id. */
#ifndef VT_VAULT_WEBHOOK_SECRETS_H
#define VT_VAULT_WEBHOOK_SECRETS_H

#include "store/webhooks.h"
#include "vault/seal.h"

enum { WEBHOOK_SECRET_LEN = 32 };

/* The endpoint or app to which a sealed secret is bound. */
struct webhook_secret_place {
    int64_t author_row; /* 0 for an app */
    struct str name;    /* UUID of the endpoint (16 bytes), or client id of the app */
};

/* Returns the place of the secrets that sign the messages to the endpoint: the place of its app if it belongs
 * to one, otherwise its own place. The result points into `endpoint`. */
struct webhook_secret_place webhook_secret_place_of(const struct webhook_endpoint *endpoint);

/* Seals a secret and appends the sealed bytes to `out`. Returns the errors of seal_encrypt(). */
MUST_USE enum err webhook_secret_seal(struct seal_keys *keys, const struct webhook_secret_place *place,
                                      const uint8_t secret[WEBHOOK_SECRET_LEN], struct buf *out);
/* Decrypts a sealed secret. The caller must wipe `secret` after use. Returns the errors of seal_decrypt(). */
MUST_USE enum err webhook_secret_open(struct seal_keys *keys, const struct webhook_secret_place *place,
                                      struct str sealed, uint8_t secret[WEBHOOK_SECRET_LEN]);

/* For the key rotation: reseals all secrets that are not sealed with the key `key_id`. Uses the first key of
 * `keys`, which must have this id. Uses one transaction per page of rows. Adds the number of resealed rows
 * (apps and endpoints) to `*resealed`. */
MUST_USE enum err webhook_secrets_reseal(struct store *s, struct seal_keys *keys, uint32_t key_id,
                                         int64_t *resealed, struct error *error);
/* Adds the number of rows with a secret that is sealed with a key other than `key_id` to `*count`. */
MUST_USE enum err webhook_secrets_count_old(struct store *s, uint32_t key_id, int64_t *count);

/* How the sealed rows are checked. */
struct sealed_check {
    struct seal_keys *keys;
    const char *path; /* path of the key file, for error texts; "": not configured */
    bool all;         /* decrypt every row, not just an account for each key */
    /* Called for each row that cannot be decrypted; the check then continues. NULL: the first such row ends
     * the check with an error. */
    void (*on_failure)(void *ctx, const struct error *failure);
    void *ctx;
};

/* Checks that the key file contains the key of each secret. If `check->all` is true, also checks that each
 * secret can be decrypted. Adds the number of rows with secrets to `*rows`. Returns ERR_IO if the database
 * cannot be read. */
MUST_USE enum err webhook_secrets_inspect(struct store *s, const struct sealed_check *check, int64_t *rows,
                                          struct error *error);

#endif
