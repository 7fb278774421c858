/* Uses the pauses that the specification Standard Webhooks suggests, up to a total of three days. */
#include "webhook/webhook_rules.h"

#include "base/clock.h"

#include <stdio.h>

static const int64_t pauses_ms[WEBHOOK_TRIES - 1] = {
    5 * SECOND_MS,         5 * MINUTE_MS,         30 * MINUTE_MS,
    2 * (int64_t)HOUR_MS,  5 * (int64_t)HOUR_MS,  10 * (int64_t)HOUR_MS,
    14 * (int64_t)HOUR_MS, 20 * (int64_t)HOUR_MS, 20 * (int64_t)HOUR_MS,
};

enum { LONGEST_PAUSE_MS = 20 * HOUR_MS, PLAN_MS = 3 * DAY_MS };

enum { GONE = 410 };

int64_t webhook_pause_ms(int64_t failures, uint32_t random)
{
    if (failures < 1 || failures >= WEBHOOK_TRIES)
        return -1;
    const int64_t pause = pauses_ms[failures - 1], spread = pause / 10;
    return pause - spread + (int64_t)(random % (uint32_t)(2 * spread + 1));
}

int64_t webhook_extend_pause_ms(int64_t pause_ms, int64_t retry_after_ms, uint32_t random)
{
    if (retry_after_ms <= 0 || retry_after_ms > PLAN_MS)
        return pause_ms;
    const int64_t wait = retry_after_ms < LONGEST_PAUSE_MS ? retry_after_ms : LONGEST_PAUSE_MS;
    const int64_t extended = wait + random % (uint32_t)(wait / 10 + 1);
    return extended > pause_ms ? extended : pause_ms;
}

void webhook_judge_status(struct delivery_result *r)
{
    r->error[0] = '\0';
    if (r->status >= 200 && r->status < 300)
        return;
    if (r->status >= 300 && r->status < 400)
        (void)snprintf(r->error, sizeof r->error, "status %d: redirects are not followed", r->status);
    else
        (void)snprintf(r->error, sizeof r->error, "status %d", r->status);
}

static void enter(struct webhook_endpoint *e, enum webhook_state state, int64_t now_ms)
{
    e->state = state;
    e->state_at = now_ms;
    e->failures = 0;
    e->next_attempt_at = TIME_NONE;
}

static void count_failure(struct webhook_endpoint *e, const struct delivery_result *r, int64_t now_ms,
                          uint32_t random)
{
    const int64_t pause = webhook_pause_ms(++e->failures, random);
    e->next_attempt_at = now_ms + webhook_extend_pause_ms(pause, r->retry_after_ms, random);
    if (pause < 0)
        enter(e, WEBHOOK_FAILED, now_ms);
}

void webhook_apply(struct webhook_endpoint *e, const struct delivery_result *r, int64_t now_ms,
                   uint32_t random)
{
    const bool is_delivered = !r->error[0];
    if (r->kind != DELIVERY_SKIP)
        e->attempts++;
    if (r->status == GONE) {
        enter(e, WEBHOOK_GONE, now_ms);
        return;
    }
    if (r->kind == DELIVERY_MANUAL || e->position != r->position)
        return;
    if (is_delivered) {
        e->position = r->event_id;
        e->failures = 0;
        e->next_attempt_at = TIME_NONE;
    } else if (e->state == WEBHOOK_ACTIVE) {
        count_failure(e, r, now_ms, random);
    }
}

bool webhook_is_subscribed(const struct webhook_endpoint *e, enum event_type type)
{
    return e->types == 0 || (e->types >> type & 1) != 0;
}

const char *webhook_state_name(enum webhook_state state)
{
    static const char *const names[] = {[WEBHOOK_ACTIVE] = "active",
                                        [WEBHOOK_PAUSED] = "paused",
                                        [WEBHOOK_FAILED] = "failed",
                                        [WEBHOOK_GONE] = "gone"};
    return names[state];
}
