/* Records when each API key was last used: one note per request, at most one write per key and minute, as
 * jobs of the writer queue. One job every five seconds at most, however many keys are in use, because each
 * commit invalidates the key caches of all processes. A failed write loses a note, never a request. */
#ifndef VT_AUTH_KEY_USAGE_H
#define VT_AUTH_KEY_USAGE_H

#include "store/read.h"
#include "store/writer.h"

#include <uv.h>

struct key_usage;

struct key_usage *key_usage_new(uv_loop_t *loop, struct writer *writer);

/* Submits pending notes to the writer. Call before the writer closes, and record nothing afterwards. */
void key_usage_close(struct key_usage *u);

/* Call after the writer has closed and the loop has ended. NULL is allowed. */
void key_usage_free(struct key_usage *u);

void key_usage_record(struct key_usage *u, const struct key_owner *owner);

#endif
