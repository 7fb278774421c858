/* The access log: one JSON line for each request, to a file, a pipe or standard error. Lines are collected in
 * memory and written by jobs on libuv's pool, so a slow disk does not hold up the loop. What cannot be
 * written waits for a while in a bounded buffer; above that, lines are dropped and counted. Lines are always
 * whole. No line holds anything of a request but what http/request.h names for counts and logs: no target, no
 * header field, no body. */
#ifndef VT_ADMIN_ACCESS_LOG_H
#define VT_ADMIN_ACCESS_LOG_H

#include "base/error.h"
#include "http/router.h"

#include <uv.h>

struct access_log;

/* Off. */
struct access_log *access_log_new(uv_loop_t *loop);

/* From now on to `target`: the path of a file, which is opened (anew, also if it is the same: rotation), "-"
 * for standard error, or "" for nowhere. No line is lost or doubled. On failure `*why` is a sentence
 * and all stays as it was. */
MUST_USE enum err access_log_set_target(struct access_log *l, const char *target, struct error *error);

/* One request that is over, after `us` microseconds. */
void access_log_append(struct access_log *l, const struct request *r, bool complete, int64_t us);

struct access_log_counts {
    uint64_t lines, dropped;
};
struct access_log_counts access_log_counts(const struct access_log *l);

/* No more lines. What is under way ends while the loop runs on. */
void access_log_close(struct access_log *l);

/* Once the loop has run out: writes what is left, if it can be written without waiting long. */
void access_log_free(struct access_log *l);

#endif
