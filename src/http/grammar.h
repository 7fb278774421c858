/* Checks the parts of the HTTP grammar that llhttp does not check. */
#ifndef VT_HTTP_GRAMMAR_H
#define VT_HTTP_GRAMMAR_H

#include "base/str.h"

/* Returns true for uri-host [ ":" port ] (RFC 9110, 7.2; RFC 3986, 3.2.2), also for an empty host. */
bool grammar_is_host(struct str s);

/* Splits a request target (RFC 9112, 3.2) into path and query. query->p == NULL if there is no query. Accepts
 * the origin-form, the absolute-form with http or https, and "*". The results point into `target`; an
 * absolute-form without a path gets a static "/". Returns false for other forms and for characters that are
 * not allowed in a URI. */
bool grammar_split_target(struct str target, struct str *path, struct str *query);

/* Returns true for 1 to 128 characters that are letters, digits, '.', '_' or '-'. */
bool grammar_is_request_id(struct str s);

/* Splits a traceparent (W3C Trace Context, 3.2) into the trace id (32 hexadecimal digits) and the id of the
 * parent span (16). Returns false if the value is invalid, if its version is ff (forbidden), or if an id
 * consists of zeros only. As the recommendation demands, a value with a version above 00 is accepted if it
 * begins like a value of version 00. The results point into `s`. */
bool grammar_split_traceparent(struct str s, struct str *trace_id, struct str *parent_id);

/* Returns true for a tchar (RFC 9110, 5.6.2), which is a character that a method may contain. */
bool grammar_is_token_char(char c);

/* Returns true for a Transfer-Encoding that contains `chunked` exactly once, as its last coding. Such a value
 * defines the end of the body. It does not mean that the server can decode the body: other codings may
 * precede `chunked`. */
bool grammar_ends_with_chunked(struct str codings);

/* Returns true if `list`, the value of Accept-Encoding, permits gzip: it contains "gzip" or "x-gzip" with a
 * weight above 0 (RFC 9110, 12.5.3). If it contains neither, "*" with a weight above 0 is sufficient. A
 * malformed weight (section 12.4.2) counts as 0. Returns false for an empty or missing list. */
bool grammar_accepts_gzip(struct str list);

/* Returns true if `list`, the value of If-None-Match, contains `etag` or is "*" (RFC 9110, 13.1.2; weak
 * comparison). */
bool grammar_etag_matches(struct str list, struct str etag);

#endif
