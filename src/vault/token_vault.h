/* The authors' accounts at the platforms, with their tokens in the clear: opened for one call, put in by
 * linking, refreshed. What stands in the database is store/platform_credentials.h's, how it is sealed
 * seal.h's.
 *
 * Tokens are in the clear in a `struct tokens` and a `struct account_record` only; both are wiped by who made
 * them. No token ever goes into a log, an error or a name. */
#ifndef VT_VAULT_TOKEN_VAULT_H
#define VT_VAULT_TOKEN_VAULT_H

#include "config/config.h"
#include "platforms/platform.h"
#include "vault/seal.h"
#include "store/platform_credentials.h"
#include "store/transaction_scope.h"

enum { ACCOUNT_ID_MAX = 200, ACCOUNT_NAME_MAX = 200, SCOPES_MAX = 1000, TOKEN_MAX = 4096 };

/* ---- from the configuration ---- */

/* Both point into the configuration. client_id "": the operator has no app there. Instagram through Facebook
 * is Facebook's app. */
struct platform_options platform_options_of(const struct config *config, enum platform_api api);
struct platform_app platform_app_of(const struct config *config, enum platform_api api);
/* Accounts of it can be asked: there is an app (and, to keep tokens, a key file). */
bool platform_is_configured(const struct config *config, enum platform_api api);

/* Whether every sealed row can be opened with the keys that [secrets] key_file has: by the ids of their keys,
 * and each key by a row that it opens. Before a server or a refresh begins. `why` is a sentence. Without
 * rows no key file is wanted. */
MUST_USE enum err secrets_check(const struct config *config, struct store *s, char *why, size_t why_size);
/* The same with every row opened (`all`), and how many there are. */
MUST_USE enum err secrets_look(const struct config *config, struct store *s, bool all, int64_t *rows,
                               char *why, size_t why_size);

/* Another key for everything that is sealed, while servers and runs go on: `viewtally secrets rotate`. Many
 * transactions; may be cut off anywhere and begun again. `why` is a sentence. */
struct rotated {
    uint32_t key_id; /* 0: none was made yet */
    int64_t resealed;
};
MUST_USE enum err secrets_rotate(const struct config *config, struct store *s, struct rotated *done,
                                 char *why, size_t why_size);

/* ---- tokens in the clear ---- */

struct tokens {
    int64_t row, author_row, version;
    enum platform_api api;
    struct token_grant grant; /* access_token, refresh_token (p == NULL: none), scopes, account_id */
    char *memory;             /* all of them stand in it; wiped and freed by tokens_close() */
    size_t size;
};

/* Opens the row's tokens; `c` need not stay. ERR_NOT_FOUND: unknown key. ERR_CORRUPT: not what was sealed. */
MUST_USE enum err tokens_open(struct seal_keys *keys, const struct credential *c, struct tokens *out);
void tokens_close(struct tokens *t); /* harmless when it did not open */

/* The same by the row's number, read in a snapshot of its own. ERR_NOT_FOUND too when there is no such row.
 */
MUST_USE enum err tokens_load(struct store *s, struct seal_keys *keys, int64_t row, struct tokens *out);

/* Whether its token is to be refreshed before it is used. `idle`: it is not going to be used now, only kept
 * alive: those that die unused. False for who has to sign in again, and where nothing can be refreshed. */
bool tokens_refresh_is_due(const struct platform_desc *desc, const struct credential *c, int64_t now_ms,
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
MUST_USE bool account_record_of(struct account_record *out, int64_t author_row,
                                const struct linked_account *account, int64_t now_ms, const char **why);
void account_record_wipe(struct account_record *r);

/* Seals and writes, in an open transaction (seal.h says why there). ERR_EXISTS: another author has linked
 * this account. ERR_NOT_FOUND: there is no key to seal with. Sets `*row`. */
MUST_USE enum err account_record_save(const struct account_record *r, struct seal_keys *keys, struct store *s,
                                      int64_t *row);

/* ---- refreshing tokens ---- */

struct http_client;
struct http_result;

/* How the refresher asks: http_client_send(), or what a test has in its place. `done` is called once, never
 * before send() has returned. */
struct token_sender {
    void *ctx;
    void (*send)(void *ctx, const struct http_request *request,
                 void (*done)(void *done_ctx, const struct http_result *result), void *done_ctx);
};
struct token_sender token_sender_of(struct http_client *client);

enum token_refresh_status {
    TOKEN_REFRESHED,   /* on disk: load them, and ask again */
    TOKEN_RETRY_LATER, /* transport, throttled, 5xx, or another process is at it; wait_ms, 0: none given */
    TOKEN_RECONNECT, /* the platform refused the refresh token (or there is none to refresh with): the author
                      * must sign in again. Nothing is marked: store_credential_failed() is the caller's, who
                      * sees whether it is one account or all */
    TOKEN_APP_REJECTED,    /* our app was refused: pause the platform, leave the accounts alone */
    TOKEN_ACCOUNT_REMOVED, /* the account was removed meanwhile */
    TOKEN_STORE_FAILED,    /* the database, or the keys: `err` */
};

struct token_refresh_result {
    enum token_refresh_status result;
    enum err err;
    int64_t wait_ms;
    enum outcome_scope scope; /* of LATER */
    char code[64];            /* short and stable, such as "invalid_grant", "lost_in_refresh", "190.460" */
};

/* Single flight for each account: who asks while a refresh runs gets its answer. The new pair is on disk
 * before any of them is told. */
struct token_refresher;

/* Everything pointed to must outlive the refresher; `keys` and scope->store are used on this thread. The
 * scope must begin a transaction even if the process is stopping, because the platform has already revoked
 * the old tokens when new ones arrive. If its heartbeat fails, a request without a response is not repeated.
 */
struct token_refresher *token_refresher_new(const struct config *config, const struct token_sender *sender,
                                            struct seal_keys *keys, const struct transaction_scope *scope);
/* CHECKs that nothing is in flight. */
void token_refresher_free(struct token_refresher *r);

/* `version`: of the tokens that were found too old. NEXT_MORE: `*answer` is there (TOKEN_REFRESHED when the
 * row has newer ones by now, without a request). NEXT_WAIT: `done` is called once, from the loop; it may ask
 * again. Not to be called inside a transaction. */
typedef void token_done_fn(void *ctx, const struct token_refresh_result *answer);
enum next token_refresher_start(struct token_refresher *r, int64_t row, int64_t version,
                                struct token_refresh_result *answer, token_done_fn *done, void *ctx);

/* Refreshes in flight: the loop has to be run until there are none, also after an order to stop, for a pair
 * that was sent is lost if nobody takes it. Each ends within twice [platforms] timeout_ms, and within that
 * time itself once the process is stopping. */
size_t token_refresher_in_flight(const struct token_refresher *r);

struct token_refresh_counts {
    int64_t done, later, sign_in, operator_side, failed; /* answers of platforms, by API */
};
const struct token_refresh_counts *token_refresher_counts(const struct token_refresher *r,
                                                          enum platform_api api);

#endif
