/* JSON responses: the success envelope, the nine error codes, and the header fields of every response. The
 * OAuth endpoints also use them. */
#ifndef VT_API_ENVELOPE_H
#define VT_API_ENVELOPE_H

#include "base/json.h"
#include "http/request.h"

/* The part of the configuration that responses depend on. The strings live as long as the server. */
struct envelope_settings {
    const char *cors_origins; /* comma-separated; empty if CORS is disabled */
    struct str key_prefix;    /* the prefix of API keys, to remove keys from URLs in the debug log */
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

/* Discards the response written so far and writes an error response. Returns NEXT_DONE. Do not call after
 * part of the response was sent (r->res.streaming). */
enum next envelope_error(struct request *r, enum api_error error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Like envelope_error(), but for an invalid query parameter, which the error body names in `param`. The
 * message must name the parameter too. `error` is API_INVALID_PARAMETER or API_RANGE_TOO_LONG. */
enum next envelope_param_error(struct request *r, enum api_error error, const char *param, const char *fmt,
                               ...) __attribute__((format(printf, 4, 5)));

/* Responds with 503 and Retry-After to a failed database read, or to ERR_NOMEM of any cause. If part of the
 * response was already sent, closes the connection instead. Returns NEXT_DONE. */
enum next envelope_store_error(struct request *r, enum err err);

/* Like envelope_store_error(), but for a long response that is given up because the data changed while it was
 * written (STREAM_ABORT). */
enum next envelope_data_changed(struct request *r);

/* Responds with 404, or with 405 if an endpoint at this path exists but does not accept the method. Use it as
 * http_app.no_route. */
enum next envelope_no_route(struct request *r);
/* Responds to a request that the HTTP server rejects, with `message`. Use it as http_app.reject. */
void envelope_reject(struct request *r, const char *message);

/* Sets status 200 and writes the envelope up to and including `"success":true`. Returns the response body, to
 * which the caller appends further members. */
struct buf *envelope_begin(struct request *r);
/* Closes the envelope. If the response exceeds its maximum size, replaces it with a 500, or aborts it if part
 * of it was already sent. Returns NEXT_DONE. */
enum next envelope_end(struct request *r);

/* If CORS is enabled and the request is a preflight, writes the response and returns true. Call in
 * http_app.preflight. */
bool envelope_preflight(struct request *r, const struct envelope_settings *settings);

/* The header fields of a request, other than Authorization, on which the response may depend. */
enum { VARY_ACCEPT = 1, VARY_ACCEPT_ENCODING = 2 };

/* Adds the header fields for request id, caching and CORS. `vary` is a set of the flags above. Call in
 * http_app.finish. */
void envelope_finish(struct request *r, const struct envelope_settings *settings, unsigned vary);

#endif
