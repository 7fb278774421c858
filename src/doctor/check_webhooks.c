/* Checks webhooks: their key file, endpoints that fail, whether a process delivers, and the networks that
 * authors can reach. Reads only the database and the configuration, and sends no requests to receivers. */
#include "base/plural.h"
#include "doctor/doctor.h"

#include "base/clock.h"
#include "net/address_policy.h"
#include "jobs/lease.h"
#include "store/webhooks.h"

enum {
    ROWS_AT_ONCE = 500,
    FAILURES_LONG = 5,           /* an endpoint with this many failures fails for more than two hours */
    OVERDUE_MS = 2 * MINUTE_MS,  /* wait that is reported; a crashed process has the lease for up to 30 s */
    CLOCK_ERROR_MS = 2 * DAY_MS, /* a later retry comes from a wrong clock; see store_list_due_webhooks() */
};

/* ---- endpoints ---- */

struct endpoint_counts {
    struct doctor *d;
    int64_t last_row;
    int page; /* number of endpoints on the current page of the listing */
    long long all, failed, failing, overdue;
};

/* Returns true if an event that could have been sent has been waiting for longer than OVERDUE_MS. */
static bool is_overdue(const struct webhook_endpoint *e, int64_t now)
{
    if (e->state != WEBHOOK_ACTIVE || !e->plan_active || !e->is_connected || e->last_event_id <= e->position)
        return false;
    /* The id of an event is approximately the time of its commit in ms; see store_insert_event(). */
    const int64_t since = e->next_attempt_at == TIME_NONE || e->next_attempt_at > now + CLOCK_ERROR_MS
                              ? e->last_event_id
                              : e->next_attempt_at;
    return since < now - OVERDUE_MS && e->state_at < now - OVERDUE_MS;
}

static bool on_endpoint(void *ctx, const struct webhook_endpoint *e)
{
    struct endpoint_counts *c = ctx;
    c->last_row = e->row;
    c->page++;
    c->all++;
    c->failed += e->state == WEBHOOK_FAILED;
    c->failing += e->state == WEBHOOK_ACTIVE && e->is_connected && e->failures >= FAILURES_LONG;
    c->overdue += is_overdue(e, c->d->now_ms);
    return true;
}

/* Counts the endpoints. If there are none, or if they cannot be read, reports a finding and returns false. */
static bool count_endpoints(struct doctor *d, struct endpoint_counts *c)
{
    enum err err;
    *c = (struct endpoint_counts){.d = d};
    do {
        c->page = 0;
        err = store_list_webhooks(d->store, c->last_row, ROWS_AT_ONCE, on_endpoint, c);
    } while (!err && c->page == ROWS_AT_ONCE);
    if (err)
        doctor_error(d, "see the findings about the database", "the webhooks cannot be read");
    else if (!c->all)
        doctor_skip(d, "there are no webhooks");
    return !err && c->all;
}

static void check_secrets(struct doctor *d)
{
    struct endpoint_counts c;
    if (!count_endpoints(d, &c))
        return;
    if (!*d->config->secrets.key_file)
        doctor_error(d, "set [secrets] key_file to the key file that belongs to this database",
                     "the events of %lld webhook%s cannot be signed without [secrets] key_file", c.all,
                     plural(c.all, "", "s"));
    else
        doctor_ok(d, "[secrets] key_file is set (platforms.tokens checks its keys)");
}

static void check_endpoints(struct doctor *d)
{
    struct endpoint_counts c;
    if (!count_endpoints(d, &c))
        return;
    if (c.failed)
        doctor_warn(d,
                    "correct the cause at the receiver, then run viewtally webhook resume WEBHOOK (viewtally "
                    "webhook list shows the ids)",
                    "%lld webhook%s %s paused, because every attempt to deliver an event failed", c.failed,
                    plural(c.failed, "", "s"), plural(c.failed, "is", "are"));
    if (c.failing)
        doctor_warn(
            d, "correct the cause: see the log of the receiver (viewtally webhook list shows the webhooks)",
            "%lld webhook%s failed for more than two hours", c.failing, plural(c.failing, " has", "s have"));
    if (!c.failed && !c.failing)
        doctor_ok(d, "no webhook fails");
}

/* ---- delivery ---- */

static void check_delivery(struct doctor *d)
{
    struct endpoint_counts c;
    struct lease_row lease;
    bool held;
    if (!count_endpoints(d, &c))
        return;
    if (!d->config->webhooks.enabled)
        doctor_warn(d, "set [webhooks] enabled = on and restart the server",
                    "the delivery of webhooks is off, so the events of %lld webhook%s wait", c.all,
                    plural(c.all, "", "s"));
    else if (lease_read(d->store, LEASE_WEBHOOKS, &lease, &held))
        doctor_error(d, "see the findings about the database", "the lease of the webhooks cannot be read");
    else if (c.overdue && !held)
        doctor_error(d,
                     "start the server if it is not running (systemctl start viewtally), and see its log for "
                     "\"webhooks:\"",
                     "the events of %lld webhook%s wait, but no process delivers them", c.overdue,
                     plural(c.overdue, "", "s"));
    else
        doctor_ok(d, "no event waits for a process that delivers it");
}

static void check_networks(struct doctor *d)
{
    static const char *const sensitive[] = {"127.0.0.1", "::1", "169.254.169.254", "fd00:ec2::254"};
    const char *networks = d->config->webhooks.allowed_networks;
    struct address_policy policy;
    if (!*networks) {
        doctor_ok(d, "webhooks can be sent to public addresses only");
        return;
    }
    if (!address_policy_init(&policy, str_from_cstr(networks)))
        return; /* configuration.mistakes reports it */
    for (size_t i = 0; i < sizeof sensitive / sizeof *sensitive; i++) {
        struct ip_address address;
        bool is_v4;
        if (!ip_address_parse(str_from_cstr(sensitive[i]), &address, &is_v4) ||
            !address_policy_allows(&policy, &address))
            continue;
        doctor_warn(d, "list only the networks of the receivers in [webhooks] allowed_networks",
                    "authors can send requests to %s, where services trust this machine, because of "
                    "[webhooks] allowed_networks = %s",
                    sensitive[i], networks);
        return;
    }
    doctor_ok(d, "webhooks can also be sent to the networks %s", networks);
}

static const struct doctor_check checks[] = {
    {"secrets", NEEDS_STORE, check_secrets},
    {"endpoints", NEEDS_STORE, check_endpoints},
    {"delivery", NEEDS_STORE, check_delivery},
    {"networks", NEEDS_CONFIG, check_networks},
};
const struct doctor_group doctor_webhooks = DOCTOR_GROUP("webhooks", checks);
