/* Requests counted by route and code, and how long they took by route. Routes make themselves known by their
 * first request; their number is bounded by the code, not by what clients send. */
#ifndef VT_ADMIN_REQUEST_METRICS_H
#define VT_ADMIN_REQUEST_METRICS_H

#include "base/buf.h"
#include "http/request.h"

struct traffic;

struct traffic *traffic_new(void);
void traffic_free(struct traffic *t);

/* One request that is over; `us` since it had arrived. */
void traffic_note(struct traffic *t, const struct request *r, bool complete, int64_t us);

/* Appends its metrics. */
void traffic_write(const struct traffic *t, struct buf *b);

#endif
