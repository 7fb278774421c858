/* Tests histograms and the Prometheus text format. */
#include "unit.h"

#include "base/metrics.h"

static void duration_is_counted_in_its_bucket(void **state)
{
    struct metrics_duration_histogram t = {0};
    (void)state;
    metrics_observe(&t, -5);
    metrics_observe(&t, 0);
    metrics_observe(&t, 100); /* a bucket includes its upper bound (label `le`) */
    metrics_observe(&t, 101);
    metrics_observe(&t, 1000000);
    metrics_observe(&t, 60000001);
    metrics_observe(&t, INT64_C(1) << 40);
    assert_int_equal(t.counts[0], 3);
    assert_int_equal(t.counts[1], 1);
    assert_int_equal(t.counts[12], 1);
    assert_int_equal(t.counts[METRICS_BOUNDS], 2);
    assert_int_equal(t.sum_us, 100 + 101 + 1000000 + 60000001 + (INT64_C(1) << 40));
    assert_int_equal(t.max_us, INT64_C(1) << 40);
}

/* Compares the buckets with their definition, for values at and around each bound. */
static void bucket_bounds_are_inclusive(void **state)
{
    (void)state;
    for (int i = 0; i < METRICS_BOUNDS; i++)
        for (int64_t d = -1; d <= 1; d++) {
            struct metrics_duration_histogram t = {0};
            int64_t us = metrics_bounds_us[i] + d;
            int expected = 0;
            while (expected < METRICS_BOUNDS && us > metrics_bounds_us[expected])
                expected++;
            metrics_observe(&t, us);
            assert_int_equal(t.counts[expected], 1);
        }
}

static void assert_text(struct buf *b, const char *expected)
{
    buf_append_char(b, '\0');
    assert_string_equal(b->p, expected);
    buf_fini(b);
}

static struct buf new_text(void)
{
    struct buf b;
    buf_init(&b, 1 << 16);
    return b;
}

static void counters_and_gauges_are_formatted(void **state)
{
    struct buf b = new_text();
    (void)state;
    metrics_write_counter(&b, "a_total", "How many.", 7);
    metrics_write_gauge(&b, "b", "How much.", -3);
    metrics_write_family(&b, "c_seconds", METRICS_GAUGE, "How long.");
    metrics_write_seconds(&b, "c_seconds", NULL, 1500000);
    metrics_write_seconds(&b, "c_seconds", METRICS_LABELS({"k", STR("v")}), -1);
    assert_text(&b, "# HELP a_total How many.\n# TYPE a_total counter\na_total 7\n"
                    "# HELP b How much.\n# TYPE b gauge\nb -3\n"
                    "# HELP c_seconds How long.\n# TYPE c_seconds gauge\nc_seconds 1.500000\n"
                    "c_seconds{k=\"v\"} -0.000001\n");
}

static void label_values_are_escaped(void **state)
{
    struct buf b = new_text();
    (void)state;
    metrics_write_value(&b, "m",
                        METRICS_LABELS({"a", STR("x\"y\\z\nw")}, {"b", {NULL, 0}}, {"c", STR("{},=")}), 1);
    assert_text(&b, "m{a=\"x\\\"y\\\\z\\nw\",b=\"\",c=\"{},=\"} 1\n");
}

static void histograms_are_cumulative(void **state)
{
    struct buf b = new_text();
    struct metrics_size_histogram s = {0};
    (void)state;
    metrics_observe_size(&s, 0);
    metrics_observe_size(&s, 2);
    metrics_observe_size(&s, 1001);
    metrics_write_size_histogram(&b, "s", METRICS_LABELS({"r", STR("q")}), &s);
    assert_text(
        &b, "s_bucket{r=\"q\",le=\"0\"} 1\ns_bucket{r=\"q\",le=\"1\"} 1\ns_bucket{r=\"q\",le=\"2\"} 2\n"
            "s_bucket{r=\"q\",le=\"5\"} 2\ns_bucket{r=\"q\",le=\"10\"} 2\ns_bucket{r=\"q\",le=\"20\"} 2\n"
            "s_bucket{r=\"q\",le=\"50\"} 2\ns_bucket{r=\"q\",le=\"100\"} 2\ns_bucket{r=\"q\",le=\"200\"} 2\n"
            "s_bucket{r=\"q\",le=\"500\"} 2\ns_bucket{r=\"q\",le=\"1000\"} 2\n"
            "s_bucket{r=\"q\",le=\"+Inf\"} 3\ns_sum{r=\"q\"} 1003\ns_count{r=\"q\"} 3\n");
}

static void bounds_are_formatted_in_seconds(void **state)
{
    struct buf b = new_text();
    struct metrics_duration_histogram t = {0};
    (void)state;
    metrics_observe(&t, 300);
    metrics_write_duration_histogram(&b, "t", NULL, &t);
    assert_text(&b,
                "t_bucket{le=\"0.0001\"} 0\nt_bucket{le=\"0.00025\"} 0\nt_bucket{le=\"0.0005\"} 1\n"
                "t_bucket{le=\"0.001\"} 1\nt_bucket{le=\"0.0025\"} 1\nt_bucket{le=\"0.005\"} 1\n"
                "t_bucket{le=\"0.01\"} 1\nt_bucket{le=\"0.025\"} 1\nt_bucket{le=\"0.05\"} 1\n"
                "t_bucket{le=\"0.1\"} 1\nt_bucket{le=\"0.25\"} 1\nt_bucket{le=\"0.5\"} 1\n"
                "t_bucket{le=\"1\"} 1\nt_bucket{le=\"2.5\"} 1\nt_bucket{le=\"5\"} 1\nt_bucket{le=\"10\"} 1\n"
                "t_bucket{le=\"30\"} 1\nt_bucket{le=\"60\"} 1\nt_bucket{le=\"+Inf\"} 1\n"
                "t_sum 0.000300\nt_count 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duration_is_counted_in_its_bucket),
        cmocka_unit_test(bucket_bounds_are_inclusive),
        cmocka_unit_test(counters_and_gauges_are_formatted),
        cmocka_unit_test(label_values_are_escaped),
        cmocka_unit_test(histograms_are_cumulative),
        cmocka_unit_test(bounds_are_formatted_in_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
