/* Pieces of HTTP grammar that llhttp does not check. Pure functions over slices. */
#ifndef VT_HTTP_GRAMMAR_H
#define VT_HTTP_GRAMMAR_H

#include "base/str.h"

/* uri-host [ ":" port ] (RFC 9110, 7.2; RFC 3986, 3.2.2). Empty is grammatical. */
bool grammar_is_host(struct str s);

/* Splits origin-form, absolute-form of http and https, and "*" (RFC 9112, 3.2) into path and query (p ==
 * NULL: none). False for anything else and for characters that no URI holds. Both are slices of `target`, but
 * for an absolute-form without a path: "/". */
bool grammar_split_target(struct str target, struct str *path, struct str *query);

/* What an X-Request-Id of a client may be: 1 to 128 letters, digits, '.', '_', '-'. */
bool grammar_is_request_id(struct str s);

/* tchar (RFC 9110, 5.6.2): what a method is made of. */
bool grammar_is_token_char(char c);

/* A Transfer-Encoding that ends with its only `chunked`, and has other codings before it: where the body ends
 * is known, but not how to decode it. */
bool grammar_ends_chunked(struct str codings);

/* The entity tag list of If-None-Match names `etag` or is "*" (RFC 9110, 13.1.2, weak comparison). */
bool grammar_etag_matches(struct str list, struct str etag);

#endif
