/* The shape of answers: the success envelope, the nine error codes, and the fields that every response
 * carries. */
#ifndef VT_API_ENVELOPE_H
#define VT_API_ENVELOPE_H

#include "base/error.h"
#include "base/json.h"
#include "http/request.h"

enum api_error {
    API_MISSING_KEY,
    API_INVALID_KEY,
    API_REVOKED_KEY,
    API_PLAN_INACTIVE,
    API_RATE_LIMITED,
    API_INVALID_PARAMETER,
    API_RANGE_TOO_LONG,
    API_NOT_FOUND,
    API_WRONG_METHOD, /* 405, code not_found */
    API_INTERNAL,     /* 500 */
    API_UNAVAILABLE,  /* 503, code internal_error */
};

/* Drops what was built so far and makes the error the answer. Returns NEXT_DONE. Not once streaming. */
enum next answer_error(struct request *r, enum api_error e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The answer to a failed read: 503 with Retry-After (NEXT_DONE), or an abort once streaming. */
enum next answer_store_error(struct request *r, enum err e);
/* The same for STREAM_GIVE_UP. */
enum next answer_changing(struct request *r);

/* struct http_options.reject: the error envelope for a request that the HTTP layer refused with
 * r->res.status. */
void answer_refusal(struct request *r, const char *message);

/* Status 200, JSON, and the envelope up to and with `"success":true`. The caller goes on with keys. */
struct buf *answer_begin(struct request *r);
/* Closes the envelope. NEXT_DONE; a 500 when the answer grew above its maximum. */
enum next answer_end(struct request *r);

/* struct http_app.finish: request id, caching, CORS, for each response. */
void answer_finish(struct request *r);

#endif
