/* Expiry and sealing of tokens, for the vault itself and for token_refresh.c. */
#ifndef VT_VAULT_TOKENS_H
#define VT_VAULT_TOKENS_H

#include "vault/token_vault.h"

/* When a token with this lifetime expires (0: unknown, -1: never; see struct token_grant). TIME_NONE: never.
 */
int64_t token_expiry(const struct platform_desc *desc, int64_t expires_in_s, int64_t now_ms);
int64_t refresh_token_expiry(int64_t expires_in_s, int64_t now_ms);

/* Seals both tokens of the grant for the row `c`, and sets the sealed columns of `c`, which point into the
 * buffers. */
MUST_USE enum err token_vault_seal(struct seal_keys *keys, struct credential *c,
                                   const struct token_grant *grant, struct buf *access, struct buf *refresh);

#endif
