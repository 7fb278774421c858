/* A fixture with a database of connected accounts, a token refresher, and a simulated platform. To each
 * request, the platform returns the next response of a list. The tests of the connectors cover the responses
 * of real platforms. */
#ifndef VT_TEST_CREDENTIAL_RIG_H
#define VT_TEST_CREDENTIAL_RIG_H

#include "base/clock.h"
#include "lib/temp_db.h"
#include "fetch/token_refresh.h"
#include "net/http_client.h"

#define NOW (TEST_DAY + HOUR_MS)

enum { SENDS_MAX = 16, WAITERS_MAX = 8 };

/* One response of the simulated platform. */
struct reply {
    enum transport_error error;
    int status;
    const char *body;
};

struct credential_rig {
    struct temp_db db;
    struct config config;
    char key_path[128];
    struct error error;
    struct seal_keys *keys;
    struct author author, other;
    struct token_refresher *refresher;

    /* the platform */
    const struct reply *replies;
    int sent, delivered;
    char bodies[SENDS_MAX][1024]; /* method, path and body of each request */
    void (*done[SENDS_MAX])(void *ctx, const struct http_result *result);
    void *done_ctx[SENDS_MAX];

    /* waiting callers */
    int completed;
    struct token_refresh_result results[WAITERS_MAX];
    int64_t version_when_completed;   /* committed version of the tokens when the callback was called */
    int commits_to_fail;              /* n: the n-th commit from now fails; 0: none */
    enum err (*heartbeat)(void *ctx); /* set it before rig_open_refresher() */
};
extern struct credential_rig rig;

int credential_rig_init(void **state);
int credential_rig_fini(void **state);
void rig_open_refresher(void);

/* Each of these two functions stores an account in a transaction of its own. rig_put_tiktok() stores the
 * TikTok account open-1 with the tokens act.1 and rft.1, and returns its row. */
enum err rig_put(const struct author *author, enum platform_api api, const char *id, const char *access,
                 const char *refresh, int64_t *row);
int64_t rig_put_tiktok(void);
struct credential rig_get(int64_t row);
void rig_assert_tokens(int64_t row, const char *access, const char *refresh);

/* Delivers the responses to the requests sent so far, as the event loop would. */
void rig_deliver(void);
/* The callback for functions of the token refresher: stores the result in the rig. `ctx` points to the row
 * id of the account, an int64_t. */
void rig_on_completed(void *ctx, const struct token_refresh_result *result);
/* Starts a token refresh for the account with this row id, as a caller that has the tokens of this
 * version. Delivers the responses in `replies`. Returns the status of the result. */
enum token_refresh_status rig_refresh(int64_t row, int64_t version, const struct reply *replies);

/* A token response of TikTok, and its response to a rejected refresh. */
#define PAIR(n)                                                                                              \
    "{\"access_token\":\"act." n "\",\"expires_in\":7200,\"open_id\":\"open-1\",\"refresh_expires_in\":"     \
    "15552000,\"refresh_token\":\"rft." n                                                                    \
    "\",\"scope\":\"user.info.basic,video.list\",\"token_type\":\"Bearer\"}"
#define INVALID_GRANT                                                                                        \
    "{\"error\":\"invalid_grant\",\"error_description\":\"Refresh token is invalid or "                      \
    "expired.\",\"log_id\":\"2\"}"

#endif
