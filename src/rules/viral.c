/* Median and threshold, in integer arithmetic only. */
#include "rules/viral.h"

/* Returns the i-th value of the list without the element at index `skip`. */
static int64_t value_at(const int64_t *sorted, size_t skip, size_t i)
{
    return sorted[i < skip ? i : i + 1];
}

/* Returns the median. For an even number of values, this is the floor of the mean of the middle two. The sum
 * of these two cannot overflow, because each is at most five counts of 2^53 - 1. */
static int64_t median_of(const int64_t *sorted, size_t skip, size_t n)
{
    int64_t high = value_at(sorted, skip, n / 2);
    if (n % 2)
        return high;
    return (value_at(sorted, skip, n / 2 - 1) + high) / 2;
}

/* Returns ceil(median * multiplier), but at most COUNT_MAX. Uses 128 bits: `multiplier_milli` may be
 * 1,000,000, so the product may exceed 64 bits. */
static int64_t times_multiplier(int64_t median, int64_t multiplier_milli)
{
    __extension__ __int128 product = (__int128)median * multiplier_milli;
    product = (product + 999) / 1000;
    return product > COUNT_MAX ? COUNT_MAX : (int64_t)product;
}

struct viral_comparison viral_comparison_of(const int64_t *sorted, size_t n, size_t skip,
                                            const struct step_rules *rules)
{
    if (skip < n)
        n--;
    struct viral_comparison viral = {
        .threshold = rules->min_views < COUNT_MAX ? rules->min_views : COUNT_MAX,
        .median = COUNT_NONE,
        .compared = (int64_t)n,
    };
    if (n < COMPARE_LEAST)
        return viral;
    viral.median = median_of(sorted, skip, n);
    int64_t multiple = times_multiplier(viral.median, rules->multiplier_milli);
    if (multiple > viral.threshold)
        viral.threshold = multiple;
    return viral;
}
