/* Parses requests with llhttp in strict mode, and checks the rules that llhttp leaves to its user (RFC 9112,
 * limits). A parser stops at the end of each request; the bytes that follow belong to the next one. The
 * result does not depend on how the stream was split into reads, except which of two errors is reported. */
#ifndef VT_HTTP_PARSE_H
#define VT_HTTP_PARSE_H

#include "http/server.h"

struct parser;

/* `extra_field` is the name of FIELD_EXTRA and must outlive the parser; empty: none. NULL: out of memory. */
MUST_USE struct parser *parser_new(struct str extra_field);
void parser_free(struct parser *p);

/* Starts a new request, whose fields are allocated in its arena. `limits` must outlive the request. */
void parser_begin(struct parser *p, struct request *r, const struct http_limits *limits);

enum parse {
    PARSE_MORE, /* all bytes were consumed and the request is incomplete */
    PARSE_HEAD, /* the head is complete and valid; call again with the bytes after `*used`, even if there are
                   none */
    PARSE_DONE, /* complete; the bytes after `*used` belong to the next request */
    PARSE_FAILED, /* reject it with parser_status() and parser_message(), and close the connection. The
                     request has the parts that were parsed */
};
enum parse parser_feed(struct parser *p, struct str bytes, size_t *used);

/* Test after each parser_feed(). True: out of memory, and the result is not valid. */
bool parser_lacks_memory(const struct parser *p);

int parser_status(const struct parser *p);
const char *parser_message(const struct parser *p);

/* True if only empty lines have been read. */
bool parser_is_blank(const struct parser *p);

/* True if the client waits for `100 Continue` before it sends the body (RFC 9110, 10.1.1). After PARSE_HEAD.
 */
bool parser_expects_continue(const struct parser *p);

/* After PARSE_DONE. */
bool parser_keeps_alive(const struct parser *p);
/* False until the version has been parsed. */
bool parser_is_http_1_0(const struct parser *p);

#endif
