/* Tests the viral threshold with examples computed by hand, and compares random arrays with a naive
 * implementation. */
#include "rules/viral.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct step_rules rules = {
    .multiplier_milli = 5000, .min_views = 10000, .compare_last = 50, .compare_min_age_ms = 0};

static struct viral_comparison comparison_of(size_t n, const int64_t *sorted)
{
    return viral_comparison_of(sorted, n, SKIP_NONE, &rules);
}

static void no_median_with_fewer_than_five_videos(void **state)
{
    (void)state;
    const int64_t views[] = {1000000, 1000000, 1000000, 1000000};
    for (size_t n = 0; n <= 4; n++) {
        struct viral_comparison viral = comparison_of(n, views);
        assert_int_equal(viral.threshold, 10000);
        assert_int_equal(viral.median, COUNT_NONE);
        assert_int_equal(viral.compared, n);
    }
}

static void median_of_an_even_number_of_videos_is_rounded_down(void **state)
{
    (void)state;
    const int64_t odd[] = {1, 2, 4001, 9000, 9001};
    assert_int_equal(comparison_of(5, odd).median, 4001);
    assert_int_equal(comparison_of(5, odd).threshold, 20005);
    const int64_t even[] = {0, 0, 4001, 4002, 9000, 9001};
    assert_int_equal(comparison_of(6, even).median, 4001); /* floor of 4001.5 */
    assert_int_equal(comparison_of(6, even).threshold, 20005);
    assert_int_equal(comparison_of(6, even).compared, 6);
}

static void threshold_is_never_below_min_views(void **state)
{
    (void)state;
    const int64_t views[] = {0, 1, 2000, 3000, 4000};
    assert_int_equal(comparison_of(5, views).threshold, 10000); /* 5 x 2,000 is exactly the minimum */
    const int64_t low[] = {0, 0, 0, 0, 0};
    assert_int_equal(comparison_of(5, low).threshold, 10000);
    assert_int_equal(comparison_of(5, low).median, 0);
}

static void video_is_not_compared_with_itself(void **state)
{
    (void)state;
    const int64_t views[] = {10, 20, 3000, 40000, 50000, 60000};
    struct viral_comparison viral = viral_comparison_of(views, 6, 5, &rules);
    assert_int_equal(viral.compared, 5);
    assert_int_equal(viral.median, 3000);
    viral = viral_comparison_of(views, 6, 0, &rules);
    assert_int_equal(viral.median, 40000);
    const int64_t five[] = {10, 20, 3000, 40000, 50000};
    viral = viral_comparison_of(five, 5, 2, &rules);
    assert_int_equal(viral.compared, 4);
    assert_int_equal(viral.median, COUNT_NONE);
}

static void multiplier_is_exact_and_rounds_up(void **state)
{
    (void)state;
    const int64_t views[] = {10001, 10001, 10001, 10001, 10001};
    struct step_rules r = rules;
    r.multiplier_milli = 1001; /* 1.001 x 10,001 = 10,011.001 */
    assert_int_equal(viral_comparison_of(views, 5, SKIP_NONE, &r).threshold, 10012);
    r.multiplier_milli = 1000;
    assert_int_equal(viral_comparison_of(views, 5, SKIP_NONE, &r).threshold, 10001);
    r.multiplier_milli = 1000000;
    assert_int_equal(viral_comparison_of(views, 5, SKIP_NONE, &r).threshold, 10001000);
    /* 1.1 has no exact binary form: in floating point, 1.1 x 10,250 is 11,275.000000000002, rounded up
     * 11,276. */
    const int64_t tens[] = {10250, 10250, 10250, 10250, 10250};
    r.multiplier_milli = 1100;
    assert_int_equal(viral_comparison_of(tens, 5, SKIP_NONE, &r).threshold, 11275);
}

static void threshold_is_capped_at_the_largest_count(void **state)
{
    (void)state;
    const int64_t big = 5 * COUNT_MAX; /* five posts with the largest count */
    const int64_t views[] = {big, big, big, big, big, big};
    struct step_rules r = rules;
    r.multiplier_milli = 1000000;
    struct viral_comparison viral = viral_comparison_of(views, 6, SKIP_NONE, &r);
    assert_int_equal(viral.threshold, COUNT_MAX);
    assert_int_equal(viral.median, big);
    r.min_views = INT64_MAX;
    assert_int_equal(viral_comparison_of(views, 0, SKIP_NONE, &r).threshold, COUNT_MAX);
}

/* Compares two counts for qsort(). The naive implementation copies the array without one element and sorts
 * the copy. */
static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void check_by_definition(const int64_t *views, size_t n, size_t skip, const struct step_rules *r)
{
    int64_t left[64];
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        if (i != skip)
            left[m++] = views[i];
    struct viral_comparison viral = viral_comparison_of(views, n, skip, r);
    assert_int_equal(viral.compared, m);
    if (m < 5) {
        assert_int_equal(viral.median, COUNT_NONE);
        assert_int_equal(viral.threshold, r->min_views);
        return;
    }
    qsort(left, m, sizeof left[0], ascending);
    int64_t median = m % 2 ? left[m / 2] : (left[m / 2 - 1] + left[m / 2]) / 2;
    assert_int_equal(viral.median, median);
    assert_true(viral.threshold >= r->min_views);
    /* The threshold is the multiple of the median, rounded up. */
    assert_true(viral.threshold * 1000 >= median * r->multiplier_milli);
    if (viral.threshold > r->min_views)
        assert_true((viral.threshold - 1) * 1000 < median * r->multiplier_milli);
}

static void random_arrays_match_a_naive_median(void **state)
{
    (void)state;
    unsigned seed = 20260615;
    for (int round = 0; round < 2000; round++) {
        int64_t views[64];
        size_t n = (size_t)(rand_r(&seed) % 60);
        for (size_t i = 0; i < n; i++)
            views[i] = rand_r(&seed) % (round % 2 ? 7 : 100000);
        if (n)
            qsort(views, n, sizeof views[0], ascending);
        struct step_rules r = rules;
        r.multiplier_milli = 1000 + rand_r(&seed) % 20000;
        r.min_views = rand_r(&seed) % 50000;
        for (size_t skip = 0; skip < n; skip++)
            check_by_definition(views, n, skip, &r);
        check_by_definition(views, n, SKIP_NONE, &r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_median_with_fewer_than_five_videos),
        cmocka_unit_test(median_of_an_even_number_of_videos_is_rounded_down),
        cmocka_unit_test(threshold_is_never_below_min_views),
        cmocka_unit_test(video_is_not_compared_with_itself),
        cmocka_unit_test(multiplier_is_exact_and_rounds_up),
        cmocka_unit_test(threshold_is_capped_at_the_largest_count),
        cmocka_unit_test(random_arrays_match_a_naive_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
