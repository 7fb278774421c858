/* Logs when Redis becomes available and unavailable, and provides the status for the readiness check. Logs
 * one line per change, even if the connection is lost and restored many times. */
#ifndef VT_REDIS_REDIS_STATUS_H
#define VT_REDIS_REDIS_STATUS_H

#include <stdbool.h>

/* A zeroed struct is the initial status. */
struct redis_status {
    enum { STATUS_UNKNOWN, STATUS_UP, STATUS_UNAVAILABLE } reported;
    bool proven;         /* a call has succeeded since Redis came up; probes do not count */
    int unproven_losses; /* number of consecutive times that Redis came up but its first call failed */
    char reason[128];    /* reason of the last loss */
};

/* Call when all probes have succeeded. Logs that Redis is up, unless the first call failed after each of
 * the last two times that Redis came up. In that case, redis_status_call_succeeded() logs it. */
void redis_status_up(struct redis_status *s);

/* Call when the connection is lost or a call fails. Logs that Redis is unavailable, unless the log already
 * says so. */
void redis_status_lost(struct redis_status *s, const char *reason);

/* Call when a call that was sent while Redis was up has failed or succeeded. The first success after
 * redis_status_up() logs that Redis is up, unless this has been logged. */
void redis_status_call_failed(struct redis_status *s);
void redis_status_call_succeeded(struct redis_status *s);

/* Returns true if the last report was that Redis is unavailable. */
bool redis_status_is_unavailable(const struct redis_status *s);

#endif
