/* The reports. */
#include "redis/redis_status.h"

#include "base/log.h"

enum { UNPROVEN_LOSSES_MAX = 2 };

static void report_up(struct redis_status *h)
{
    if (h->reported != HEALTH_UP)
        log_info("redis: up");
    h->reported = HEALTH_UP;
}

void redis_status_up(struct redis_status *h)
{
    h->proven = false;
    if (h->unproven_losses < UNPROVEN_LOSSES_MAX)
        report_up(h);
}

void redis_status_lost(struct redis_status *h, const char *reason)
{
    if (h->reported != HEALTH_AWAY)
        log_warn("redis: unavailable, limiting per process (%s)", reason);
    h->reported = HEALTH_AWAY;
}

void redis_status_call_failed(struct redis_status *h)
{
    h->unproven_losses += !h->proven;
}

void redis_status_call_succeeded(struct redis_status *h)
{
    h->proven = true;
    h->unproven_losses = 0;
    report_up(h);
}
