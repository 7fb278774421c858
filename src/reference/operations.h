/* Renders the OpenAPI document as HTML: operations by tag, then schemas. */
#ifndef VT_REFERENCE_OPERATIONS_H
#define VT_REFERENCE_OPERATIONS_H

#include "base/buf.h"

struct openapi; /* a parsed document */

/* Parses `json`, which must be the document that is built into the program. Never returns NULL. */
struct openapi *openapi_parse(struct str json);
void openapi_free(struct openapi *api);

/* Appends the guide in info.description; its headings begin at h2. */
void openapi_append_introduction(struct buf *b, const struct openapi *api);
/* Appends a section for each tag (h2) and, in it, for each operation (h3). Omits HEAD operations, which would
 * only repeat GET. */
void openapi_append_operations(struct buf *b, const struct openapi *api);
/* Appends a section for each schema (h3). */
void openapi_append_schemas(struct buf *b, const struct openapi *api);
/* Appends a list item with a link for each operation except HEAD. `page` is the URL of the page with the
 * operations. The attribute data-words of an item contains words that the search finds in addition to the
 * visible text. */
void openapi_append_index(struct buf *b, const struct openapi *api, const char *page);

#endif
