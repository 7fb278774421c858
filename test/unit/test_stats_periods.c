/* Tests the periods of /stats, also by comparison with a loop over all dates. */
#include "api/stats_periods.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int32_t on(const char *text)
{
    int32_t date;
    assert_true(date_parse(str_from_cstr(text), &date));
    return date;
}

static void assert_date(int32_t date, const char *expected)
{
    char text[DATE_TEXT_LEN + 1] = "";
    date_format(date, text);
    assert_string_equal(text, expected);
}

static void weeks_begin_on_monday_and_are_cut_to_the_range(void **state)
{
    (void)state;
    struct stats_periods p;
    assert_true(
        periods_init(&p, GRANULARITY_WEEK, on("2026-07-01"), on("2026-07-14"))); /* Wednesday, Tuesday */
    assert_int_equal(p.count, 3);
    assert_date(p.starts[0], "2026-07-01");
    assert_date(p.starts[1], "2026-07-06");
    assert_date(p.starts[2], "2026-07-13");
    assert_date(p.starts[3], "2026-07-15");
}

static void months_are_cut_to_the_range(void **state)
{
    (void)state;
    struct stats_periods p;
    assert_true(periods_init(&p, GRANULARITY_MONTH, on("2025-12-31"), on("2026-03-01")));
    assert_int_equal(p.count, 4);
    assert_date(p.starts[0], "2025-12-31");
    assert_date(p.starts[1], "2026-01-01");
    assert_date(p.starts[2], "2026-02-01");
    assert_date(p.starts[3], "2026-03-01");
    assert_date(p.starts[4], "2026-03-02");
}

static void default_range_has_7_days_8_weeks_or_12_months(void **state)
{
    (void)state;
    assert_date(periods_default_start(GRANULARITY_DAY, on("2026-03-02")), "2026-02-24");
    assert_date(periods_default_start(GRANULARITY_WEEK, on("2026-07-05")), "2026-05-11"); /* a Sunday */
    assert_date(periods_default_start(GRANULARITY_WEEK, on("2026-07-06")), "2026-05-18"); /* a Monday */
    assert_date(periods_default_start(GRANULARITY_MONTH, on("2026-01-31")), "2025-02-01");
    assert_date(periods_default_start(GRANULARITY_MONTH, on("2026-12-01")), "2026-01-01");
    assert_date(periods_default_start(GRANULARITY_MONTH, on("0001-03-05")), "0001-01-01");
}

static void range_has_at_most_90_days_104_weeks_or_60_months(void **state)
{
    (void)state;
    static const struct {
        enum granularity granularity;
        const char *from, *last; /* first date, and last date of the longest range that begins there */
    } cases[] = {
        {GRANULARITY_DAY, "2026-01-01", "2026-03-31"},
        {GRANULARITY_WEEK, "2024-01-01", "2025-12-28"}, /* Monday to Sunday: 104 whole weeks */
        {GRANULARITY_WEEK, "2024-01-03", "2025-12-28"}, /* a cut week counts */
        {GRANULARITY_MONTH, "2021-01-01", "2025-12-31"},
        {GRANULARITY_MONTH, "2021-01-31", "2025-12-31"},
    };
    struct stats_periods p;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(periods_init(&p, cases[i].granularity, on(cases[i].from), on(cases[i].last)));
        assert_int_equal(p.count, periods_max(cases[i].granularity));
        assert_false(periods_init(&p, cases[i].granularity, on(cases[i].from), on(cases[i].last) + 1));
        assert_false(periods_init(&p, cases[i].granularity, on("0001-01-01"), on("9999-12-31")));
    }
}

/* Returns true if a calendar period begins on the date. */
static bool begins(enum granularity granularity, int32_t date)
{
    char text[DATE_TEXT_LEN];
    date_format(date, text);
    switch (granularity) {
    case GRANULARITY_DAY: return true;
    case GRANULARITY_WEEK: return (date - on("2026-07-06")) % 7 == 0;
    case GRANULARITY_MONTH: return text[8] == '0' && text[9] == '1';
    }
    return false;
}

static void each_period_ends_the_day_before_the_next_begins(void **state)
{
    (void)state;
    static const char *const starts[] = {"2024-02-28", "1969-11-20", "0001-01-01", "2099-12-31"};
    for (int g = 0; g < GRANULARITIES; g++)
        for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
            struct stats_periods p;
            const int32_t from = on(starts[i]), to = from + 80;
            int index = 0;
            assert_true(periods_init(&p, (enum granularity)g, from, to));
            for (int32_t date = from; date <= to; date++) {
                index += date > from && begins((enum granularity)g, date);
                assert_int_equal(periods_find(&p, date), index);
                assert_true(p.starts[index] <= date && date < p.starts[index + 1]);
            }
            assert_int_equal(p.count, index + 1);
            assert_int_equal(p.starts[p.count], to + 1);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weeks_begin_on_monday_and_are_cut_to_the_range),
        cmocka_unit_test(months_are_cut_to_the_range),
        cmocka_unit_test(default_range_has_7_days_8_weeks_or_12_months),
        cmocka_unit_test(range_has_at_most_90_days_104_weeks_or_60_months),
        cmocka_unit_test(each_period_ends_the_day_before_the_next_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
