/* Records when each API key was last used. The time of a use is stored at most once a minute per key. Uses
 * are collected in memory and stored together by one job of the writer, at most every five seconds, because
 * each commit invalidates the key caches of all processes. If a write fails, the times of use are lost;
 * requests are not affected. */
#ifndef VT_AUTH_KEY_USAGE_H
#define VT_AUTH_KEY_USAGE_H

#include "store/read.h"
#include "store/writer.h"

#include <uv.h>

struct key_usage;

/* Creates the recorder. */
struct key_usage *key_usage_new(uv_loop_t *loop, struct writer *writer);

/* Submits the collected uses to the writer, also if a job is still running. Call before the writer closes.
 * Later uses are ignored. */
void key_usage_close(struct key_usage *u);

/* Frees the recorder. Call after the writer has closed and the loop has ended. `u` may be NULL. */
void key_usage_free(struct key_usage *u);

/* Records a use of the API key now. `address` is the address of the client, which the audit log
 * shows for the first use. */
void key_usage_record(struct key_usage *u, const struct key_owner *owner, struct str address);

#endif
