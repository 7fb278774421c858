/* Answers from the cache: what a question is to it, and how an answer comes out and goes in. */
#ifndef VT_API_KEPT_H
#define VT_API_KEPT_H

#include "api/api.h"

/* Gives the answer that was kept for this very question, if it is still true: the response is made then. The
 * owner is known and the limit has admitted. */
bool kept_answer(struct request *r);

/* Keeps a whole 200 that may be asked for again. In struct http_app.finish, before it adds its own fields. */
void kept_offer(struct request *r);

#endif
