/* One account, asked from a command: what `platform test` and `platform probe` share. */
#ifndef VT_CLI_PLATFORM_SESSION_H
#define VT_CLI_PLATFORM_SESSION_H

#include "cli/cmd_platform.h"
#include "fetch/token_refresh.h"

#include <uv.h>

struct asker {
    const struct config *config;
    struct store *store;
    struct seal_keys *keys;
    uv_loop_t loop;
    struct http_client *client;
    struct token_refresher *refresher;
    const struct platform_desc *desc;
    struct platform_options options; /* by_key false: calls carry the account's token */
    struct arena arena;              /* of the account, and of the command's own texts */
    struct credential account;
    bool refreshed, waiting;
    struct token_refresh_result
        token_refresh_result; /* why there are no newer tokens, after asker_refresh() */

    /* Of the last asker_send(): */
    const struct http_request *request;
    struct arena call_arena; /* request and response, wiped before the next call */
    struct http_response response;
    const char *network; /* why no response came; NULL: one did */
    char network_text[256];
};

/* Opens keys, database and account `row`. CLI_DONE: `*out` is for asker_close(); else the reason is printed.
 */
enum cli_exit asker_open(struct cli *cli, int64_t row, struct asker **out);
void asker_close(struct asker *a);

/* Refreshes and stores the tokens. False: token_refresh_result holds the reason. */
bool asker_refresh(struct asker *a);
/* The same if the access token expires soon. A mark that the author has to sign in again is ignored. */
bool asker_refresh_if_due(struct asker *a);

/* Builds the request in call_arena and sends it with the account's token, or with the API key where
 * call->by_key. ERR_NOT_FOUND, ERR_CORRUPT: the tokens cannot be opened. */
MUST_USE enum err asker_send(struct asker *a, struct platform_call *call);

/* "facebook account 1234", for messages. */
enum { ASKER_NAME_MAX = 2 * ACCOUNT_ID_MAX };
void asker_name(const struct asker *a, char name[ASKER_NAME_MAX]);

/* Prints why the tokens could not be refreshed. */
enum cli_exit asker_tell_tokens(const struct asker *a);
/* Prints why a call could not be made. */
enum cli_exit asker_tell_error(enum err err);

#endif
