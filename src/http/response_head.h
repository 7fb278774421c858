/* Writes the head of a response. For the connection, not for request handlers. */
#ifndef VT_HTTP_HEAD_H
#define VT_HTTP_HEAD_H

#include "http/response.h"

struct date_cache {
    int64_t second;
    char text[32];
};

enum response_framing { FRAMING_LENGTH, FRAMING_CHUNKED, FRAMING_CLOSE };

/* The body: the shared one if there is one, else the content of res->body. */
struct str response_body(const struct response *res);

/* Releases the shared body, if any. */
void response_release_body(struct response *res);

/* Adds an ETag to a 200 of GET and HEAD, and changes it to a 304 if the client's copy is current. */
void response_apply_etag(struct request *r);

/* False for 304 and 204. */
bool response_has_body(const struct response *res);

/* Appends the status line and the header fields. */
void response_write_head(const struct response *res, enum response_framing framing, bool keeps_alive,
                         bool http_1_0, struct date_cache *cache, struct buf *b);

#endif
