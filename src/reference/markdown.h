/* Converts Markdown to HTML: the small part of CommonMark that the OpenAPI document and the guides use.
 *
 * Blocks: paragraphs, headings (`## …`), lists (`- …`, `1. …`), fenced code, tables with a header line.
 * Inline: `code`, **strong**, [text](URL). Everything else is text and is escaped. */
#ifndef VT_REFERENCE_MARKDOWN_H
#define VT_REFERENCE_MARKDOWN_H

#include "base/buf.h"

/* Appends `text` as HTML. A heading of level n becomes an element of level n + `deeper`, at most h6. The id
 * of the element is the heading's text in lower case and without backticks, in which a hyphen replaces each
 * other byte that is not an ASCII letter, a digit or `_`. */
void markdown_append(struct buf *b, struct str text, int deeper);

/* Appends one line without blocks: inline elements only. */
void markdown_append_inline(struct buf *b, struct str text);

/* Appends the id of a heading with this text. */
void markdown_append_id(struct buf *b, struct str heading);

#endif
