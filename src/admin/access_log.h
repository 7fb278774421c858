/* The access log: one JSON line per request, written to a file, a pipe or standard error.
 *
 * Lines are collected in memory and written by jobs on the thread pool, so that a slow disk does not block
 * the loop. While the log cannot be written, lines wait in a bounded buffer; when the buffer is full, further
 * lines are dropped and counted. Lines are written completely; only the last line of a file that cannot be
 * written may be cut off. A line contains neither the URL nor the body of the request, and of its header
 * fields only the ids of the request and the trace, and the client address. */
#ifndef VT_ADMIN_ACCESS_LOG_H
#define VT_ADMIN_ACCESS_LOG_H

#include "base/error.h"
#include "http/router.h"

#include <uv.h>

struct access_log;

/* Creates a log that writes nothing until access_log_set_target(). */
struct access_log *access_log_new(uv_loop_t *loop);

/* Writes all further lines to `target`: the path of a file, "-" for standard error, or "" to write no lines.
 * Opens the file again even if the path has not changed, for log rotation. No line is duplicated, and no line
 * is lost if the old file can be written. On error, the previous target stays in use and `error` contains the
 * reason. */
MUST_USE enum err access_log_set_target(struct access_log *l, const char *target, struct error *error);

/* Appends a line for a request that has ended and took `us` microseconds. `response_complete` is false if the
 * response was not sent completely. */
void access_log_append(struct access_log *l, const struct request *r, bool response_complete, int64_t us);

struct access_log_counts {
    uint64_t lines, dropped;
};

/* Returns the numbers of accepted and dropped lines since the start. */
struct access_log_counts access_log_get_counts(const struct access_log *l);

/* Stops accepting lines. A job in progress keeps the loop alive until it ends. */
void access_log_close(struct access_log *l);

/* Writes the remaining lines, until the file has accepted nothing for 100 ms, and frees the log. Call after
 * the loop has ended. */
void access_log_free(struct access_log *l);

#endif
