/* What the response to a call means for each of its posts. */
#ifndef VT_FETCH_POST_OUTCOME_H
#define VT_FETCH_POST_OUTCOME_H

#include "fetch/api_call.h"

/* Settles or requeues the posts that the response decides; the others stay in call->batch. `ok`: the outcome
 * of the call is OUTCOME_OK. */
void post_outcomes_apply(struct api_call *call, struct pending_writes *writes, bool ok);

/* The platform does not have the post, or not for this account: tries another account, or settles it as
 * missing. `record`: count a miss; false if all posts of the response are missing, which says more about the
 * account than about the posts. */
void post_set_missing(struct api_call *call, struct pending_writes *writes, struct pending_post *post,
                      bool record);

#endif
