/* Calls to a platform for one account from a command: `platform test` and `platform probe`. */
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
    struct platform_options options; /* by_key false: calls carry the account's token */
    struct arena arena;              /* the account and texts of the command */
    struct credential account;
    bool refreshed, waiting;
    struct token_refresh_result token_refresh_result; /* of the last platform_session_refresh() */

    /* Of the last platform_session_send(): */
    const struct http_request *request;
    struct arena call_arena; /* request and response, wiped before the next call */
    struct http_response response;
    const char *network; /* why there is no response; NULL: there is one */
    char network_text[256];
};

/* Opens keys, database and account `row`. CLI_DONE: end with platform_session_close(); else the reason was
 * printed. */
enum cli_exit platform_session_open(struct cli *cli, int64_t row, struct platform_session **out);
void platform_session_close(struct platform_session *a);

/* Refreshes and stores the tokens. Returns false with the reason in token_refresh_result. */
bool platform_session_refresh(struct platform_session *a);
/* The same if the access token expires soon, even if the account is marked "reconnect required". */
bool platform_session_refresh_if_due(struct platform_session *a);

/* Builds the request in call_arena and sends it with the account's token or, with call->by_key, the API key.
 * Waits for the response. ERR_NOT_FOUND, ERR_CORRUPT: the tokens cannot be decrypted. */
MUST_USE enum err platform_session_send(struct platform_session *a, struct platform_call *call);

/* "facebook account 1234", for messages. */
enum { SESSION_NAME_MAX = 2 * ACCOUNT_ID_MAX };
void platform_session_name(const struct platform_session *a, char name[SESSION_NAME_MAX]);

/* Prints why the tokens could not be refreshed. */
enum cli_exit platform_session_explain_tokens(const struct platform_session *a);
/* Prints why a call could not be made. */
enum cli_exit platform_session_explain_error(enum err err);

#endif
