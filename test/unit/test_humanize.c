/* web/humanize and web/chart: what people read, and what the picture is drawn from. */
#include "unit.h"

#include "base/clock.h"
#include "web/chart.h"
#include "web/humanize.h"
#include "store/model.h"

static struct buf out;

static void begin(void)
{
    buf_fini(&out);
    buf_init(&out, 1 << 20);
}

static void end(const char *expected)
{
    assert_false(out.failed);
    assert_str(buf_str(&out), expected);
}

static bool holds(const char *part)
{
    return memmem(out.p, out.len, part, strlen(part)) != NULL;
}

static int times_held(const char *part)
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

static void short_numbers_never_say_more_than_there_is(void **state)
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
        begin();
        format_number_short(&out, cases[i].v);
        end(cases[i].text);
    }
}

static void exact_numbers_are_grouped(void **state)
{
    (void)state;
    begin();
    format_number(&out, 12);
    format_number(&out, -123);
    format_number(&out, -1234);
    format_number(&out, 1234567);
    end("12-123-1,2341,234,567");
    begin();
    format_number(&out, COUNT_MAX);
    end("9,007,199,254,740,991");
}

static void a_short_number_carries_the_exact_one(void **state)
{
    (void)state;
    begin();
    html_number(&out, 2400);
    end("2,400");
    begin();
    html_quantity(&out, 12431, "view", "views");
    end("<span class=\"n\" aria-hidden=\"true\" title=\"12,431\">12.4K</span><span "
        "class=\"sr\">12,431</span> views");
    begin();
    html_quantity(&out, 1, "view", "views");
    end("1 view");
}

static const char *in_words(void (*write)(struct buf *, int64_t, int64_t), int64_t a, int64_t b)
{
    begin();
    write(&out, a, b);
    buf_append_char(&out, '\0');
    assert_false(out.failed);
    return out.p;
}

static void comparisons_are_said_in_words(void **state)
{
    (void)state;
    assert_string_equal(in_words(format_multiplier, 12480, 2400), "5.2 times");
    assert_string_equal(in_words(format_multiplier, 12719, 2400), "5.2 times");
    assert_string_equal(in_words(format_multiplier, 12000, 2400), "5 times");
    assert_string_equal(in_words(format_multiplier, 24010, 24), "1,000 times");
    assert_string_equal(in_words(format_multiplier, COUNT_MAX, 1), "9,007,199,254,740,991 times");
    assert_string_equal(in_words(format_percentage, 1, 3), "33%");
    assert_string_equal(in_words(format_percentage, 2, 3), "67%");
    assert_string_equal(in_words(format_percentage, 1, 1000), "&lt;1%");
    assert_string_equal(in_words(format_percentage, 999, 1000), "&gt;99%");
    assert_string_equal(in_words(format_percentage, 0, 1000), "0%");
    assert_string_equal(in_words(format_percentage, 0, 0), "0%");
    assert_string_equal(in_words(format_percentage, COUNT_MAX, COUNT_MAX), "100%");
    assert_string_equal(in_words(format_change, 124, 100), "up 24% on");
    assert_string_equal(in_words(format_change, 97, 100), "down 3% on");
    assert_string_equal(in_words(format_change, 0, 100), "down 100% on");
    assert_string_equal(in_words(format_change, 1, 1000), "down more than 99% on");
    assert_string_equal(in_words(format_change, 100, 100), "the same number as in");
    assert_string_equal(in_words(format_change, 1001, 1000), "up less than 1% on");
    assert_string_equal(in_words(format_change, 350, 100), "3.5 times as many as in");
    assert_string_equal(in_words(format_change, COUNT_MAX, 1), "9,007,199,254,740,991 times as many as in");
}

static void sums_do_not_overflow(void **state)
{
    (void)state;
    assert_int_equal(count_sum(2, 3), 5);
    assert_int_equal(count_sum(COUNT_SUM_MAX - 1, 1), COUNT_SUM_MAX);
    assert_int_equal(count_sum(COUNT_SUM_MAX, COUNT_MAX), COUNT_SUM_MAX);
    begin();
    format_number_short(&out, COUNT_SUM_MAX);
    end("1,000,000T");
    assert_int_equal(chart_grid_step(COUNT_SUM_MAX), COUNT_SUM_MAX / 2);
}

/* ---- dates ---- */

static int64_t at(const char *text)
{
    int64_t t = 0;
    assert_true(time_parse(str_from_cstr(text), &t));
    return t;
}

static void dates_are_written_for_people(void **state)
{
    (void)state;
    begin();
    format_date(&out, date_of(at("2026-11-14T23:59:59Z")));
    end("14 Nov 2026");
    begin();
    format_date_short(&out, date_of(at("2027-01-01T00:00:00Z")));
    end("1 Jan");
    begin();
    format_date_time(&out, at("2026-02-09T09:05:59.999Z"));
    end("9 Feb 2026, 09:05 UTC");
    begin();
    html_date(&out, date_of(at("2026-12-01T00:00:00Z")));
    end("<time datetime=\"2026-12-01\">1 Dec 2026</time>");
}

static void ages_are_written_for_people(void **state)
{
    static const struct {
        const char *now, *text;
    } cases[] = {
        {"2026-11-14T11:59:00Z", ">just now<"}, /* a clock that went back */
        {"2026-11-14T12:00:59Z", ">just now<"},       {"2026-11-14T12:01:00Z", ">1 minute ago<"},
        {"2026-11-14T12:59:59Z", ">59 minutes ago<"}, {"2026-11-14T15:00:00Z", ">3 hours ago<"},
        {"2026-11-15T12:00:00Z", ">1 day ago<"},      {"2026-12-15T11:59:59Z", ">30 days ago<"},
        {"2026-12-15T12:00:00Z", ">14 Nov 2026<"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        html_time_ago(&out, at("2026-11-14T12:00:00Z"), at(cases[i].now));
        assert_true(holds(cases[i].text));
        assert_true(holds("<time datetime=\"2026-11-14T12:00:00.000Z\" title=\"14 Nov 2026, 12:00 UTC\">"));
    }
}

/* ---- the chart ---- */

static void lines_of_the_axis_are_round(void **state)
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
    begin();
    chart_write(&out, &c);
    assert_false(out.failed);
    assert_false(holds("nan") || holds("inf") || holds("style="));
}

static void fill(size_t count, int64_t views)
{
    int64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += views;
        days[i] = (struct chart_day){.date = 20000 + (int32_t)i, .views = views, .total = total};
    }
}

static void no_day_draws_a_sentence(void **state)
{
    (void)state;
    draw(0, false);
    assert_false(holds("<svg"));
    assert_true(holds("nothing to draw yet"));
}

static void one_day_has_one_bar(void **state)
{
    (void)state;
    fill(1, 7);
    draw(1, false);
    assert_int_equal(times_held("class=\"chart-bar\""), 1);
    assert_int_equal(times_held("<tr><th scope=\"row\">"), 1);
    assert_true(holds("Views &lt;per&gt; day"));
    assert_true(holds("4 Oct 2024: 7 views</title>"));
    assert_true(holds("role=\"img\""));
}

static void days_of_nothing_have_no_bar(void **state)
{
    (void)state;
    fill(30, 0);
    draw(30, false);
    assert_int_equal(times_held("class=\"chart-bar\""), 0);
    assert_int_equal(times_held("class=\"chart-slot\""), 30);
    assert_true(holds(": 0 views."));
    assert_false(holds("Most on"));
}

static void huge_days_stay_in_the_picture(void **state)
{
    (void)state;
    fill(3, 0);
    days[0].views = COUNT_MAX;
    days[1].views = 1;
    draw(3, false);
    assert_int_equal(times_held("class=\"chart-bar\""), 2);
    assert_true(holds("10,000T</text>"));
    assert_true(holds("9,007,199,254,740,991 views</title>"));
    /* One view of so many is still seen. */
    assert_true(holds("height=\"0.60%\""));
}

static void viral_days_are_told_apart_without_colour(void **state)
{
    (void)state;
    fill(10, 100);
    draw(10, false);
    assert_false(holds("chart-star") || holds("Went viral"));
    days[3].viral = 1;
    days[5].viral = 2;
    draw(10, false);
    assert_int_equal(times_held("fill=\"url(#c-hatch)\""), 2);
    assert_int_equal(times_held("class=\"chart-star\" x="), 2);
    assert_true(holds("<td class=\"num\">1 video went viral</td>") &&
                holds("<td class=\"num\">2 videos went viral</td>"));
    assert_true(holds("100 views, 1 video went viral</title>"));
    assert_true(holds("2 days are marked: a video went viral."));
    days[5].viral = 0;
    draw(10, true);
    assert_true(holds("<td class=\"num\">went viral</td>") &&
                holds("1 day is marked: the video went viral."));
}

static void a_meter_shows_its_part(void **state)
{
    (void)state;
    begin();
    chart_meter(&out, "p-tiktok", 1, 4);
    assert_true(holds("width=\"25.00%\"") && holds("meter p-tiktok"));
    begin();
    chart_meter(&out, "p-tiktok", 0, 0);
    assert_true(holds("width=\"0.00%\""));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_numbers_never_say_more_than_there_is),
        cmocka_unit_test(exact_numbers_are_grouped),
        cmocka_unit_test(a_short_number_carries_the_exact_one),
        cmocka_unit_test(comparisons_are_said_in_words),
        cmocka_unit_test(sums_do_not_overflow),
        cmocka_unit_test(dates_are_written_for_people),
        cmocka_unit_test(ages_are_written_for_people),
        cmocka_unit_test(lines_of_the_axis_are_round),
        cmocka_unit_test(no_day_draws_a_sentence),
        cmocka_unit_test(one_day_has_one_bar),
        cmocka_unit_test(days_of_nothing_have_no_bar),
        cmocka_unit_test(huge_days_stay_in_the_picture),
        cmocka_unit_test(viral_days_are_told_apart_without_colour),
        cmocka_unit_test(a_meter_shows_its_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
