/* From bytes to a request: llhttp in its strict mode, and the rules that it leaves to its user (RFC 9112;
 * limits). One parser reads one request at a time: it stops behind each, and what follows is the next one's.
 * What a stream means never depends on how it was cut into pieces; only of two faults in it, either may be
 * found first. */
#ifndef VT_HTTP_PARSE_H
#define VT_HTTP_PARSE_H

#include "http/server.h"

struct parser;

/* `extra_field`: the name of FIELD_EXTRA, which outlives the parser; empty: none. */
/* NULL: no memory. */
MUST_USE struct parser *parser_new(struct str extra_field);
void parser_free(struct parser *p);

/* Ready for a new request, which is filled in its own arena. `limits` must outlive the parse. */
void parser_begin(struct parser *p, struct request *r, const struct http_limits *limits);

enum parse {
    PARSE_MORE,   /* all bytes are taken, the request is not complete */
    PARSE_HEAD,   /* the head is complete and valid; go on with what is behind `*used`, even if that is
                     nothing */
    PARSE_DONE,   /* complete; what is behind `*used` belongs to the next request */
    PARSE_FAILED, /* parser_status() and parser_message() say how to refuse; nothing more may be read. Of the
                     request is set what was understood */
};
enum parse parser_feed(struct parser *p, struct str bytes, size_t *used);

/* Test after each parser_feed(): the text of the head could not be held, and of the result nothing is right.
 */
bool parser_lacks_memory(const struct parser *p);

int parser_status(const struct parser *p);
const char *parser_message(const struct parser *p);

/* Nothing but empty lines so far. */
bool parser_is_blank(const struct parser *p);

/* The client waits for `100 Continue` before it sends the body (RFC 9110, 10.1.1). After PARSE_HEAD. */
bool parser_expects_continue(const struct parser *p);

/* After PARSE_DONE. */
bool parser_keeps_alive(const struct parser *p);
/* False as long as the version is not known. */
bool parser_is_http_1_0(const struct parser *p);

#endif
