/* One platform call in flight:
 *
 *   api_call_start() -> token expiring? --yes--> refresh it --> send request --> response --> result
 *                                       `--no------------------^
 *
 * A function that may have to wait returns NEXT_MORE if `*result` is set, or NEXT_WAIT: then `done` of struct
 * api_calls is called later, once. With a result, the caller decides what to do with call->batch; it then
 * calls api_call_refresh_token() to send the call again, or api_call_finish(). */
#ifndef VT_FETCH_API_CALL_H
#define VT_FETCH_API_CALL_H

#include "base/next.h"
#include "fetch/author_posts.h"
#include "fetch/token_refresh.h"
#include "net/http_client.h"

enum call_result_kind {
    CALL_RESPONDED,        /* a response, or a transport error: `outcome` */
    CALL_DELAYED,          /* not sent, the token cannot be refreshed now: `outcome` says when to retry */
    CALL_RECONNECT,        /* not sent, the author must reconnect the account: `code` */
    CALL_APP_REJECTED,     /* not sent, the platform rejects our app: `code` */
    CALL_ACCOUNT_UNUSABLE, /* not sent, the account was removed or is not connected; or its tokens cannot be
                            * decrypted: then `code` is set */
    CALL_CANCELED,         /* by api_calls_cancel() */
    CALL_STORE_FAILED,     /* not sent, the database failed: `err`; run_fail() has been called */
};

struct call_result {
    struct api_call *call; /* set by api_call_start(), also with NEXT_WAIT */
    enum call_result_kind kind;
    enum err err;
    struct outcome outcome; /* texts are in the arena of the call */
    char code[ERROR_CODE_MAX];
};

struct api_call {
    struct list link;
    struct api_calls *calls;
    struct fetch_account *account;
    struct call_batch *batch; /* owned; the caller takes it from a result */
    struct arena arena;
    struct platform_call request;
    int tier;               /* request form that the throttle counted the call for */
    struct tokens tokens;   /* decrypted; open only until the request is built */
    struct http_call *http; /* NULL: not sent, or responded */
    bool counted;        /* throttle_begin() was called, and neither throttle_end() nor throttle_cancel() */
    bool token_is_valid; /* not expired, even if it is due for a refresh */
    bool refresh_tried, refreshed;
    bool canceled;
};

/* All calls of a run. The caller sets the first part. */
struct api_calls {
    struct run *run;
    struct seal_keys *keys;
    struct http_client *http;
    struct token_refresher *refresher;
    void (*done)(void *ctx, struct api_call *call, struct call_result *result);
    void *ctx;

    struct list in_flight, spare;
    size_t count; /* in flight */
};

void api_calls_init(struct api_calls *calls);

/* Counts the call in the throttle and takes ownership of the batch. */
enum next api_call_start(struct api_calls *calls, struct fetch_account *account, struct call_batch *batch,
                         struct call_result *result);

/* Refreshes the token and sends the call again; counts it once more. */
enum next api_call_refresh_token(struct api_call *call, struct call_result *result);

/* Precondition: the batch was taken and throttle_end() or throttle_cancel() called. */
void api_call_finish(struct api_call *call);

/* Cancels requests without a response: `done` is called with CALL_CANCELED, at once, or when the token
 * refresh that the call waits for has ended. */
void api_calls_cancel(struct api_calls *calls);

/* Precondition: nothing is in flight. */
void api_calls_fini(struct api_calls *calls);

#endif
