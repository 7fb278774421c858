/* What the result of a platform call means for its batch, its account and its API. */
#ifndef VT_FETCH_OUTCOME_H
#define VT_FETCH_OUTCOME_H

#include "fetch/api_call.h"
#include "fetch/rejections.h"

struct outcome_handler {
    struct run *run;
    struct pending_writes *writes;
    struct rejections *rejections;
    int64_t deadline; /* of the run, monotonic */
    uint64_t random;  /* seed, then state, of a generator for retry delays */
    struct {
        int accounts; /* in a row for which the platform said that our request is wrong */
        int64_t last_row;
    } bad_requests[PLATFORM_APIS];
};

enum call_next {
    CALL_FINISH,        /* the batch was settled or queued again: finish the call */
    CALL_REFRESH_TOKEN, /* refresh the token and send the call again */
};

/* Applies a result, except for the error of CALL_STORE_FAILED, which is the caller's. */
enum call_next outcome_apply(struct outcome_handler *h, struct api_call *call,
                             const struct call_result *result);

#endif
