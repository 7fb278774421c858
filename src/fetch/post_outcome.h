/* Applies the response to a call to each of its posts. */
#ifndef VT_FETCH_POST_OUTCOME_H
#define VT_FETCH_POST_OUTCOME_H

#include "fetch/api_call.h"

/* Sets the result of each post for which the response contains one. Queues a post again if its id was
 * resolved or may not be resolved, or if another account must be tried. The remaining posts stay in
 * call->batch. `ok` is true if the outcome of the call is OUTCOME_OK. */
void post_outcomes_apply(struct api_call *call, struct pending_writes *writes, bool ok);

/* Handles a post that the platform did not return: tries another account. If there is no other account, sets
 * the result POST_MISSING or, if an account lacks the permission to read the post, POST_NO_DATA. With
 * `record`, counts a miss of the post. Pass false if all posts of the response are missing, because then the
 * account is the likely cause, or if the account lacks the permission. */
void post_set_missing(struct api_call *call, struct pending_writes *writes, struct pending_post *post,
                      bool record);

#endif
