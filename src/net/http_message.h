/* An HTTP request to a platform and its answer as bytes: what the connectors write and read and what fetch.h
 * carries. No scheme and no origin: a connector names a host, the configuration says where that is. */
#ifndef VT_NET_HTTP_MESSAGE_H
#define VT_NET_HTTP_MESSAGE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct http_header {
    struct str name, value; /* of answers: the name as it came */
};

enum { HTTP_REQUEST_HEADERS_MAX = 6 };

struct http_request {
    const char *origin;      /* "https://api.example.com", without a slash at the end */
    const char *method;      /* "GET", "POST": static */
    struct str path;         /* with its query, begins with '/' */
    struct str content_type; /* p == NULL: no body */
    struct str body;
    struct http_header headers[HTTP_REQUEST_HEADERS_MAX]; /* beside content type, Accept and User-Agent */
    size_t header_count;
    bool once; /* spends what it carries (a code, a token that is refreshed): never sent a second time */
};

struct http_response {
    int status;
    struct str body; /* decompressed */
    const struct http_header *headers;
    size_t header_count;
};

#endif
