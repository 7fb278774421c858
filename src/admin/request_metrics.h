/* Requests counted by route and code, and how long they took by route. Routes make themselves known by their
 * first request; their number is bounded by the code, not by what clients send. */
#ifndef VT_ADMIN_REQUEST_METRICS_H
#define VT_ADMIN_REQUEST_METRICS_H

#include "base/buf.h"
#include "http/request.h"

struct request_metrics;

struct request_metrics *request_metrics_new(void);
void request_metrics_free(struct request_metrics *t);

/* One request that is over; `us` since it had arrived. */
void request_metrics_record(struct request_metrics *t, const struct request *r, bool complete, int64_t us);

/* Appends its metrics. */
void request_metrics_write(const struct request_metrics *t, struct buf *b);

#endif
