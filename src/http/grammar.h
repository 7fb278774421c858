/* Checks of HTTP grammar that llhttp does not make. */
#ifndef VT_HTTP_GRAMMAR_H
#define VT_HTTP_GRAMMAR_H

#include "base/str.h"

/* True for uri-host [ ":" port ] (RFC 9110, 7.2; RFC 3986, 3.2.2), which may be empty. */
bool grammar_is_host(struct str s);

/* Splits a request target (RFC 9112, 3.2) into path and query (p == NULL: none): origin-form, absolute-form
 * with http or https, or "*". Both point into `target`, except the path "/" of an absolute-form without one.
 * Returns false for other forms and for characters that are not allowed in a URI. */
bool grammar_split_target(struct str target, struct str *path, struct str *query);

/* True for 1 to 128 letters, digits, '.', '_' and '-'. */
bool grammar_is_request_id(struct str s);

/* True for a tchar (RFC 9110, 5.6.2), a character of a method. */
bool grammar_is_token_char(char c);

/* True for a Transfer-Encoding whose last coding is its only `chunked`. If other codings precede it, the end
 * of the body is known, but we cannot decode it. */
bool grammar_ends_chunked(struct str codings);

/* True if the value of If-None-Match contains `etag` or is "*" (RFC 9110, 13.1.2; weak comparison). */
bool grammar_etag_matches(struct str list, struct str etag);

#endif
