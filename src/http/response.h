/* The response to a request: status, header fields, body. The request handler builds it; the connection sends
 * it. */
#ifndef VT_HTTP_RESPONSE_H
#define VT_HTTP_RESPONSE_H

#include "base/buf.h"
#include "http/shared_body.h"

struct request;

enum { RESPONSE_FIELDS_MAX = 24 };

struct response_field {
    struct str name, value; /* if name.p == NULL, `value` contains one or more whole header lines */
};

struct response {
    int status;              /* 0 if not set */
    struct str content_type; /* p == NULL if there is no Content-Type */
    struct str etag; /* with quotes; if p == NULL, a 200 for GET or HEAD that is not streamed gets a hash
                        of the body */
    size_t field_count;
    struct response_field fields[RESPONSE_FIELDS_MAX];
    struct buf body;                 /* at most BODY_MAX_BYTES; call request_flush() before it is full */
    struct str constant_body;        /* if p != NULL, sent instead of `body`; static */
    struct shared_body *shared_body; /* if not NULL, sent instead of `body`; the response owns a reference */
    bool close;                      /* close the connection after this response */
    bool streaming;                  /* request_flush() was called */
    size_t bytes_sent;               /* bytes of the body that were sent, for the access log */
};

enum { BODY_MAX_BYTES = 8 << 20 };

/* Adds a header field. `name` and `value` must live as long as the request. CHECKs that the value contains no
 * CR, LF or NUL, so validate or encode values that a client can choose. Do not add Content-Length,
 * Transfer-Encoding, Connection, Date, ETag or Content-Type: the server adds these. */
void response_add_field(struct request *r, struct str name, struct str value);
/* Returns true if the response has a field with this name, compared case-sensitively. Fields added by
 * response_add_lines() are not found. */
bool response_has_field(const struct request *r, struct str name);

/* Adds whole header lines, each `Name: value` CR LF. The lines are not checked, so they must consist of
 * constant text and numbers only. They must live as long as the request. */
void response_add_lines(struct request *r, struct str lines);

/* Clears the status, the header fields and the body. Call to replace an unfinished response by an error.
 * Precondition: not `streaming`. */
void response_reset(struct request *r);

/* Sets the body without copying it. Acquires a reference to `body` and releases it when the response has been
 * sent or aborted. */
void response_set_shared_body(struct request *r, struct shared_body *body);

/* Replaces the current shared body with its compressed form, `body` (shared_body_compressed()). Acquires and
 * releases references like response_set_shared_body(). */
void response_replace_shared_body(struct request *r, struct shared_body *body);

/* Sets a static body without copying it. */
void response_set_constant_body(struct request *r, struct str body);

/* Returns a strong entity tag: the quoted hash of `text`, in the request's arena. */
struct str response_make_etag(struct request *r, struct str text);

/* Returns true for a GET or HEAD whose If-None-Match contains `etag` or is `*` (RFC 9110, 13.1.2; weak
 * comparison). Only handlers that compute the ETag before the body need this function. In all other cases,
 * the server compares the ETag itself. */
bool response_is_not_modified(const struct request *r, struct str etag);

#endif
