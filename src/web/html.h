/* HTML output. These functions escape every text that is not a string literal of this program. So text from
 * the database or a client cannot end an element or an attribute, and links can use only safe schemes.
 *
 * Escaping is the same for element content and for double-quoted attributes. Invalid UTF-8 becomes U+FFFD, a
 * tab or a line break becomes a space, and other control characters are removed. */
#ifndef VT_WEB_HTML_H
#define VT_WEB_HTML_H

#include "base/buf.h"

/* Appends a string literal without escaping. */
#define HTML(b, lit) buf_append((b), STR(lit))

/* Appends escaped text, for element content or a double-quoted attribute. */
void html_text(struct buf *b, struct str s);

/* Appends escaped text isolated in <bdi>, so that right-to-left text and its control characters do not affect
 * the words around it. Do not use it in an attribute or in <title>. */
void html_isolated_text(struct buf *b, struct str s);

/* Appends ` name="value"`. Use html_link() for href, src, action and formaction. */
void html_attr(struct buf *b, const char *name, struct str value);
void html_attr_i64(struct buf *b, const char *name, int64_t value);

/* Returns true for an absolute http or https URL with a host, and for a path on this server (one leading
 * slash, not two). Returns false for javascript:, data: and "//host", and for a URL with white space, control
 * characters or a backslash, which browsers remove or convert. */
bool html_link_is_safe(struct str url);

/* Appends ` href="…"`, ` src="…"` or ` action="…"`. Appends nothing if the link is not safe. */
void html_link(struct buf *b, const char *name, struct str url);

/* Appends escaped text that only screen readers present (class "sr" of the stylesheet). */
void html_screen_reader_text(struct buf *b, struct str s);

#endif
