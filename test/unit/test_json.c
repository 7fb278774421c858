/* JSON output, and the texts of numbers, dates and times in it. */
#include "unit.h"
#include "lib/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/json.h"

static void assert_number(int64_t v)
{
    enum { LONGEST = 20 };
    char expected[32], text[LONGEST + 1];
    int len = snprintf(expected, sizeof expected, "%lld", (long long)v);
    text[LONGEST] = '#';
    assert_int_equal(fmt_i64(text, v), len);
    assert_memory_equal(text, expected, len);
    assert_int_equal(text[LONGEST], '#');
}

static void formats_numbers_of_every_length(void **state)
{
    (void)state;
    uint64_t power = 1;
    for (int digits = 1; digits <= 19; digits++, power *= 10)
        for (int64_t near = -2; near <= 2; near++)
            for (uint64_t times = 1; times <= 9; times++) {
                int64_t v = (int64_t)(power * times) + near;
                assert_number(v);
                assert_number((int64_t)(0 - (uint64_t)v));
            }
    assert_number(INT64_MAX);
    assert_number(INT64_MIN);
    for (int64_t v = -11000; v <= 11000; v++)
        assert_number(v);
    for (int i = 0; i < 200000; i++)
        assert_number((int64_t)random_u64() >> random_u64() % 64);
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
                    fail_msg("%04d-%02d-%02d is written %.*s", y, m, d, DATE_TEXT_LEN, text);
            }
        }
    assert_str(str_make(text, sizeof text), "9999-12-31");
    const int32_t outside[] = {date, INT32_MAX, INT32_MIN, -719163};
    for (size_t i = 0; i < 4; i++) {
        date_format(outside[i], text);
        assert_str(str_make(text, sizeof text), outside[i] > 0 ? "9999-12-31" : "0001-01-01");
    }
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
    /* Adjacent days and alternating days, around the epoch. */
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

static void assert_time_again(int64_t t_ms)
{
    char text[TIME_TEXT_LEN + 1], plain[TIME_TEXT_LEN];
    text[TIME_TEXT_LEN] = '#';
    time_format(t_ms, plain);
    time_format_again(t_ms, text);
    assert_memory_equal(text, plain, TIME_TEXT_LEN);
    assert_int_equal(text[TIME_TEXT_LEN], '#');
}

static void formats_repeated_times(void **state)
{
    int64_t some[20];
    (void)state;
    assert_time_again(0); /* before any other */
    for (int i = 0; i < 20; i++)
        some[i] = INT64_C(1782864000000) + i * (int64_t)SECOND_MS;
    for (int i = 0; i < 100000; i++)
        assert_time_again(i % 100 ? some[random_below(20)] : (int64_t)random_u64());
    assert_time_again(0);
    assert_time_again(INT64_MIN);
    assert_time_again(INT64_MAX);
}

static void values_and_keys_are_separated_by_commas(void **state)
{
    const struct uuid u = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255}};
    struct buf b;
    (void)state;
    buf_init(&b, 1000);
    json_open(&b, '{');
    JSON_UUID(&b, "id", &u);
    JSON_DATE(&b, "day", -1);
    JSON_BOOL(&b, "yes", true);
    JSON_BOOL(&b, "no", false);
    JSON_I64_OR_NULL(&b, "n", false, 1);
    JSON_TIME_OR_NULL(&b, "t", true, -1);
    json_key(&b, STR("list"));
    json_open(&b, '[');
    json_i64(&b, INT64_MIN);
    json_open(&b, '[');
    json_close(&b, ']');
    json_str(&b, str_make(NULL, 0));
    json_str(&b, STR(""));
    json_close(&b, ']');
    json_close(&b, '}');
    assert_str(buf_str(&b),
               "{\"id\":\"00010203-0405-0607-0809-0a0b0c0d0eff\",\"day\":\"1969-12-31\",\"yes\":true,"
               "\"no\":false,\"n\":null,\"t\":\"1969-12-31T23:59:59.999Z\","
               "\"list\":[-9223372036854775808,[],null,\"\"]}");
    buf_fini(&b);
}

/* After buf_go_on() the comma depends on a character that has been sent already. */
static void commas_continue_after_a_flush(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 1000);
    json_open(&b, '[');
    buf_go_on(&b);
    json_i64(&b, 1);
    assert_str(buf_str(&b), "1");
    buf_go_on(&b);
    json_i64(&b, 2);
    assert_str(buf_str(&b), ",2");
    buf_fini(&b);
}

/* --- strings --- */

/* Parts of strings and their JSON, which does not depend on what precedes or follows them. */
static const struct piece {
    struct str in, out;
} pieces[] = {
    {STR("\""), STR("\\\"")},
    {STR("\\"), STR("\\\\")},
    {STR("\n"), STR("\\n")},
    {STR("\0"), STR("\\u0000")},
    {STR("\x1F"), STR("\\u001f")},
    {STR(" "), STR(" ")},
    {STR("!#[]~"), STR("!#[]~")},
    {STR("\x7F"), STR("\\u007f")},
    {STR("\xC2\x80"), STR("\\u0080")},
    {STR("\xC3\xA9"), STR("\xC3\xA9")},
    {STR("\xE2\x80\xA8"), STR("\\u2028")},
    {STR("\xF0\x9F\x98\x80"), STR("\xF0\x9F\x98\x80")},
    {STR("\xFF"), STR("\xEF\xBF\xBD")},
    {STR("\xED\xA0\x80"), STR("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD")},
};

/* A string and its JSON; mostly characters that need no escape. */
struct sample {
    char in[400], out[1200];
    size_t in_len, out_len;
};

static void add(struct sample *x, struct str in, struct str out)
{
    memcpy(x->in + x->in_len, in.p, in.len);
    memcpy(x->out + x->out_len, out.p, out.len);
    x->in_len += in.len;
    x->out_len += out.len;
}

static void make_sample(struct sample *x)
{
    static const char plain[] = "https://video.example/@somebody/0123456789abcdef/The title of a book";
    *x = (struct sample){.out = "\"", .out_len = 1};
    for (uint64_t n = random_u64() % 5; n; n--) {
        const struct piece *odd = &pieces[random_u64() % (sizeof pieces / sizeof pieces[0])];
        struct str run = str_make(plain, random_u64() % sizeof plain);
        if (random_u64() % 3)
            add(x, run, run);
        else
            add(x, odd->in, odd->out);
    }
    x->out[x->out_len++] = '"';
}

static void escapes_strings(void **state)
{
    (void)state;
    for (int round = 0; round < 100000; round++) {
        struct sample x;
        struct buf b;
        make_sample(&x);
        char *exact = malloc(x.in_len + 1); /* AddressSanitizer detects a read beyond it */
        memcpy(exact, x.in, x.in_len);
        buf_init(&b, 2000);
        json_str(&b, str_make(exact, x.in_len));
        assert_int_equal(b.len, x.out_len);
        assert_memory_equal(b.p, x.out, x.out_len);
        buf_fini(&b);
        free(exact);
    }
}

/* The buffer fails at each size that is too small, and never writes beyond its maximum: each size is memory
 * of its own, so that AddressSanitizer detects an overrun. */
static void buffer_that_is_too_small_fails(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct sample x;
        make_sample(&x);
        for (size_t max = 1; max <= x.out_len; max++) {
            struct buf b;
            buf_init(&b, max);
            json_str(&b, str_make(x.in, x.in_len));
            assert_int_equal(b.failed, max < x.out_len);
            assert_true(b.len <= max);
            buf_fini(&b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_numbers_of_every_length),
        cmocka_unit_test(formats_every_date_of_years_1_to_9999),
        cmocka_unit_test(formats_times_of_all_years),
        cmocka_unit_test(formats_repeated_times),
        cmocka_unit_test(values_and_keys_are_separated_by_commas),
        cmocka_unit_test(commas_continue_after_a_flush),
        cmocka_unit_test(escapes_strings),
        cmocka_unit_test(buffer_that_is_too_small_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
