/* Refreshes access tokens. At most one refresh per account is in flight: further requests for the account
 * wait for its result. New tokens are committed before any caller gets the result. */
#ifndef VT_FETCH_TOKEN_REFRESH_H
#define VT_FETCH_TOKEN_REFRESH_H

#include "base/next.h"
#include "store/transaction_scope.h"
#include "vault/token_vault.h"

struct http_client;
struct http_result;

/* Sends a request: http_client_send(), or a test's replacement. `done` is called once, after send() has
 * returned. */
struct token_sender {
    void *ctx;
    void (*send)(void *ctx, const struct http_request *request,
                 void (*done)(void *done_ctx, const struct http_result *result), void *done_ctx);
};
struct token_sender token_sender_of(struct http_client *client);

enum token_refresh_status {
    TOKEN_REFRESHED,    /* newer tokens are in the database: load them and try again */
    TOKEN_RETRY_LATER,  /* no response, throttled, 5xx, or another process is refreshing them */
    TOKEN_RECONNECT,    /* the platform rejected the refresh token, or there is none. The account is not
                         * marked: the caller knows whether this happens to one account or to all */
    TOKEN_APP_REJECTED, /* the platform rejects our app: do not blame the account */
    TOKEN_ACCOUNT_REMOVED,
    TOKEN_STORE_FAILED, /* the database or the encryption keys: `err` */
};

struct token_refresh_result {
    enum token_refresh_status status;
    enum err err;
    int64_t wait_ms;          /* of RETRY_LATER; 0: not given */
    enum outcome_scope scope; /* of RETRY_LATER */
    char code[64];            /* short and stable, such as "invalid_grant", "lost_in_refresh", "190.460" */
};

struct token_refresher;

/* All pointers must outlive the refresher; `keys` and scope->store are used on this thread. The scope must
 * begin transactions even if the process is stopping, because the platform has already revoked the old tokens
 * when new ones arrive. If its heartbeat fails, a request without a response is not repeated. */
struct token_refresher *token_refresher_new(const struct config *config, const struct token_sender *sender,
                                            struct seal_keys *keys, const struct transaction_scope *scope);

/* Precondition: nothing is in flight. NULL is ignored. */
void token_refresher_free(struct token_refresher *r);

/* Refreshes the tokens of account `row`. `version`: of the tokens that are too old; if the database has newer
 * ones, the result is TOKEN_REFRESHED without a request. NEXT_MORE: `*result` is set. NEXT_WAIT: `done` is
 * called once, from the loop; it may start another refresh. Call outside of transactions. */
typedef void token_done_fn(void *ctx, const struct token_refresh_result *result);
enum next token_refresher_start(struct token_refresher *r, int64_t row, int64_t version,
                                struct token_refresh_result *result, token_done_fn *done, void *ctx);

/* Refreshes in flight. Run the loop until there are none, even when stopping: new tokens would be lost. Each
 * ends within twice [platforms] timeout_ms; once the process is stopping, within that time once. */
size_t token_refresher_in_flight(const struct token_refresher *r);

/* Results of platforms, by API. */
struct token_refresh_counts {
    int64_t refreshed, retry_later, reconnect, app_rejected, store_failed;
};
const struct token_refresh_counts *token_refresher_counts(const struct token_refresher *r,
                                                          enum platform_api api);

#endif
