/* What the connection needs of a response: the head on the wire. Not for handlers. */
#ifndef VT_HTTP_HEAD_H
#define VT_HTTP_HEAD_H

#include "http/response.h"

struct date_cache {
    int64_t second;
    char text[32];
};

enum response_framing { FRAMING_LENGTH, FRAMING_CHUNKED, FRAMING_CLOSE };

/* The bytes of the body, wherever they are. */
struct str response_body(const struct response *res);

/* A lent body goes back to its owner. Harmless without one. */
void response_release_body(struct response *res);

/* Gives a 200 of GET and HEAD its ETag, and makes it a 304 when the client has it. */
void response_apply_etag(struct request *r);

/* Not for 304 and 204. */
bool response_has_body(const struct response *res);

/* Appends status line and header fields. Lives at most 16 KiB: names and values are ours. */
void response_write_head(const struct response *res, enum response_framing framing, bool keeps_alive,
                         bool http_1_0, struct date_cache *cache, struct buf *b);

#endif
