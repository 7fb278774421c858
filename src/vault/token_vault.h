/* The token vault: stores the accounts that authors have connected, with sealed tokens, and decrypts the
 * tokens for one call at a time. The rows are described in store/platform_credentials.h.
 *
 * Of the structs below, only struct tokens and struct account_record contain tokens in plain text; the owner
 * of such a struct wipes it. Logs and error texts never contain a token. */
#ifndef VT_VAULT_TOKEN_VAULT_H
#define VT_VAULT_TOKEN_VAULT_H

#include "config/config.h"
#include "platforms/platform_settings.h"
#include "vault/seal.h"
#include "store/platform_credentials.h"

enum { ACCOUNT_ID_MAX = 200, ACCOUNT_NAME_MAX = 200, SCOPES_MAX = 1000, TOKEN_MAX = 4096 };

/* Checks that the key file contains all keys that the sealed rows need, and that each key with which tokens
 * are sealed decrypts those of at least one account. Call before a server or a refresh starts. If there are
 * no sealed rows, [secrets] key_file may be unset; if it is set, the file must exist and be valid. Returns
 * ERR_NOT_FOUND, ERR_INVALID or ERR_CORRUPT if the key file is missing, invalid or not the right one, and
 * ERR_IO if the key file or the database cannot be read. */
MUST_USE enum err vault_check_key_file(const struct config *config, struct store *s, struct error *error);

/* Numbers of sealed rows. */
struct sealed_rows {
    int64_t accounts; /* accounts at platforms */
    int64_t webhooks; /* webhooks that have a secret: those of authors and of apps */
};

/* Like vault_check_key_file(), but decrypts every row if `all` is true. `*rows` receives the numbers of
 * rows. */
MUST_USE enum err vault_inspect(const struct config *config, struct store *s, bool all,
                                struct sealed_rows *rows, struct error *error);

/* Receives a row that cannot be decrypted: ERR_NOT_FOUND if the key file lacks its key, ERR_CORRUPT if the
 * row is damaged or the key is the wrong one. */
typedef void vault_failure_fn(void *ctx, const struct error *failure);

/* Decrypts every sealed row and calls `on_failure` for each row that cannot be decrypted. Returns an error,
 * as vault_check_key_file() does, only if the rows cannot be checked. */
MUST_USE enum err vault_list_failures(const struct config *config, struct store *s, struct sealed_rows *rows,
                                      vault_failure_fn *on_failure, void *ctx, struct error *error);

/* The result of a key rotation. */
struct key_rotation_result {
    uint32_t key_id;             /* id of the new key; 0: not created yet */
    struct sealed_rows resealed; /* numbers of the rows that were sealed with the new key */
};
/* Seals all rows with a new key while servers and runs continue (`viewtally secrets rotate`). Deletes pending
 * linkings, whose authors must begin again. Uses many transactions. May be interrupted at any point and run
 * again. Returns ERR_BUSY while a server reads its keys from a credential (key_credential.h). */
MUST_USE enum err key_rotation_run(const struct config *config, struct store *s,
                                   struct key_rotation_result *result, struct error *error);

/* ---- reading tokens ---- */

/* Plain-text tokens of one account. */
struct tokens {
    int64_t row, author_row, version;
    enum platform_api api;
    struct token_grant grant; /* access_token, refresh_token (p == NULL: none), scopes, account_id */
    char *memory;             /* contains all texts of `grant`; tokens_wipe() wipes and frees it */
    size_t size;
};

/* Decrypts the tokens of the row `c`. `out` contains copies, so `c` may be freed afterwards. Returns
 * ERR_NOT_FOUND if the key file does not contain the key, or ERR_CORRUPT if the row is damaged. */
MUST_USE enum err tokens_decrypt(struct seal_keys *keys, const struct credential *c, struct tokens *out);

/* Wipes and frees the tokens. May be called after a failed tokens_decrypt(). */
void tokens_wipe(struct tokens *t);

/* Like tokens_decrypt(), but reads the row first. Also returns ERR_NOT_FOUND if there is no such row. */
MUST_USE enum err tokens_load(struct store *s, struct seal_keys *keys, int64_t row, struct tokens *out);

/* Returns true if the access token should be refreshed now. Pass true for `idle` if no call needs the token
 * now. In this case, an access token with a lifetime below two days may stay expired: it is refreshed only
 * once a week, so that the refresh token does not expire. Returns false if the author must reconnect the
 * account, or if tokens of this API cannot be refreshed. */
bool token_refresh_is_due(const struct platform_desc *desc, const struct credential *c, int64_t now_ms,
                          bool idle);

/* ---- storing an account ---- */

/* An account to store, with tokens in plain text. It contains no pointers, so that it can be passed through
 * the writer queue (writer_call.h). */
struct account_record {
    int64_t author_row;
    enum platform_api api;
    char account_id[ACCOUNT_ID_MAX + 1], name[ACCOUNT_NAME_MAX + 1], scopes[SCOPES_MAX + 1];
    char access_token[TOKEN_MAX + 1], refresh_token[TOKEN_MAX + 1]; /* refresh_token "": none */
    int64_t access_expires_at, refresh_expires_at;                  /* TIME_NONE: never, or unknown */
    int64_t obtained_at;
    bool is_personal;
};

/* Fills a record from an account that linking returned. Returns ERR_INVALID if a text is missing, too long,
 * or not UTF-8. If the grant has no lifetime and can be refreshed, it is assumed to expire in an hour. */
MUST_USE enum err account_record_init(struct account_record *out, int64_t author_row,
                                      const struct linked_account *account, int64_t now_ms,
                                      struct error *error);
/* Wipes the record. */
void account_record_wipe(struct account_record *r);

/* Seals and stores the record; `*row` receives its row. Call in a write transaction (see seal.h). Returns
 * ERR_EXISTS if another author has connected this account, or ERR_NOT_FOUND if the key file has no key. */
MUST_USE enum err account_record_store(const struct account_record *r, struct seal_keys *keys,
                                       struct store *s, int64_t *row);

#endif
