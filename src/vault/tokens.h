/* What credentials.c and token_refresh.c share: when a grant ends, and sealing a pair. */
#ifndef VT_VAULT_TOKENS_H
#define VT_VAULT_TOKENS_H

#include "vault/token_vault.h"

/* When a token that lives so long ends (platform.h: 0 not said, -1 never); TIME_NONE: never. */
int64_t token_expiry(const struct platform_desc *desc, int64_t expires_in_s, int64_t now_ms);
int64_t refresh_token_expiry(int64_t expires_in_s, int64_t now_ms);

/* Seals both tokens of the grant for the row that `c` is and points c's columns at the buffers. */
MUST_USE enum err token_vault_seal(struct seal_keys *keys, struct credential *c,
                                   const struct token_grant *grant, struct buf *access, struct buf *refresh);

#endif
