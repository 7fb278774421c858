/* Which counts each API can give, as a table: from the descriptors that the service itself goes by. */
#ifndef VT_PLATFORMS_CAPABILITIES_H
#define VT_PLATFORMS_CAPABILITIES_H

#include "base/buf.h"

/* Markdown; a row for each API. */
void capabilities_print(struct buf *out);

#endif
