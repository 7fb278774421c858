/* What watches the server while it serves: the counters of its requests, the access log, the admin listener,
 * the lag of the loop. The app tells it what comes up and goes; it changes nothing. */
#ifndef VT_APP_MONITOR_H
#define VT_APP_MONITOR_H

#include "admin/view.h"
#include "api/response_cache.h"

struct monitor;

/* Begins to measure. `config` must outlive it. */
struct monitor *monitor_new(uv_loop_t *loop, const struct config *config);

/* What the pages show: the caller fills it in. */
struct admin_view *monitor_view(struct monitor *w);

/* Opens [admin] listen, if it is not empty. Whoever did not choose an address is not kept from serving by
 * another process that has the default one: that is a warning. */
MUST_USE enum err monitor_open(struct monitor *w, struct error *error);

/* Shows what is kept of answers. */
void monitor_set_response_cache(struct monitor *w, const struct response_cache *cache);

/* Opens the access log as the configuration says it, anew if it is open already. On failure all stays as it
 * was. */
MUST_USE enum err monitor_set_access_log(struct monitor *w, const char *target, const char **why);

/* Says on standard output where the pages are. */
void monitor_announce(const struct monitor *w);

/* struct http_options.ended; its ctx is the watch. */
void monitor_record_request(void *ctx, const struct request *r, bool complete);

/* Begins to end; what it still holds goes while the loop runs on. Twice is as good as once. */
void monitor_close(struct monitor *w);

/* Once the loop has run out. */
void monitor_free(struct monitor *w);

#endif
