/* Applies the result of a platform call to its posts, its account and its API. */
#ifndef VT_FETCH_OUTCOME_H
#define VT_FETCH_OUTCOME_H

#include "fetch/api_call.h"
#include "fetch/rejections.h"

struct outcome_handler {
    struct run *run;
    struct pending_writes *writes;
    struct rejections *rejections;
    int64_t deadline; /* end of the run, monotonic */
    uint64_t random;  /* state of the generator for retry delays; the caller sets a seed */
    struct {
        int accounts;     /* number of consecutive accounts (with the API key: posts) for which the platform
                             reported an error in our request */
        int64_t last_row; /* row of the last of these accounts */
    } bad_requests[PLATFORM_APIS];
};

enum call_next {
    CALL_FINISH,        /* every post has a result or was queued again: finish the call */
    CALL_REFRESH_TOKEN, /* refresh the token and send the call again */
};

/* Applies a result. With CALL_STORE_FAILED, only abandons the posts; the caller must stop the run. Returns
 * what the caller must do with the call. */
enum call_next outcome_apply(struct outcome_handler *h, struct api_call *call,
                             const struct call_result *result);

#endif
