/* The access log: one JSON line per request, written to a file, a pipe or standard error.
 *
 * Lines are collected in memory and written by jobs on the thread pool, so that a slow disk does not block
 * the loop. If the log cannot be written, lines wait in a bounded buffer; if that is full, lines are dropped
 * and counted. Lines are never cut. A line contains no URL, header field or body of the request. */
#ifndef VT_ADMIN_ACCESS_LOG_H
#define VT_ADMIN_ACCESS_LOG_H

#include "base/error.h"
#include "http/router.h"

#include <uv.h>

struct access_log;

/* Returns a log that writes nothing until access_log_set_target(). */
struct access_log *access_log_new(uv_loop_t *loop);

/* Writes all further lines to `target`: the path of a file, "-" for standard error, or "" for nowhere. The
 * file is opened even if it is the current one, for log rotation. No line is lost or duplicated. On error,
 * the previous target stays in use. */
MUST_USE enum err access_log_set_target(struct access_log *l, const char *target, struct error *error);

/* Appends the line of a finished request, which took `us` microseconds. `complete` is false if the connection
 * was closed before the end of the response. */
void access_log_append(struct access_log *l, const struct request *r, bool complete, int64_t us);

struct access_log_counts {
    uint64_t lines, dropped;
};
struct access_log_counts access_log_counts(const struct access_log *l);

/* Stops accepting lines. A job in progress ends before the loop does. */
void access_log_close(struct access_log *l);

/* Call after the loop has ended. Writes the remaining lines unless that takes longer than 100 ms. */
void access_log_free(struct access_log *l);

#endif
