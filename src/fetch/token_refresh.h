/* Refreshes access tokens. At most one refresh per account is in flight: further requests for the account
 * wait for its result. New tokens are committed before any caller receives the result. */
#ifndef VT_FETCH_TOKEN_REFRESH_H
#define VT_FETCH_TOKEN_REFRESH_H

#include "base/next.h"
#include "store/transaction_scope.h"
#include "vault/token_vault.h"

struct http_client;
struct http_result;

/* Sends requests: with http_client_send(), or with a test's replacement. `done` is called once, after send()
 * has returned. */
struct token_sender {
    void *ctx;
    void (*send)(void *ctx, const struct http_request *request,
                 void (*done)(void *done_ctx, const struct http_result *result), void *done_ctx);
};
/* Returns a sender that uses `client`. */
struct token_sender token_sender_of(struct http_client *client);

/* The code of TOKEN_APP_REJECTED if no app is configured. */
#define TOKEN_NO_APP "no_app"

enum token_refresh_status {
    TOKEN_REFRESHED,   /* the database has newer tokens: load them and try again */
    TOKEN_RETRY_LATER, /* there is no usable response (for example no response at all, status 5xx, a throttled
                          request, or a request rejected as invalid), or another process is refreshing the
                          tokens */
    TOKEN_RECONNECT, /* The platform rejected the refresh token or returned tokens of another account, or the
                        account has no refresh token that can be decrypted and used. The account is not
                        marked as "reconnect required": only the caller can tell whether one account or all
                        accounts are affected. */
    TOKEN_APP_REJECTED, /* the platform rejects our app, or no app is configured (code TOKEN_NO_APP);
                           the account is not at fault */
    TOKEN_ACCOUNT_REMOVED,
    TOKEN_STORE_FAILED, /* the database or the encryption keys failed; see `err` */
};

/* Format of the error text of a run after TOKEN_STORE_FAILED: name of the API, name of the error. The failure
 * can have occurred before any request was sent. */
#define TOKEN_STORE_FAILED_TEXT                                                                              \
    "cannot refresh the tokens of %s, because the database or the key file failed: %s"

struct token_refresh_result {
    enum token_refresh_status status;
    enum err err;
    int64_t wait_ms;          /* wait that the platform requested, for TOKEN_RETRY_LATER; 0: none */
    enum outcome_scope scope; /* for TOKEN_RETRY_LATER */
    char code[64]; /* short and stable error code, such as "invalid_grant", "lost_in_refresh", "190.460" */
};

struct token_refresher;

/* Creates a refresher. All pointers must outlive it. `keys` and scope->store are used on the calling thread.
 *
 * `scope` writes the new tokens. Its begin() must work even if the process is stopping, because the platform
 * has revoked the old tokens by then. A refresh request without a response is sent again only if the scope's
 * heartbeat() succeeds. */
struct token_refresher *token_refresher_new(const struct config *config, const struct token_sender *sender,
                                            struct seal_keys *keys, const struct transaction_scope *scope);

/* Frees the refresher. No refresh may be in flight. `r` may be NULL. */
void token_refresher_free(struct token_refresher *r);

/* Called with the result of a refresh, which is valid until the function returns. */
typedef void token_done_fn(void *ctx, const struct token_refresh_result *result);

/* Refreshes the tokens of the account `row`. `version` is the version of the tokens that are too old; if the
 * database has newer tokens, the result is TOKEN_REFRESHED without a request. Returns NEXT_MORE if `*result`
 * is set. Otherwise returns NEXT_WAIT and calls `done` once, from the loop; `done` may start another refresh.
 * Call outside of transactions. */
enum next token_refresher_start(struct token_refresher *r, int64_t row, int64_t version,
                                struct token_refresh_result *result, token_done_fn *done, void *ctx);

/* Returns the number of refreshes in flight. Run the loop until it is 0, even when stopping, because
 * otherwise new tokens would be lost. Each refresh ends within twice [platforms] timeout_ms; once the process
 * is stopping, within timeout_ms. */
size_t token_refresher_in_flight(const struct token_refresher *r);

/* Numbers of refreshes of one API by their result. */
struct token_refresh_counts {
    int64_t refreshed, retry_later, reconnect, app_rejected, store_failed;
};
/* Returns the counters of an API. */
const struct token_refresh_counts *token_refresher_counts(const struct token_refresher *r,
                                                          enum platform_api api);

#endif
