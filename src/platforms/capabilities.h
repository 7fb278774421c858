/* The capability table: which counts each API provides. */
#ifndef VT_PLATFORMS_CAPABILITIES_H
#define VT_PLATFORMS_CAPABILITIES_H

#include "base/buf.h"

/* Appends the table as Markdown, one row per API. */
void capabilities_print(struct buf *out);
/* Appends the table as a JSON array. */
void capabilities_print_json(struct buf *out);

#endif
