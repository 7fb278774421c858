/* What the log and the readiness check say about Redis: one line for each change, however often the
 * connection flaps. */
#ifndef VT_REDIS_REDIS_STATUS_H
#define VT_REDIS_REDIS_STATUS_H

#include <stdbool.h>

struct redis_status {
    enum { HEALTH_UNKNOWN, HEALTH_UP, HEALTH_AWAY } reported;
    bool proven;         /* a call has succeeded since it came up; a probe is no proof of that */
    int unproven_losses; /* times in a row that it came up and the first call failed */
};

/* All probes have succeeded. Reported, unless the last two times the first call failed all the same. */
void redis_status_up(struct redis_status *h);
void redis_status_lost(struct redis_status *h, const char *reason);

/* Of a call while Redis is up. */
void redis_status_call_failed(struct redis_status *h);
void redis_status_call_succeeded(struct redis_status *h);

#endif
