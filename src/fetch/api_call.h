/* A platform call in flight:
 *
 *   api_call_start() -> token expiring? --yes--> refresh it --> send request --> response --> result
 *                                       `--no------------------^
 *
 * A function that may have to wait returns NEXT_MORE if it has set `*result`. Otherwise it returns NEXT_WAIT,
 * and `done` of struct api_calls is called later, once. When the caller has the result, it decides what
 * happens to the posts of call->batch. Then it calls api_call_refresh_token() to send the call again, or
 * api_call_finish(). */
#ifndef VT_FETCH_API_CALL_H
#define VT_FETCH_API_CALL_H

#include "base/next.h"
#include "fetch/author_posts.h"
#include "fetch/token_refresh.h"
#include "net/http_client.h"

/* "Not sent" means "not sent again" in a result of api_call_refresh_token(). */
enum call_result_kind {
    CALL_RESPONDED, /* there is a response or a transport error; see `outcome` */
    CALL_DELAYED, /* the call was not sent, because the token cannot be refreshed now; `outcome` contains the
                     wait before the next attempt */
    CALL_RECONNECT,    /* the call was not sent, because the author must reconnect the account; see `code` */
    CALL_APP_REJECTED, /* the call was not sent, because the platform rejects our app; see `code` */
    CALL_ACCOUNT_UNUSABLE, /* the call was not sent: the account was removed or is not connected, or its
                              tokens cannot be decrypted (only then `code` is set) */
    CALL_CANCELED,         /* canceled by api_calls_cancel() */
    CALL_STORE_FAILED,     /* the call was not sent, because the database or the key file failed with `err`;
                              run_fail() has been called */
};

struct call_result {
    struct api_call *call; /* the call, which api_call_start() sets even if it returns NEXT_WAIT */
    enum call_result_kind kind;
    enum err err;
    struct outcome outcome; /* set for CALL_RESPONDED and CALL_DELAYED; its texts are static or in the arena
                               of the call */
    char code[ERROR_CODE_MAX];
};

struct api_call {
    struct list link;
    struct api_calls *calls;
    struct fetch_account *account;
    struct call_batch *batch; /* posts of the call; the call owns the batch until `done` is called or the
                                 result is returned, then the caller owns it */
    struct arena arena;
    struct platform_call request;
    int tier;               /* the request form with which the throttle counted the call */
    struct tokens tokens;   /* decrypted tokens; wiped after the request is sent */
    struct http_call *http; /* NULL if the request was not sent yet, or its response has arrived */
    bool counted;        /* the throttle counts the call: true from throttle_begin() until throttle_end() or
                            throttle_cancel() */
    bool token_is_valid; /* the token has not expired; it may be due for a refresh */
    bool refresh_tried, refreshed; /* a refresh of the token was tried; it succeeded */
    bool canceled;
};

/* All calls of a run. The caller sets the members up to `ctx`. */
struct api_calls {
    struct run *run;
    struct seal_keys *keys;
    struct http_client *http;
    struct token_refresher *refresher;
    void (*done)(void *ctx, struct api_call *call, struct call_result *result);
    void *ctx;

    struct list in_flight, spare;
    size_t count; /* number of calls in flight */
};

/* Initializes the private members. */
void api_calls_init(struct api_calls *calls);

/* Starts a call for the posts of `batch`. Counts the call in the throttle and takes ownership of the batch.
 */
enum next api_call_start(struct api_calls *calls, struct fetch_account *account, struct call_batch *batch,
                         struct call_result *result);

/* Refreshes the token, then sends the call again. Counts the call in the throttle once more. */
enum next api_call_refresh_token(struct api_call *call, struct call_result *result);

/* Frees a call. The caller must first take ownership of the batch and call throttle_end() or
 * throttle_cancel(). */
void api_call_finish(struct api_call *call);

/* Cancels all calls that have no response yet. Calls `done` with CALL_CANCELED for each of them. If a call
 * waits for a token refresh, `done` is called after the refresh has ended, otherwise immediately. */
void api_calls_cancel(struct api_calls *calls);

/* Frees the memory of finished calls. No call may be in flight. */
void api_calls_fini(struct api_calls *calls);

#endif
