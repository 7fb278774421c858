/* The numbers of decisions 4 and 6 that an operator may set. The steps read no configuration:
 * they are given these. */
#ifndef VT_RULES_RULE_SETTINGS_H
#define VT_RULES_RULE_SETTINGS_H

#include "config/config.h"

#include <stdint.h>

/* The bounds that the configuration keeps; sizes of arrays follow from them. */
enum { COMPARE_LAST_MIN = 5, COMPARE_LAST_MAX = 500 };

struct step_rules {
    int64_t multiplier_milli; /* [viral] multiplier in thousandths: 5.0 is 5000 */
    int64_t min_views;
    int64_t compare_last; /* COMPARE_LAST_MIN … COMPARE_LAST_MAX */
    int64_t compare_min_age_ms;
    int64_t history_start_ms; /* events of an earlier `t` are not written */
};

struct step_rules step_rules_configured(const struct config *config);

#endif
