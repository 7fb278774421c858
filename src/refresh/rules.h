/* The numbers of decisions 4 and 6 that an operator may set. Filled from the configuration by the caller; the
 * steps read no configuration. */
#ifndef VT_REFRESH_RULES_H
#define VT_REFRESH_RULES_H

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

#endif
