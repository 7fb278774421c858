/* The response to a request: status, header fields, body. The request handler builds it; the connection sends
 * it. */
#ifndef VT_HTTP_RESPONSE_H
#define VT_HTTP_RESPONSE_H

#include "base/buf.h"
#include "http/shared_body.h"

struct request;

enum { RESPONSE_FIELDS_MAX = 24 };

struct response_field {
    struct str name, value; /* name.p == NULL: `value` is one or more whole lines */
};

struct response {
    int status;              /* 0: not set */
    struct str content_type; /* p == NULL: no Content-Type */
    struct str etag;         /* with quotes; p == NULL: a 200 of GET and HEAD gets a hash of the body */
    size_t field_count;
    struct response_field fields[RESPONSE_FIELDS_MAX];
    struct buf body;                 /* hard maximum BODY_MAX_BYTES: flush before it is reached */
    struct str constant_body;        /* p != NULL: sent instead of `body`; lives as long as the process */
    struct shared_body *shared_body; /* not NULL: sent instead of `body`; the response owns a reference */
    bool close;                      /* close the connection after this response */
    bool streaming;                  /* request_flush() was called */
    size_t bytes_sent;               /* of the body, for the access log */
};

enum { BODY_MAX_BYTES = 8 << 20 };

/* Adds a header field. Name and value must live as long as the request. CHECKs that the value contains no CR,
 * LF or NUL: a caller must validate or encode input first. Not for Content-Length, Transfer-Encoding,
 * Connection, Date, ETag and Content-Type, which the server adds. */
void response_add_field(struct request *r, struct str name, struct str value);
/* Compares the name case-sensitively. Fields added by response_add_lines() are not found. */
bool response_has_field(const struct request *r, struct str name);

/* Adds whole lines, each `Name: value` CR LF, of constant text and numbers. They must live as long as the
 * request. */
void response_add_lines(struct request *r, struct str lines);

/* Clears status, header fields and body, to replace a half-built response by an error. Precondition: not
 * streaming. */
void response_reset(struct request *r);

/* Sends `body` without copying it and acquires a reference to it until the response is sent or aborted. */
void response_set_shared_body(struct request *r, struct shared_body *body);
/* Sends a body that lives as long as the process, without copying it. */
void response_set_constant_body(struct request *r, struct str body);

/* A strong entity tag: the quoted hash of `text`, in the request's arena. */
struct str response_make_etag(struct request *r, struct str text);

/* True if If-None-Match contains `etag` or is `*` (RFC 9110, 13.1.2; weak comparison). For handlers that
 * compute the ETag before the body. */
bool response_is_not_modified(const struct request *r, struct str etag);

#endif
