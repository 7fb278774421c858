/* An HTTP request to a platform and its answer as bytes: what the connectors write and read and what fetch.h
 * carries. No scheme and no origin: a connector names a host, the configuration says where that is. */
#ifndef VT_NET_HTTP_MESSAGE_H
#define VT_NET_HTTP_MESSAGE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* Rows of [origins]. The *_AUTH hosts only ever stand in addresses that an author's browser is sent to. */
enum platform_host {
    HOST_TIKTOK,          /* https://open.tiktokapis.com */
    HOST_TIKTOK_AUTH,     /* https://www.tiktok.com */
    HOST_YOUTUBE,         /* https://www.googleapis.com */
    HOST_GOOGLE_OAUTH,    /* https://oauth2.googleapis.com */
    HOST_GOOGLE_AUTH,     /* https://accounts.google.com */
    HOST_FACEBOOK,        /* https://graph.facebook.com */
    HOST_FACEBOOK_AUTH,   /* https://www.facebook.com */
    HOST_INSTAGRAM,       /* https://graph.instagram.com */
    HOST_INSTAGRAM_OAUTH, /* https://api.instagram.com */
    HOST_INSTAGRAM_AUTH,  /* https://www.instagram.com */
    HOST_PINTEREST,       /* https://api.pinterest.com */
    HOST_PINTEREST_AUTH,  /* https://www.pinterest.com */
};
enum { PLATFORM_HOSTS = 12 };

struct http_header {
    struct str name, value; /* of answers: the name as it came */
};

enum { HTTP_REQUEST_HEADERS_MAX = 6 };

struct http_request {
    enum platform_host host;
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
