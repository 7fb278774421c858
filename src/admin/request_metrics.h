/* Counts requests by route and status code and measures their duration by route. Route names are constants of
 * the program, so the number of time series is bounded by the code, not by what clients send. */
#ifndef VT_ADMIN_REQUEST_METRICS_H
#define VT_ADMIN_REQUEST_METRICS_H

#include "base/buf.h"
#include "http/router.h"

struct request_metrics;

struct request_metrics *request_metrics_new(void);
void request_metrics_free(struct request_metrics *m);

/* Counts one finished request, which took `us` microseconds since it had arrived. `complete` is false if the
 * connection was closed before the end of the response. */
void request_metrics_record(struct request_metrics *m, const struct request *r, bool complete, int64_t us);

/* Appends the metrics. */
void request_metrics_write(const struct request_metrics *m, struct buf *b);

#endif
