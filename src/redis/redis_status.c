/* Decides which changes of the status are logged. */
#include "redis/redis_status.h"

#include "base/log.h"

#include <stdio.h>

enum { UNPROVEN_LOSSES_MAX = 2 };

static void report_up(struct redis_status *s)
{
    if (s->reported != STATUS_UP)
        log_info("redis: up");
    s->reported = STATUS_UP;
    s->rejected = false;
}

void redis_status_record_up(struct redis_status *s)
{
    s->proven = false;
    if (s->unproven_losses < UNPROVEN_LOSSES_MAX)
        report_up(s);
}

/* Returns how to fix the configuration, or NULL if the failure has another cause. */
static const char *fix_for(enum redis_failure failure)
{
    switch (failure) {
    case REDIS_FAILED_AUTH:
        return "check the user in [redis] url, and the password in [redis] password, "
               "password_file or url";
    case REDIS_FAILED_SELECT:
        return "check the number of the database in [redis] url, and that the user may run SELECT";
    default: return NULL;
    }
}

void redis_status_record_loss(struct redis_status *s, enum redis_failure failure, const char *reason)
{
    const char *fix = fix_for(failure);
    s->failure = failure;
    (void)snprintf(s->reason, sizeof s->reason, "%s", reason);
    if (fix && !s->rejected)
        log_error("redis: unavailable, limiting per process (%s); %s", reason, fix);
    else if (s->reported != STATUS_UNAVAILABLE)
        log_warn("redis: unavailable, limiting per process (%s)", reason);
    s->rejected = s->rejected || fix;
    s->reported = STATUS_UNAVAILABLE;
}

const char *redis_failure_name(enum redis_failure failure)
{
    static const char *const names[REDIS_FAILURES] = {"connection", "auth", "select", "call"};
    return names[failure];
}

void redis_status_record_failed_call(struct redis_status *s)
{
    s->unproven_losses += !s->proven;
}

void redis_status_record_successful_call(struct redis_status *s)
{
    s->proven = true;
    s->unproven_losses = 0;
    report_up(s);
}

bool redis_status_is_unavailable(const struct redis_status *s)
{
    return s->reported == STATUS_UNAVAILABLE;
}
