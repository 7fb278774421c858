/* Checks Redis: login, version, permissions, whether it accepts writes, eviction, latency. */
#include "doctor/doctor.h"
#include "doctor/redis_facts.h"

#include <stdio.h>
#include <stdlib.h>

enum { OLDEST_MAJOR = 6, SLOW_US = 10000, TOO_SLOW_US = 50000 };

/* Returns the facts if Redis is connected, otherwise NULL. If Redis is configured but not connected, reports
 * that the check is skipped. (If Redis is not configured, only the check redis.connection reports this.) */
static const struct redis_facts *connected(struct doctor *d)
{
    if (!d->redis)
        d->redis = redis_facts_read(d->config);
    if (d->redis->is_configured && !d->redis->is_connected)
        doctor_skip(d, "not connected to Redis");
    return d->redis->is_connected ? d->redis : NULL;
}

static const char *fix_for(enum redis_failure failure)
{
    switch (failure) {
    case REDIS_FAILED_AUTH:
        return "check the user in [redis] url, and the password in [redis] password, "
               "password_file or url";
    case REDIS_FAILED_SELECT: return "use a database that exists in [redis] url, such as /0";
    default: return "check [redis] url and that Redis runs: redis-cli -u URL ping";
    }
}

static void check_connection(struct doctor *d)
{
    if (!d->redis)
        d->redis = redis_facts_read(d->config);
    if (!d->redis->is_configured)
        doctor_skip(d, "[redis] url is not set; each process has its own rate limit");
    else if (d->redis->is_connected)
        doctor_ok(d, "connected and logged in");
    else
        doctor_error(d, fix_for(d->redis->failure), "Redis cannot be used: %s", d->redis->reason);
}

static void check_version(struct doctor *d)
{
    const struct redis_facts *f = connected(d);
    if (!f)
        return;
    if (!f->has_info)
        doctor_skip(d, "the user may not run INFO, so the version is unknown");
    else if (strtol(f->version, NULL, 10) < OLDEST_MAJOR)
        doctor_error(d, "install Redis 6 or newer", "Redis %s is too old", f->version);
    else
        doctor_ok(d, "Redis %s", f->version);
}

static void check_permissions(struct doctor *d)
{
    const struct redis_facts *f = connected(d);
    char fix[FINDING_TEXT_MAX];
    if (!f)
        return;
    (void)snprintf(fix, sizeof fix, "ACL SETUSER USER ~%s*%s (and ACL SAVE, or change the ACL file)",
                   d->config->redis.key_prefix, f->missing);
    if (*f->missing)
        doctor_error(d, fix, "the Redis user lacks permissions:%s", f->missing);
    else
        doctor_ok(d, "the Redis user has all permissions that the server needs");
}

static void check_writable(struct doctor *d)
{
    const struct redis_facts *f = connected(d);
    if (!f)
        return;
    if (*f->rejected)
        doctor_error(
            d,
            "use a Redis primary that has free memory and can write to its disk; see maxmemory and replicaof",
            "Redis rejects writes: %s", f->rejected);
    else
        doctor_ok(d, "Redis accepts writes");
}

static void check_eviction(struct doctor *d)
{
    const struct redis_facts *f = connected(d);
    if (!f)
        return;
    if (!f->has_info)
        doctor_skip(d, "the user may not run INFO, so maxmemory-policy is unknown");
    else if (f->max_memory == 0)
        doctor_ok(d, "maxmemory is not set, so nothing is evicted");
    else if (strcmp(f->policy, "noeviction") == 0)
        doctor_ok(d, "maxmemory is %lld bytes, nothing is evicted", f->max_memory);
    else
        doctor_warn(
            d, "redis-cli CONFIG SET maxmemory-policy noeviction, or give viewtally a Redis of its own",
            "maxmemory-policy %s may evict rate limit windows, so that keys get more than their limit",
            f->policy);
}

static void check_latency(struct doctor *d)
{
    const struct redis_facts *f = connected(d);
    if (!f)
        return;
    const double ms = (double)f->latency_us / 1000;
    if (f->latency_us >= TOO_SLOW_US)
        doctor_error(d, "run Redis near the server, or remove [redis] url",
                     "a command takes %.1f ms, longer than the server waits (50 ms)", ms);
    else if (f->latency_us >= SLOW_US)
        doctor_warn(d, "run Redis near the server (redis-cli --latency measures the delay)",
                    "a command takes %.1f ms, which delays "
                    "every request",
                    ms);
    else
        doctor_ok(d, "a command takes %.1f ms", ms);
}

static const struct doctor_check checks[] = {
    {"connection", NEEDS_CONFIG, check_connection},   {"version", NEEDS_CONFIG, check_version},
    {"permissions", NEEDS_CONFIG, check_permissions}, {"writable", NEEDS_CONFIG, check_writable},
    {"eviction", NEEDS_CONFIG, check_eviction},       {"latency", NEEDS_CONFIG, check_latency},
};
const struct doctor_group doctor_redis = DOCTOR_GROUP("redis", checks);
