/* HTTP requests and responses as plain data, so that connectors can build and parse them without a client. */
#ifndef VT_NET_HTTP_MESSAGE_H
#define VT_NET_HTTP_MESSAGE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct http_header {
    struct str name, value; /* a response has the name in the case in which it was sent */
};

enum { HTTP_REQUEST_HEADERS_MAX = 6 };

struct http_request {
    const char *origin;      /* "https://api.example.com", without a slash at the end */
    const char *method;      /* "GET", "POST": static */
    struct str path;         /* and query; begins with '/' */
    struct str content_type; /* p == NULL: no body */
    struct str body;
    struct http_header
        headers[HTTP_REQUEST_HEADERS_MAX]; /* in addition to Content-Type, Accept and User-Agent */
    size_t header_count;
    bool once; /* not idempotent (it spends a code or a refresh token): never resend it */
};

struct http_response {
    int status;
    struct str body; /* decompressed */
    const struct http_header *headers;
    size_t header_count;
};

#endif
