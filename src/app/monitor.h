/* Monitors the server: request metrics, the access log, the loop lag, and the admin listener. */
#ifndef VT_APP_MONITOR_H
#define VT_APP_MONITOR_H

#include "admin/view.h"
#include "app/applications.h"
#include "app/passed_sockets.h"
#include "base/error.h"

struct monitor;

/* Creates a monitor and starts to measure. `config` must outlive the monitor. */
struct monitor *monitor_new(uv_loop_t *loop, const struct config *config);

/* Applies [log] slow_query_ms. Call when the configuration has changed. (Other settings are read from the
 * configuration whenever they are needed, so they need no call.) */
void monitor_reconfigure(const struct monitor *m);

/* Returns the view that the admin pages show. The caller fills in the pointers to the subsystems. If it
 * closes a subsystem before it calls monitor_close(), it must set the pointer to NULL as soon as the
 * subsystem is closed. */
struct admin_view *monitor_get_view(struct monitor *m);

/* Opens the admin listener, unless [admin] listen is empty. If [admin] listen has its default value and
 * that address is in use, logs a warning and returns OK without an admin listener, so that several
 * processes can run with default settings. Sockets in passed->admin replace [admin] listen. */
MUST_USE enum err monitor_open(struct monitor *m, const struct passed_sockets *passed, struct error *error);

/* Adds the metrics of the applications to the page /metrics: response cache, failed authentications. */
void monitor_set_applications(struct monitor *m, const struct applications *apps);

/* Opens the access log, or reopens it for log rotation. For `target` see access_log_set_target(). On error,
 * the previous log stays in use. */
MUST_USE enum err monitor_set_access_log(struct monitor *m, const char *target, struct error *error);

/* Prints the addresses of the admin listener to standard output. */
void monitor_print_addresses(const struct monitor *m);

/* Counts and logs a request that has ended. Use it as http_options.ended, with the monitor as `ctx`.
 * `response_complete` is false if the response was not sent completely. */
void monitor_record_request(void *ctx, const struct request *r, bool response_complete);

/* Starts to close the monitor; the loop completes the close. A second call does nothing. */
void monitor_close(struct monitor *m);

/* Frees the monitor. Call after the loop has ended. */
void monitor_free(struct monitor *m);

#endif
