/* Parses requests with llhttp in strict mode, and checks the rules of RFC 9112 and the limits that llhttp
 * does not check. A parser stops at the end of each request; the bytes that follow belong to the next
 * request. The result does not depend on how the bytes are split into reads, with one exception: if a
 * request has several errors, the split can determine which of them is reported. */
#ifndef VT_HTTP_PARSE_H
#define VT_HTTP_PARSE_H

#include "http/server.h"

struct parser;

/* Creates a parser. `extra_field` is the name of the header that is stored as FIELD_EXTRA; if it is empty,
 * there is no such header. The text of `extra_field` must outlive the parser. Returns NULL if out of
 * memory. */
MUST_USE struct parser *parser_new(struct str extra_field);
void parser_free(struct parser *p);

/* Prepares the parser for a new request, which it will store in `r` and in the arena of `r`. `limits` must
 * outlive the request. */
void parser_begin(struct parser *p, struct request *r, const struct http_limits *limits);

enum parse {
    PARSE_MORE,   /* the request is incomplete; all bytes were used */
    PARSE_HEAD,   /* the head is complete and valid; call again with the rest of the bytes, even if none are
                     left */
    PARSE_DONE,   /* the request is complete; the rest of the bytes belongs to the next request */
    PARSE_FAILED, /* reject the request with parser_status() and parser_message(), and close the connection;
                     the request contains the parts that were parsed */
};

/* Parses `bytes` and sets `*used` to the number of bytes that were used. */
enum parse parser_feed(struct parser *p, struct str bytes, size_t *used);

/* Returns true if the parser ran out of memory. Call after each parser_feed(); if true, ignore the result of
 * parser_feed(). */
bool parser_lacks_memory(const struct parser *p);

/* After PARSE_FAILED: the status code and the message of the response. */
int parser_status(const struct parser *p);
const char *parser_message(const struct parser *p);

/* Returns true if nothing but empty lines has been read. */
bool parser_has_only_empty_lines(const struct parser *p);

/* Returns true if the client waits for `100 Continue` before it sends the body (RFC 9110, 10.1.1). Call after
 * PARSE_HEAD. */
bool parser_expects_continue(const struct parser *p);

/* Returns true if the connection stays open after the request. Call after PARSE_DONE. */
bool parser_keeps_alive(const struct parser *p);

/* Returns true if the request uses HTTP/1.0. Returns false until the version has been parsed. */
bool parser_is_http_1_0(const struct parser *p);

#endif
