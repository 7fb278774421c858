/* Checks that the clock is synchronized and equal to the clock of Redis. */
#include "doctor/clock_facts.h"

#include "doctor/redis_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timex.h>

enum { OTHER_CLOCK_MS = 2000 };

void doctor_report_clock_sync(struct doctor *d, const struct clock_facts *facts)
{
    if (!facts->is_known)
        doctor_skip(
            d,
            "the kernel does not report whether the clock is synchronized (this is normal in a container)");
    else if (!facts->is_synchronized)
        doctor_warn(
            d,
            "run a time service: timedatectl set-ntp true (or chrony); timedatectl status shows the result",
            "the clock is not synchronized, so the dates of views and the expiry times of links "
            "may be wrong");
    else
        doctor_ok(d, "the clock is synchronized");
}

static void check_sync(struct doctor *d)
{
    struct timex t = {.modes = 0}; /* modes 0: adjtimex() only reads */
    const int state = adjtimex(&t);
    const struct clock_facts facts = {.is_known = state >= 0, .is_synchronized = !(t.status & STA_UNSYNC)};
    doctor_report_clock_sync(d, &facts);
}

void doctor_report_redis_clock(struct doctor *d, const struct redis_facts *f)
{
    const long long difference_ms = llabs((long long)f->ahead_ms);
    if (!f->has_time)
        doctor_skip(d, "the time of Redis is unknown");
    else if (difference_ms > OTHER_CLOCK_MS)
        doctor_warn(d, "run a time service on both machines: timedatectl set-ntp true (or chrony)",
                    "the clock of Redis is %lld.%lld s %s ours", difference_ms / 1000,
                    difference_ms % 1000 / 100, f->ahead_ms > 0 ? "ahead of" : "behind");
    else
        doctor_ok(d, "the clock of Redis agrees with ours");
}

static void check_redis_clock(struct doctor *d)
{
    if (!d->redis)
        d->redis = redis_facts_read(d->config);
    if (!d->redis->is_configured)
        doctor_skip(d, "[redis] url is not set");
    else
        doctor_report_redis_clock(d, d->redis);
}

static const struct doctor_check checks[] = {
    {"synchronized", NEEDS_NOTHING, check_sync},
    {"redis", NEEDS_CONFIG, check_redis_clock},
};
const struct doctor_group doctor_clock = DOCTOR_GROUP("clock", checks);
