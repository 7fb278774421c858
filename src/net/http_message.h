/* HTTP requests and responses as plain data, so that connectors can build requests and parse responses
 * without a client. */
#ifndef VT_NET_HTTP_MESSAGE_H
#define VT_NET_HTTP_MESSAGE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct http_header {
    struct str name, value; /* names in a response are in the case in which the server sent them */
};

enum { HTTP_REQUEST_HEADERS_MAX = 6 };

struct http_request {
    const char *origin;      /* "https://api.example.com", without a slash at the end */
    const char *method;      /* "GET" or "POST"; static */
    struct str path;         /* with the query; begins with '/' */
    struct str content_type; /* p == NULL if there is no body */
    struct str body;
    struct http_header headers[HTTP_REQUEST_HEADERS_MAX]; /* header fields other than Content-Type, Accept and
                                                             User-Agent */
    size_t header_count;
    bool
        once; /* never send the request twice, because it uses a code or refresh token that works only once */
};

/* Returns true for a valid name of a header. */
bool http_is_field_name(struct str s);
/* Returns true for a valid value of a header. Control characters, which could inject another header, are
 * invalid. */
bool http_is_field_value(struct str s);
/* Returns true for a valid path with or without a query: visible ASCII, beginning with '/', no fragment. */
bool http_is_path(struct str s);

struct http_response {
    int status;
    struct str body; /* decompressed */
    const struct http_header *headers;
    size_t header_count;
};

#endif
