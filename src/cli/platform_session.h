/* Calls a platform for one account, for the commands `platform test` and `platform probe`. */
#ifndef VT_CLI_PLATFORM_SESSION_H
#define VT_CLI_PLATFORM_SESSION_H

#include "cli/cmd_platform.h"
#include "fetch/token_refresh.h"

#include <uv.h>

struct platform_session {
    const struct config *config;
    struct store *store;
    struct seal_keys *keys;
    uv_loop_t loop;
    struct http_client *client;
    struct token_refresher *refresher;
    const struct platform_desc *desc;
    struct platform_options options; /* member by_key is false: calls use the account's token */
    struct arena arena;              /* memory of the account and of texts of the command */
    struct credential account;
    bool refreshed, waiting; /* a token refresh was tried; an operation is in progress */
    struct token_refresh_result token_refresh_result; /* of the most recent platform_session_refresh() */

    /* Set by platform_session_send(): */
    const struct http_request *request;
    struct arena call_arena; /* memory of request and response; wiped before the next call */
    struct http_response response;
    const char *network; /* the network error if there is no response, else NULL */
    char network_text[256];
};

/* Loads the seal keys, opens the database and loads the account `row`. If it returns CLI_DONE, close `*out`
 * with platform_session_close(); otherwise an error has been printed. */
enum cli_exit platform_session_open(struct cli *cli, int64_t row, struct platform_session **out);
void platform_session_close(struct platform_session *a);

/* Refreshes the tokens, stores them, and loads the account again. Returns false on failure.
 * token_refresh_result contains the reason, unless its status is TOKEN_REFRESHED: then only the loading has
 * failed. */
bool platform_session_refresh(struct platform_session *a);
/* Calls platform_session_refresh() if the access token expires soon, even if the account is marked "reconnect
 * required". Otherwise does nothing and returns true. */
bool platform_session_refresh_if_due(struct platform_session *a);

/* Builds the request in call_arena, sends it and waits for the response. Uses the account's token, or if
 * call->by_key is true, the API key. Returns ERR_NOT_FOUND or ERR_CORRUPT if the tokens cannot be decrypted.
 */
MUST_USE enum err platform_session_send(struct platform_session *a, struct platform_call *call);

enum { SESSION_NAME_MAX = 2 * ACCOUNT_ID_MAX };
/* Writes "facebook account 1234" to `name`, for messages. */
void platform_session_name(const struct platform_session *a, char name[SESSION_NAME_MAX]);

/* Prints why the tokens could not be refreshed. Returns the exit status. */
enum cli_exit platform_session_print_token_error(const struct platform_session *a);
/* Prints why platform_session_send() returned `err`. Returns the exit status. */
enum cli_exit platform_session_print_send_error(enum err err);

#endif
