/* JSON responses: the success envelope, the nine error codes, and the header fields of every response. The
 * OAuth endpoints use them too. */
#ifndef VT_API_ENVELOPE_H
#define VT_API_ENVELOPE_H

#include "base/json.h"
#include "http/request.h"

/* Strings live as long as the server. */
struct envelope_settings {
    const char *cors_origins; /* a comma-separated list; "": CORS is off */
    struct str key_prefix;    /* keys are cut off the debug log's targets */
};

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

/* Discards the response so far and makes an error response. Returns NEXT_DONE. Not while streaming. */
enum next envelope_error(struct request *r, enum api_error error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Response to a failed read: 503 with Retry-After, or an aborted response while streaming. Returns NEXT_DONE.
 */
enum next envelope_store_error(struct request *r, enum err err);

/* The same if the data changed too often between the slices of a response (STREAM_ABORT). */
enum next envelope_data_changed(struct request *r);

/* For struct http_app. */
enum next envelope_no_route(struct request *r);
void envelope_reject(struct request *r, const char *message);

/* Status 200, and the envelope up to and including `"success":true`. The caller appends further members. */
struct buf *envelope_begin(struct request *r);
/* Closes the envelope. Returns NEXT_DONE; makes a 500 if the response exceeds its maximum size. */
enum next envelope_end(struct request *r);

/* For struct http_app.preflight: makes the response if CORS is on and the request is a preflight. */
bool envelope_preflight(struct request *r, const struct envelope_settings *settings);

/* For struct http_app.finish: request id, caching and CORS fields. */
void envelope_finish(struct request *r, const struct envelope_settings *settings, bool varies_by_accept);

#endif
