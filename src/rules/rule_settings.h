/* The configurable numbers of the rules for viral videos and events, in the units that the step engine
 * uses. */
#ifndef VT_RULES_RULE_SETTINGS_H
#define VT_RULES_RULE_SETTINGS_H

#include "config/config.h"

#include <stdint.h>

/* The limits of [viral] compare_last. Array sizes depend on them. */
enum { COMPARE_LAST_MIN = 5, COMPARE_LAST_MAX = 500 };

struct step_rules {
    int64_t multiplier_milli; /* [viral] multiplier in thousandths: 5.0 is 5000 */
    int64_t min_views;
    int64_t compare_last; /* number of videos to compare with, COMPARE_LAST_MIN … COMPARE_LAST_MAX */
    int64_t compare_min_age_ms;
    int64_t history_start_ms; /* no event before this time is written */
};

/* Returns the rules of a configuration. */
struct step_rules step_rules_from_config(const struct config *config);

#endif
