/* Monitors the server: request metrics, the access log, the loop lag, and the admin listener. */
#ifndef VT_APP_MONITOR_H
#define VT_APP_MONITOR_H

#include "admin/view.h"
#include "api/response_cache.h"
#include "base/error.h"

struct monitor;

/* Creates a monitor and starts to measure. `config` must outlive the monitor. */
struct monitor *monitor_new(uv_loop_t *loop, const struct config *config);

/* Returns the view that the admin pages show. The caller fills in the pointers to the subsystems and sets
 * each to NULL before it closes the subsystem. */
struct admin_view *monitor_view(struct monitor *m);

/* Opens the admin listener, unless [admin] listen is empty. If [admin] listen has its default value and
 * that address is in use, logs a warning and returns OK without an admin listener, so that several
 * processes can run with default settings. */
MUST_USE enum err monitor_open(struct monitor *m, struct error *error);

/* Adds the metrics of the response cache to the page /metrics. */
void monitor_set_response_cache(struct monitor *m, const struct response_cache *cache);

/* Opens the access log, or reopens it for log rotation. `target` is as in access_log_set_target(). On error,
 * the previous log stays in use. */
MUST_USE enum err monitor_set_access_log(struct monitor *m, const char *target, struct error *error);

/* Prints the addresses of the admin listener to standard output. */
void monitor_announce(const struct monitor *m);

/* Counts and logs a request that has ended. Use it as http_options.ended, with the monitor as `ctx`. */
void monitor_record_request(void *ctx, const struct request *r, bool complete);

/* Starts to close the monitor; the loop completes the close. A second call does nothing. */
void monitor_close(struct monitor *m);

/* Frees the monitor. Call after the loop has ended. */
void monitor_free(struct monitor *m);

#endif
