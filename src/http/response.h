/* The response of a request: status, header fields, body. A handler fills it; the connection sends it. */
#ifndef VT_HTTP_RESPONSE_H
#define VT_HTTP_RESPONSE_H

#include "base/buf.h"
#include "http/shared_body.h"

struct request;

enum { RESPONSE_FIELDS_MAX = 24 };

struct response_field {
    struct str name, value; /* name.p == NULL: value is whole lines */
};

struct response {
    int status;              /* 0: not set yet */
    struct str content_type; /* p == NULL: no Content-Type */
    struct str etag;         /* with the quotes; p == NULL: made from the body for a 200 of GET and HEAD */
    size_t field_count;
    struct response_field fields[RESPONSE_FIELDS_MAX];
    struct buf body;                 /* hard maximum BODY_MAX_BYTES: a handler flushes before */
    struct str constant_body;        /* p != NULL: sent instead of `body`; lives as long as the process */
    struct shared_body *shared_body; /* not NULL: sent instead of `body`; the response owns a reference */
    bool close;                      /* the connection is closed behind this response */
    bool streaming;                  /* request_flush() was called */
    size_t bytes_sent;               /* of the body; for the log */
};

enum { BODY_MAX_BYTES = 8 << 20 };

/* Adds a header field. Name and value live at least as long as the request; the value holds no CR, LF or NUL
 * (CHECKed: no value from input reaches a header unescaped). Not for Content-Length, Transfer-Encoding,
 * Connection, Date, ETag, Content-Type. */
void response_add_field(struct request *r, struct str name, struct str value);

/* Adds whole lines, each `Name: value` CR LF, of constant text and numbers: what every answer carries is said
 * in one piece. They live at least as long as the request. */
void response_add_lines(struct request *r, struct str lines);

/* Forgets status, fields and body: for an error after a half-built answer. Not once streaming. */
void response_reset(struct request *r);

/* Sends `body` without copying it and acquires a reference to it until the response is sent or aborted. */
void response_set_shared_body(struct request *r, struct shared_body *body);
/* Sends a body that lives as long as the process, without copying it. */
void response_set_constant_body(struct request *r, struct str body);

/* The strong entity tag for a text that stands for the body: quoted hash, in the request's arena. */
struct str response_make_etag(struct request *r, struct str text);

/* If-None-Match names `etag` or is `*` (RFC 9110, 13.1.2: weak comparison). For handlers that know their ETag
 * before the body. */
bool response_is_not_modified(const struct request *r, struct str etag);

#endif
