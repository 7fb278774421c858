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
}

void redis_status_up(struct redis_status *s)
{
    s->proven = false;
    if (s->unproven_losses < UNPROVEN_LOSSES_MAX)
        report_up(s);
}

void redis_status_lost(struct redis_status *s, const char *reason)
{
    (void)snprintf(s->reason, sizeof s->reason, "%s", reason);
    if (s->reported != STATUS_UNAVAILABLE)
        log_warn("redis: unavailable, limiting per process (%s)", reason);
    s->reported = STATUS_UNAVAILABLE;
}

void redis_status_call_failed(struct redis_status *s)
{
    s->unproven_losses += !s->proven;
}

void redis_status_call_succeeded(struct redis_status *s)
{
    s->proven = true;
    s->unproven_losses = 0;
    report_up(s);
}

bool redis_status_is_unavailable(const struct redis_status *s)
{
    return s->reported == STATUS_UNAVAILABLE;
}
