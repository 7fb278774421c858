/* The authors' accounts at the platforms, with their tokens in the clear: opened for one call, put in by
 * linking, refreshed. What stands in the database is store/platform_credentials.h's, how it is sealed
 * seal.h's.
 *
 * Tokens are in the clear in a `struct tokens` and a `struct account_record` only; both are wiped by who made
 * them. No token ever goes into a log, an error or a name. */
#ifndef VT_VAULT_TOKEN_VAULT_H
#define VT_VAULT_TOKEN_VAULT_H

#include "config/config.h"
#include "platforms/platform_settings.h"
#include "vault/seal.h"
#include "store/platform_credentials.h"

enum { ACCOUNT_ID_MAX = 200, ACCOUNT_NAME_MAX = 200, SCOPES_MAX = 1000, TOKEN_MAX = 4096 };

/* Whether every sealed row can be opened with the keys that [secrets] key_file has: by the ids of their keys,
 * and each key by a row that it opens. Before a server or a refresh begins. `why` is a sentence. Without
 * rows no key file is wanted. */
MUST_USE enum err vault_check(const struct config *config, struct store *s, char *why, size_t why_size);
/* The same with every row opened (`all`), and how many there are. */
MUST_USE enum err vault_inspect(const struct config *config, struct store *s, bool all, int64_t *rows,
                                char *why, size_t why_size);

/* Another key for everything that is sealed, while servers and runs go on: `viewtally secrets rotate`. Many
 * transactions; may be cut off anywhere and begun again. `why` is a sentence. */
struct rotated {
    uint32_t key_id; /* 0: none was made yet */
    int64_t resealed;
};
MUST_USE enum err key_rotation_run(const struct config *config, struct store *s, struct rotated *done,
                                   char *why, size_t why_size);

/* ---- tokens in the clear ---- */

struct tokens {
    int64_t row, author_row, version;
    enum platform_api api;
    struct token_grant grant; /* access_token, refresh_token (p == NULL: none), scopes, account_id */
    char *memory;             /* all of them stand in it; wiped and freed by token_vault_close() */
    size_t size;
};

/* Opens the row's tokens; `c` need not stay. ERR_NOT_FOUND: unknown key. ERR_CORRUPT: not what was sealed. */
MUST_USE enum err token_vault_open(struct seal_keys *keys, const struct credential *c, struct tokens *out);
void token_vault_close(struct tokens *t); /* harmless when it did not open */

/* The same by the row's number, read in a snapshot of its own. ERR_NOT_FOUND too when there is no such row.
 */
MUST_USE enum err token_vault_load(struct store *s, struct seal_keys *keys, int64_t row, struct tokens *out);

/* Whether its token is to be refreshed before it is used. `idle`: it is not going to be used now, only kept
 * alive: those that die unused. False for who has to sign in again, and where nothing can be refreshed. */
bool token_refresh_is_due(const struct platform_desc *desc, const struct credential *c, int64_t now_ms,
                          bool idle);

/* ---- putting an account in ---- */

/* By value, so that it can go through the writer queue (writer_call.h). Texts are NUL-terminated. */
struct account_record {
    int64_t author_row;
    enum platform_api api;
    char account_id[ACCOUNT_ID_MAX + 1], name[ACCOUNT_NAME_MAX + 1], scopes[SCOPES_MAX + 1];
    char access_token[TOKEN_MAX + 1], refresh_token[TOKEN_MAX + 1]; /* refresh "": none */
    int64_t access_expires_at, refresh_expires_at;                  /* TIME_NONE: never, or not said */
    int64_t obtained_at;
    bool is_personal;
};

/* False: a text is too long, empty where it must not be, or not UTF-8; `*why` (static) says which. A grant
 * that does not say when it expires is taken to live for an hour where it can be refreshed. */
MUST_USE bool account_record_init(struct account_record *out, int64_t author_row,
                                  const struct linked_account *account, int64_t now_ms, const char **why);
void account_record_wipe(struct account_record *r);

/* Seals and writes, in an open transaction (seal.h says why there). ERR_EXISTS: another author has linked
 * this account. ERR_NOT_FOUND: there is no key to seal with. Sets `*row`. */
MUST_USE enum err account_record_store(const struct account_record *r, struct seal_keys *keys,
                                       struct store *s, int64_t *row);

#endif
