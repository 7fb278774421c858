/* Expiry and sealing of tokens, for the vault itself and for token_refresh.c. */
#ifndef VT_VAULT_TOKENS_H
#define VT_VAULT_TOKENS_H

#include "vault/token_vault.h"

/* Returns the time at which an access token with this lifetime expires; TIME_NONE means never. `expires_in_s`
 * is 0 if the lifetime is unknown and -1 if the token never expires. */
int64_t token_expiry(const struct platform_desc *desc, int64_t expires_in_s, int64_t now_ms);
/* Returns the time at which a refresh token expires; TIME_NONE means never or unknown. */
int64_t refresh_token_expiry(int64_t expires_in_s, int64_t now_ms);

/* Seals both tokens of the grant for the row `c`. Appends the sealed bytes to `access` and `refresh`, and
 * makes the sealed columns of `c` point into these buffers. */
MUST_USE enum err tokens_seal(struct seal_keys *keys, struct credential *c, const struct token_grant *grant,
                              struct buf *access, struct buf *refresh);

#endif
