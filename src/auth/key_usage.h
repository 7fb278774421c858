/* When each key was last used: noted for every request, written at most once a minute for each key, as jobs
 * of the writer queue. There is at most one job in five seconds, whatever the number of keys: each commit
 * makes every process look its keys up anew. A failed write costs a note, never a request. */
#ifndef VT_AUTH_KEY_USAGE_H
#define VT_AUTH_KEY_USAGE_H

#include "store/read.h"
#include "store/writer.h"

#include <uv.h>

struct key_usage;

struct key_usage *key_usage_new(uv_loop_t *loop, struct writer *writer);

/* Hands what is noted to the writer, which must not be closed yet; nothing may be noted from then on. */
void key_usage_close(struct key_usage *u);

/* After the writer has closed and the loop has ended; NULL is harmless. */
void key_usage_free(struct key_usage *u);

void key_usage_record(struct key_usage *u, const struct key_owner *owner);

#endif
