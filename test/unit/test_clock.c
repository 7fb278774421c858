/* Tests dates, times and integers as text, also by comparing them with the results of gmtime_r() and
 * snprintf(). */
#include "unit.h"
#include "lib/random.h"

#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/number.h"

static void assert_formats_like_snprintf(int64_t v)
{
    char plain[32], room[I64_TEXT_MAX + 1];
    int len = snprintf(plain, sizeof plain, "%lld", (long long)v);
    room[I64_TEXT_MAX] = '#';
    assert_int_equal(i64_format(v, room), len);
    assert_memory_equal(room, plain, len);
    assert_int_equal(room[I64_TEXT_MAX], '#');
}

static void formats_numbers_of_every_length(void **state)
{
    (void)state;
    uint64_t power = 1;
    for (int digits = 1; digits <= 19; digits++, power *= 10)
        for (int64_t near = -2; near <= 2; near++)
            for (uint64_t times = 1; times <= 9; times++) {
                int64_t v = (int64_t)(power * times) + near;
                assert_formats_like_snprintf(v);
                assert_formats_like_snprintf((int64_t)(0 - (uint64_t)v));
            }
    assert_formats_like_snprintf(INT64_MAX);
    assert_formats_like_snprintf(INT64_MIN);
    for (int64_t v = -11000; v <= 11000; v++)
        assert_formats_like_snprintf(v);
    for (int i = 0; i < 200000; i++)
        assert_formats_like_snprintf((int64_t)random_u64() >> random_u64() % 64);
}

static void dates_follow_the_calendar(void **state)
{
    static const char *const bad[] = {"2026-02-29", "2026-02-30", "2026-13-01", "2026-00-10",  "2026-01-00",
                                      "2026-1-01",  "26-01-01",   "2026/01/01", "2026-01-01 ", "0000-01-01",
                                      "1900-02-29", "+026-01-01", "2026-04-31"};
    char text[DATE_TEXT_LEN];
    int32_t date;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(date_parse(str_from_cstr(bad[i]), &date));
    assert_true(date_parse(STR("1970-01-01"), &date) && date == 0);
    assert_true(date_parse(STR("2000-02-29"), &date) && date == 11016);
    assert_true(date_parse(STR("2026-11-21"), &date) && date == 20778);
    /* Every 13th day of the years 0001 to 2400 round-trips. */
    int32_t first;
    assert_true(date_parse(STR("0001-01-01"), &first));
    for (int32_t d = first; d < first + 2400 * 366; d += 13) {
        date_format(d, text);
        assert_true(date_parse(str_make(text, sizeof text), &date));
        assert_int_equal(date, d);
    }
}

static void formats_every_date_of_years_1_to_9999(void **state)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    (void)state;
    int32_t date;
    char text[DATE_TEXT_LEN];
    assert_true(date_parse(STR("0001-01-01"), &date));
    for (int y = 1; y <= 9999; y++)
        for (int m = 1; m <= 12; m++) {
            bool leap = m == 2 && ((y % 4 == 0 && y % 100 != 0) || y % 400 == 0);
            for (int d = 1; d <= lengths[m - 1] + leap; d++) {
                date_format(date++, text);
                bool same = text[0] == '0' + y / 1000 && text[1] == '0' + y / 100 % 10 &&
                            text[2] == '0' + y / 10 % 10 && text[3] == '0' + y % 10 && text[4] == '-' &&
                            text[5] == '0' + m / 10 && text[6] == '0' + m % 10 && text[7] == '-' &&
                            text[8] == '0' + d / 10 && text[9] == '0' + d % 10;
                if (!same)
                    fail_msg("%04d-%02d-%02d is formatted as %.*s", y, m, d, DATE_TEXT_LEN, text);
            }
        }
    assert_str(str_make(text, sizeof text), "9999-12-31");
    const int32_t outside[] = {date, INT32_MAX, INT32_MIN, -719163};
    for (size_t i = 0; i < 4; i++) {
        date_format(outside[i], text);
        assert_str(str_make(text, sizeof text), outside[i] > 0 ? "9999-12-31" : "0001-01-01");
    }
}

static void times_are_utc_milliseconds(void **state)
{
    static const char *const bad[] = {"2026-06-15T00:00:00",
                                      "2026-06-15t00:00:00Z",
                                      "2026-06-15T24:00:00Z",
                                      "2026-06-15T00:60:00Z",
                                      "2026-06-15T00:00:60Z",
                                      "2026-06-15T00:00:00.Z",
                                      "2026-06-15T00:00:00.1234567890Z",
                                      "2026-06-15T00:00:00+00:00",
                                      "2026-06-15 00:00:00Z",
                                      "1969-12-31T23:59:59Z",
                                      "2026-06-15T00:00:00.12aZ",
                                      "",
                                      "Z"};
    char text[TIME_TEXT_LEN];
    int64_t t;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(time_parse(str_from_cstr(bad[i]), &t));
    assert_true(time_parse(STR("1970-01-01T00:00:00Z"), &t) && t == 0);
    assert_true(time_parse(STR("2026-06-15T12:34:56.7Z"), &t));
    time_format(t, text);
    assert_str(str_make(text, sizeof text), "2026-06-15T12:34:56.700Z");
    assert_true(time_parse(STR("2026-06-15T12:34:56.789999Z"), &t));
    time_format(t, text);
    assert_str(str_make(text, sizeof text), "2026-06-15T12:34:56.789Z");
    assert_int_equal(date_of(-1), -1);
    assert_int_equal(date_of(0), 0);
    assert_int_equal(date_of(DAY_MS - 1), 0);
    assert_int_equal(date_of(DAY_MS), 1);
}

static void assert_time(int64_t t_ms)
{
    char plain[64], text[TIME_TEXT_LEN + 1];
    struct tm tm;
    int64_t ms = t_ms % 1000 < 0 ? t_ms % 1000 + 1000 : t_ms % 1000;
    time_t s = (t_ms - ms) / 1000;
    assert_non_null(gmtime_r(&s, &tm));
    (void)snprintf(plain, sizeof plain, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
                   tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)ms);
    text[TIME_TEXT_LEN] = '#';
    time_format(t_ms, text);
    assert_memory_equal(text, plain, TIME_TEXT_LEN);
    assert_int_equal(text[TIME_TEXT_LEN], '#');
}

static void formats_times_of_all_years(void **state)
{
    const int64_t first = INT64_C(-62135596800000), last = INT64_C(253402300799999);
    const int64_t near[] = {-DAY_MS, -SECOND_MS, -1, 0, 1, 999, SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS - 1};
    char text[TIME_TEXT_LEN];
    (void)state;
    for (int i = 0; i < 100000; i++)
        assert_time(first + (int64_t)(random_u64() % (uint64_t)(last - first + 1)));
    /* Formats adjacent days around 1970-01-01, each followed by a day that is as far from 2026-07-01,
     * alternately after and before it. */
    for (int64_t day = -800; day < 800; day++)
        for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
            assert_time(day * DAY_MS + near[i]);
            assert_time(INT64_C(1782864000000) + (i % 2 ? day : -day) * DAY_MS + near[i]);
        }
    assert_time(first);
    assert_time(last);
    const int64_t outside[] = {first - 1, INT64_MIN, INT64_MIN + 1, last + 1, INT64_MAX};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        time_format(outside[i], text);
        assert_str(str_make(text, sizeof text),
                   outside[i] > 0 ? "9999-12-31T23:59:59.999Z" : "0001-01-01T00:00:00.000Z");
    }
}

static void times_in_file_names_have_whole_seconds_and_no_colon(void **state)
{
    static const char *const wrong[] = {"",
                                        "20260615T000000",
                                        "20260615T000000Zx",
                                        "20260615t000000Z",
                                        "20260615T000000z",
                                        "20260615 000000Z",
                                        "20260631T000000Z",
                                        "20260615T240000Z",
                                        "20260615T006000Z",
                                        "2026-06-15T00:00",
                                        "1790000000000000"};
    const int64_t t_ms = INT64_C(1781481600000) + 12 * HOUR_MS + 34 * MINUTE_MS + 56 * SECOND_MS;
    char text[TIME_NAME_LEN + 1];
    int64_t parsed = -1;
    (void)state;
    time_name_format(t_ms + 789, text);
    assert_string_equal(text, "20260615T123456Z");
    assert_true(time_name_parse(str_from_cstr(text), &parsed));
    assert_int_equal(parsed, t_ms);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(time_name_parse(str_from_cstr(wrong[i]), &parsed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_numbers_of_every_length),
        cmocka_unit_test(dates_follow_the_calendar),
        cmocka_unit_test(formats_every_date_of_years_1_to_9999),
        cmocka_unit_test(times_are_utc_milliseconds),
        cmocka_unit_test(formats_times_of_all_years),
        cmocka_unit_test(times_in_file_names_have_whole_seconds_and_no_colon),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
