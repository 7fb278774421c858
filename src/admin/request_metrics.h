/* Counts requests by route and status code, and measures their duration by route. Route names are constants,
 * so clients cannot increase the number of time series. */
#ifndef VT_ADMIN_REQUEST_METRICS_H
#define VT_ADMIN_REQUEST_METRICS_H

#include "base/buf.h"
#include "http/router.h"

struct request_metrics;

struct request_metrics *request_metrics_new(void);
void request_metrics_free(struct request_metrics *m);

/* Counts a request that has ended. `us` is the time since its arrival in microseconds. `response_complete` is
 * false if the response was not sent completely. */
void request_metrics_record(struct request_metrics *m, const struct request *r, bool response_complete,
                            int64_t us);

/* Appends the metrics. */
void request_metrics_write(const struct request_metrics *m, struct buf *b);

#endif
