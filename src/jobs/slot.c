/* Slot arithmetic in integers. */
#include "jobs/slot.h"

#include "base/clock.h"
#include "base/hash.h"
#include "store/model.h"

enum { SLOTS_BACK = 2 };

int64_t slot_of(const struct slot_rule *rule, int64_t t_ms)
{
    const int64_t t = t_ms - rule->offset_ms;
    return t / rule->period_ms - (t % rule->period_ms < 0);
}

int64_t slot_due_at(const struct slot_rule *rule, int64_t slot)
{
    const struct str n = str_make((const char *)&slot, sizeof slot);
    const uint64_t jitter = hash_64(n, rule->seed) % (uint64_t)(rule->jitter_ms + 1);
    return rule->offset_ms + slot * rule->period_ms + (int64_t)jitter;
}

static bool is_plausible(const struct slot_rule *rule, int64_t now_ms, int64_t last_ms)
{
    return last_ms != TIME_NONE && last_ms <= now_ms + SLOTS_BACK * rule->period_ms;
}

bool slot_is_due(const struct slot_rule *rule, int64_t now_ms, int64_t last_ms)
{
    const int64_t slot = slot_of(rule, now_ms);
    const int64_t due_slot = now_ms >= slot_due_at(rule, slot) ? slot : slot - 1;
    return !is_plausible(rule, now_ms, last_ms) || due_slot > slot_of(rule, last_ms);
}

int64_t slot_next(const struct slot_rule *rule, int64_t now_ms, int64_t last_ms)
{
    return is_plausible(rule, now_ms, last_ms) ? slot_due_at(rule, slot_of(rule, last_ms) + 1) : now_ms;
}
