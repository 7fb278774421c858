/* What the log and the readiness check report about Redis: one line per change, however often the connection
 * is lost and restored. */
#ifndef VT_REDIS_REDIS_STATUS_H
#define VT_REDIS_REDIS_STATUS_H

#include <stdbool.h>

/* Zeroed: nothing is reported yet. */
struct redis_status {
    enum { STATUS_UNKNOWN, STATUS_UP, STATUS_UNAVAILABLE } reported;
    bool proven;         /* a call has succeeded since Redis came up; a probe does not prove that */
    int unproven_losses; /* how often in a row Redis came up and its first call failed */
    char reason[128];    /* of the last loss */
};

/* All probes have succeeded. Not reported if the first call failed after the last two times. */
void redis_status_up(struct redis_status *s);
void redis_status_lost(struct redis_status *s, const char *reason);

/* For calls while Redis is up. */
void redis_status_call_failed(struct redis_status *s);
void redis_status_call_succeeded(struct redis_status *s);

bool redis_status_is_unavailable(const struct redis_status *s);

#endif
