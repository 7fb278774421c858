/* Tests web/humanize and web/chart: numbers and times as text, and the SVG chart. */
#include "unit.h"

#include "base/clock.h"
#include "web/chart.h"
#include "web/humanize.h"
#include "store/model.h"

static struct buf out;

static void reset(void)
{
    buf_fini(&out);
    buf_init(&out, 1 << 20);
}

static void assert_output(const char *expected)
{
    assert_false(out.failed);
    assert_str(buf_str(&out), expected);
}

static bool contains(const char *part)
{
    return memmem(out.p, out.len, part, strlen(part)) != NULL;
}

static int count_of(const char *part)
{
    int n = 0;
    const char *at = out.p;
    while ((at = memmem(at, out.len - (size_t)(at - out.p), part, strlen(part))) != NULL) {
        n++;
        at++;
    }
    return n;
}

/* ---- numbers ---- */

static void short_numbers_are_truncated_and_not_rounded(void **state)
{
    static const struct {
        int64_t v;
        const char *text;
    } cases[] = {
        {0, "0"},
        {7, "7"},
        {999, "999"},
        {1000, "1,000"},
        {2400, "2,400"},
        {9999, "9,999"},
        {10000, "10K"},
        {12400, "12.4K"},
        {12499, "12.4K"},
        {99999, "99.9K"},
        {100000, "100K"},
        {123456, "123K"},
        {999949, "999K"},
        {999999, "999K"},
        {1000000, "1M"},
        {1049999, "1M"},
        {1200000, "1.2M"},
        {999999999, "999M"},
        {1000000000, "1B"},
        {45600000000, "45.6B"},
        {INT64_C(999999999999), "999B"},
        {INT64_C(1000000000000), "1T"},
        {INT64_C(999999999999999), "999T"},
        {INT64_C(1000000000000000), "1,000T"},
        {COUNT_MAX, "9,007T"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reset();
        format_number_short(&out, cases[i].v);
        assert_output(cases[i].text);
    }
}

static void exact_numbers_have_thousands_separators(void **state)
{
    (void)state;
    reset();
    format_number(&out, 12);
    format_number(&out, -123);
    format_number(&out, -1234);
    format_number(&out, 1234567);
    assert_output("12-123-1,2341,234,567");
    reset();
    format_number(&out, COUNT_MAX);
    assert_output("9,007,199,254,740,991");
}

static void short_number_has_exact_tooltip(void **state)
{
    (void)state;
    reset();
    html_number(&out, 2400);
    assert_output("2,400");
    reset();
    html_quantity(&out, 12431, "view", "views");
    assert_output("<span class=\"n\" aria-hidden=\"true\" title=\"12,431\">12.4K</span><span "
                  "class=\"sr\">12,431</span> views");
    reset();
    html_quantity(&out, 1, "view", "views");
    assert_output("1 view");
}

static const char *text_of(void (*write)(struct buf *, int64_t, int64_t), int64_t a, int64_t b)
{
    reset();
    write(&out, a, b);
    buf_append_char(&out, '\0');
    assert_false(out.failed);
    return out.p;
}

static void ratios_and_changes_become_text(void **state)
{
    (void)state;
    assert_string_equal(text_of(format_multiplier, 12480, 2400), "5.2 times");
    assert_string_equal(text_of(format_multiplier, 12719, 2400), "5.2 times");
    assert_string_equal(text_of(format_multiplier, 12000, 2400), "5 times");
    assert_string_equal(text_of(format_multiplier, 24010, 24), "1,000 times");
    assert_string_equal(text_of(format_multiplier, COUNT_MAX, 1), "9,007,199,254,740,991 times");
    assert_string_equal(text_of(format_percentage, 1, 3), "33%");
    assert_string_equal(text_of(format_percentage, 2, 3), "67%");
    assert_string_equal(text_of(format_percentage, 1, 1000), "&lt;1%");
    assert_string_equal(text_of(format_percentage, 999, 1000), "&gt;99%");
    assert_string_equal(text_of(format_percentage, 0, 1000), "0%");
    assert_string_equal(text_of(format_percentage, 0, 0), "0%");
    assert_string_equal(text_of(format_percentage, COUNT_MAX, COUNT_MAX), "100%");
    assert_string_equal(text_of(format_change, 124, 100), "up 24% from");
    assert_string_equal(text_of(format_change, 97, 100), "down 3% from");
    assert_string_equal(text_of(format_change, 0, 100), "down 100% from");
    assert_string_equal(text_of(format_change, 1, 1000), "down more than 99% from");
    assert_string_equal(text_of(format_change, 100, 100), "the same number as in");
    assert_string_equal(text_of(format_change, 1001, 1000), "up less than 1% from");
    assert_string_equal(text_of(format_change, 350, 100), "3.5 times as many as in");
    assert_string_equal(text_of(format_change, COUNT_MAX, 1), "9,007,199,254,740,991 times as many as in");
}

static void sum_of_counts_saturates_at_its_maximum(void **state)
{
    (void)state;
    assert_int_equal(count_add_saturating(2, 3), 5);
    assert_int_equal(count_add_saturating(COUNT_SUM_MAX - 1, 1), COUNT_SUM_MAX);
    assert_int_equal(count_add_saturating(COUNT_SUM_MAX, COUNT_MAX), COUNT_SUM_MAX);
    reset();
    format_number_short(&out, COUNT_SUM_MAX);
    assert_output("1,000,000T");
    assert_int_equal(chart_grid_step(COUNT_SUM_MAX), COUNT_SUM_MAX / 2);
}

/* ---- dates ---- */

static int64_t at(const char *text)
{
    int64_t t = 0;
    assert_true(time_parse(str_from_cstr(text), &t));
    return t;
}

static void dates_are_formatted(void **state)
{
    (void)state;
    reset();
    format_date(&out, date_of(at("2026-11-14T23:59:59Z")));
    assert_output("14 Nov 2026");
    reset();
    format_date_short(&out, date_of(at("2027-01-01T00:00:00Z")));
    assert_output("1 Jan");
    reset();
    format_date_time(&out, at("2026-02-09T09:05:59.999Z"));
    assert_output("9 Feb 2026, 09:05 UTC");
    reset();
    html_date(&out, date_of(at("2026-12-01T00:00:00Z")));
    assert_output("<time datetime=\"2026-12-01\">1 Dec 2026</time>");
}

static void ages_are_formatted(void **state)
{
    static const struct {
        const char *now, *text;
    } cases[] = {
        {"2026-11-14T11:59:00Z", ">just now<"}, /* the clock was set back */
        {"2026-11-14T12:00:59Z", ">just now<"},       {"2026-11-14T12:01:00Z", ">1 minute ago<"},
        {"2026-11-14T12:59:59Z", ">59 minutes ago<"}, {"2026-11-14T15:00:00Z", ">3 hours ago<"},
        {"2026-11-15T12:00:00Z", ">1 day ago<"},      {"2026-12-15T11:59:59Z", ">30 days ago<"},
        {"2026-12-15T12:00:00Z", ">14 Nov 2026<"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reset();
        html_time_ago(&out, at("2026-11-14T12:00:00Z"), at(cases[i].now));
        assert_true(contains(cases[i].text));
        assert_true(
            contains("<time datetime=\"2026-11-14T12:00:00.000Z\" title=\"14 Nov 2026, 12:00 UTC\">"));
    }
}

/* ---- chart ---- */

static void grid_step_is_1_2_or_5_times_a_power_of_ten(void **state)
{
    static const struct {
        int64_t max, step;
    } cases[] = {{0, 1},         {1, 1},
                 {4, 1},         {5, 2},
                 {8, 2},         {9, 5},
                 {20, 5},        {21, 10},
                 {40, 10},       {41, 20},
                 {12431, 5000},  {80000, 20000},
                 {80001, 50000}, {COUNT_MAX, INT64_C(5000000000000000)}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(chart_grid_step(cases[i].max), cases[i].step);
}

static struct chart_day days[CHART_DAYS_MAX];

static void draw(size_t count, bool one_video)
{
    struct chart c = {
        .id = "c", .title = STR("Views <per> day"), .one_video = one_video, .days = days, .count = count};
    reset();
    chart_write(&out, &c);
    assert_false(out.failed);
    assert_false(contains("nan") || contains("inf") || contains("style="));
}

static void fill(size_t count, int64_t views)
{
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += views;
        days[i] = (struct chart_day){.date = 20000 + (int32_t)i, .views = views, .total = total};
    }
}

static void sentence_replaces_a_chart_without_days(void **state)
{
    (void)state;
    draw(0, false);
    assert_false(contains("<svg"));
    assert_true(contains("There are no numbers to show yet"));
}

static void single_day_has_one_bar(void **state)
{
    (void)state;
    fill(1, 7);
    draw(1, false);
    assert_int_equal(count_of("class=\"chart-bar\""), 1);
    assert_int_equal(count_of("<tr><th scope=\"row\">"), 1);
    assert_true(contains("Views &lt;per&gt; day"));
    assert_true(contains("4 Oct 2024: 7 views</title>"));
    assert_true(contains("role=\"img\""));
}

static void days_without_views_have_no_bar(void **state)
{
    (void)state;
    fill(30, 0);
    draw(30, false);
    assert_int_equal(count_of("class=\"chart-bar\""), 0);
    assert_int_equal(count_of("class=\"chart-slot\""), 30);
    assert_true(contains(": 0 views."));
    assert_false(contains("Highest on"));
}

static void largest_count_stays_inside_the_chart(void **state)
{
    (void)state;
    fill(3, 0);
    days[0].views = COUNT_MAX;
    days[1].views = 1;
    draw(3, false);
    assert_int_equal(count_of("class=\"chart-bar\""), 2);
    assert_true(contains("10,000T</text>"));
    assert_true(contains("9,007,199,254,740,991 views</title>"));
    /* A single view stays visible. */
    assert_true(contains("height=\"0.60%\""));
}

static void viral_days_are_marked_without_color(void **state)
{
    (void)state;
    fill(10, 100);
    draw(10, false);
    assert_false(contains("chart-star") || contains("Went viral"));
    days[3].viral = 1;
    days[5].viral = 2;
    draw(10, false);
    assert_int_equal(count_of("fill=\"url(#c-hatch)\""), 2);
    assert_int_equal(count_of("class=\"chart-star\" x="), 2);
    assert_true(contains("<td class=\"num\">1 video went viral</td>") &&
                contains("<td class=\"num\">2 videos went viral</td>"));
    assert_true(contains("100 views, 1 video went viral</title>"));
    assert_true(contains("2 days are marked because a video went viral."));
    days[5].viral = 0;
    draw(10, true);
    assert_true(contains("<td class=\"num\">went viral</td>") &&
                contains("1 day is marked because the video went viral."));
}

static void width_of_a_meter_is_its_percentage(void **state)
{
    (void)state;
    reset();
    chart_write_meter(&out, "p-tiktok", 1, 4);
    assert_true(contains("width=\"25.00%\"") && contains("meter p-tiktok"));
    reset();
    chart_write_meter(&out, "p-tiktok", 0, 0);
    assert_true(contains("width=\"0.00%\""));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_numbers_are_truncated_and_not_rounded),
        cmocka_unit_test(exact_numbers_have_thousands_separators),
        cmocka_unit_test(short_number_has_exact_tooltip),
        cmocka_unit_test(ratios_and_changes_become_text),
        cmocka_unit_test(sum_of_counts_saturates_at_its_maximum),
        cmocka_unit_test(dates_are_formatted),
        cmocka_unit_test(ages_are_formatted),
        cmocka_unit_test(grid_step_is_1_2_or_5_times_a_power_of_ten),
        cmocka_unit_test(sentence_replaces_a_chart_without_days),
        cmocka_unit_test(single_day_has_one_bar),
        cmocka_unit_test(days_without_views_have_no_bar),
        cmocka_unit_test(largest_count_stays_inside_the_chart),
        cmocka_unit_test(viral_days_are_marked_without_color),
        cmocka_unit_test(width_of_a_meter_is_its_percentage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
