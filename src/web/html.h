/* HTML out. Everything that is not a literal of ours goes through here: what the database, a form or a client
 * holds can neither end an element nor an attribute, and a link can only lead where links may lead.
 *
 * What is written is the same in content and inside a double-quoted attribute. Invalid UTF-8 becomes U+FFFD,
 * a tab or a line break a space, other control characters vanish. */
#ifndef VT_WEB_HTML_H
#define VT_WEB_HTML_H

#include "base/buf.h"

/* A literal of ours, as it is. */
#define HTML(b, lit) buf_append((b), STR(lit))

/* Escaped text: content, or what stands between the double quotes of an attribute. */
void html_text(struct buf *b, struct str s);

/* Somebody else's words in a line of ours: escaped, and isolated (<bdi>), so that writing from right to left
 * and its control characters end where they should. Not inside an attribute or <title>. */
void html_name(struct buf *b, struct str s);

/* ` name="value"`. For href, src, action and formaction use html_link. */
void html_attr(struct buf *b, const char *name, struct str value);
void html_attr_i64(struct buf *b, const char *name, int64_t value);

/* Where a link may lead: an absolute http or https URL with a host, or a path of ours (one slash, then none
 * and no backslash). Never javascript:, data:, another host by "//", nor anything with white space, control
 * characters or a backslash, which browsers read as something else. */
bool html_link_is_safe(struct str url);

/* ` href="…"`, ` src="…"`, ` action="…"`; nothing when the link is not safe. */
void html_link(struct buf *b, const char *name, struct str url);

/* Text that only screen readers get (class "sr" of the stylesheet). */
void html_screen_reader_text(struct buf *b, struct str s);

#endif
