/* Converts the units of the configuration to the units of the step engine. */
#include "rules/rule_settings.h"

#include "base/clock.h"

struct step_rules step_rules_from_config(const struct config *config)
{
    return (struct step_rules){
        .multiplier_milli = config->viral.multiplier_milli,
        .min_views = config->viral.min_views,
        .compare_last = config->viral.compare_last,
        .compare_min_age_ms = config->viral.compare_min_age_hours * HOUR_MS,
        .history_start_ms = config->events.history_start,
    };
}
