/* When each key was last used: noted for every request, written at most once a minute for each key, as jobs
 * of the writer queue. A failed write costs a note, never a request. */
#ifndef VT_API_USAGE_H
#define VT_API_USAGE_H

#include "store/read.h"
#include "store/writer.h"

struct usage;

struct usage *usage_new(struct writer *writer);

/* After the writer has closed. */
void usage_free(struct usage *u);

void usage_note(struct usage *u, const struct key_owner *owner);

#endif
