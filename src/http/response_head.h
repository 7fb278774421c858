/* Writes the head of a response. Used by the connection; request handlers must not use it. */
#ifndef VT_HTTP_HEAD_H
#define VT_HTTP_HEAD_H

#include "http/response.h"

/* The formatted Date field of the current second. */
struct date_cache {
    int64_t second;
    char text[32];
};

/* How the client finds the end of the body: Content-Length, chunks, or the end of the connection. */
enum response_framing { FRAMING_LENGTH, FRAMING_CHUNKED, FRAMING_CLOSE };

/* Returns the body: the shared body, the constant body, or the content of res->body. */
struct str response_body(const struct response *res);

/* Releases the shared body, if any. */
void response_release_body(struct response *res);

/* Adds an ETag to a 200 response to GET or HEAD. Changes the response to a 304 if the client's copy is
 * current. */
void response_apply_etag(struct request *r);

/* Returns true if the status permits a body, as all do except 304 and 204. */
bool response_has_body(const struct response *res);

/* Appends the status line and the header fields. */
void response_write_head(const struct response *res, enum response_framing framing, bool keeps_alive,
                         bool http_1_0, struct date_cache *cache, struct buf *b);

#endif
