/* Logs when Redis becomes available and unavailable, and provides the status for redis_is_unavailable(). If
 * connections are opened and lost again and again without a successful call, logs no further lines. */
#ifndef VT_REDIS_REDIS_STATUS_H
#define VT_REDIS_REDIS_STATUS_H

#include "redis/redis.h"

#include <stdbool.h>

/* What has been logged about Redis. A zeroed struct is the initial status. */
struct redis_status {
    enum { STATUS_UNKNOWN, STATUS_UP, STATUS_UNAVAILABLE } reported;
    bool proven;                /* a call has succeeded since Redis came up; probes do not count */
    int unproven_losses;        /* how many times in a row Redis came up, but its first call failed; a lost
                                   connection does not count */
    bool rejected;              /* the log says that Redis rejected AUTH or SELECT since it was last up */
    enum redis_failure failure; /* operation that failed at the last loss */
    char reason[256];           /* reason of the last loss */
};

/* Call when all probes have succeeded. Logs that Redis is up. But if Redis came up twice in a row and the
 * first call failed each time, leaves this to redis_status_record_successful_call(). */
void redis_status_record_up(struct redis_status *s);

/* Call when the connection is lost or a call fails. Logs that Redis is unavailable, unless this
 * has been logged since Redis was last up. A rejected AUTH or SELECT is a mistake in the configuration: it is
 * logged as an error even if the log already says that Redis is unavailable for another reason. */
void redis_status_record_loss(struct redis_status *s, enum redis_failure failure, const char *reason);

/* Call when a call that was sent while Redis was up has failed or succeeded. The first success after
 * redis_status_record_up() logs that Redis is up, unless this has been logged. */
void redis_status_record_failed_call(struct redis_status *s);
void redis_status_record_successful_call(struct redis_status *s);

/* Returns true if the most recent report says that Redis is unavailable. */
bool redis_status_is_unavailable(const struct redis_status *s);

#endif
