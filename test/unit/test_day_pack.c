/* Tests the packed daily gains of a video by comparing them with a plain list of gains. */
#include "lib/random.h"

#include "store/day_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 100 };

static struct buf b, other;

struct gains {
    struct day_gain days[MOST]; /* ascending */
    size_t count;
};

/* Returns random days with gains. Most of them are adjacent, some are far apart, and some are before 1970. */
static struct gains random_gains(void)
{
    struct gains g = {.count = 0};
    int32_t date = (int32_t)(random_u64() % 40000) - 1000;
    const uint64_t far = random_u64() % 3;
    int64_t total = 0;
    for (uint64_t n = random_u64() % (random_u64() % 4 ? 33 : MOST); n; n--) {
        const int64_t gained = 1 + (int64_t)(random_u64() >> (12 + random_u64() % 51));
        date += 1 + (int32_t)(far && random_u64() % 6 == 0 ? random_u64() % 400 : 0);
        if (gained > GAINED_MAX - total)
            break;
        total += gained;
        g.days[g.count++] = (struct day_gain){.date = date, .gained = gained, .gained_total = total};
    }
    return g;
}

static struct str packed_of(struct buf *to, const struct gains *g)
{
    buf_reset(to, 65536);
    days_pack(to, g->days, g->count);
    assert_false(to->failed);
    return buf_str(to);
}

/* Reads the days into `out` and returns whether the column is sound. Reads from a copy that has exactly the
 * size of the column, so that AddressSanitizer detects a read past the end. */
static bool read_days(struct str packed, struct gains *out)
{
    char *copy = malloc(packed.len ? packed.len : 1);
    struct day_gain newest_first[MOST], day;
    struct day_scan scan;
    size_t count = 0;
    if (packed.len)
        memcpy(copy, packed.p, packed.len);
    day_scan_begin(&scan, str_make(copy, packed.len));
    while (day_scan_next(&scan, &day) && count < MOST)
        newest_first[count++] = day;
    out->count = count;
    for (size_t i = 0; i < count; i++)
        out->days[i] = newest_first[count - 1 - i];
    free(copy);
    return !scan.r.bad;
}

static bool accepted(const char *p, size_t len)
{
    struct gains out;
    return read_days(str_make(p, len), &out);
}

static void assert_same(const struct gains *expected, const struct gains *found)
{
    assert_int_equal(expected->count, found->count);
    for (size_t i = 0; i < expected->count; i++) {
        assert_int_equal(expected->days[i].date, found->days[i].date);
        assert_int_equal(expected->days[i].gained, found->days[i].gained);
        assert_int_equal(expected->days[i].gained_total, found->days[i].gained_total);
    }
}

static void packed_days_unpack_to_the_same_gains(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        const struct gains in = random_gains();
        struct gains out;
        int64_t total;
        struct str packed = packed_of(&b, &in);
        assert_true(read_days(packed, &out));
        assert_same(&in, &out);
        assert_true(days_total(packed, &total));
        assert_int_equal(total, in.count ? in.days[in.count - 1].gained_total : 0);
    }
}

static void month_of_small_gains_takes_less_than_100_bytes(void **state)
{
    (void)state;
    struct gains g = {.count = 32};
    for (int i = 0; i < 32; i++)
        g.days[i] = (struct day_gain){.date = 20000 + i, .gained = 100 + i};
    assert_true(packed_of(&b, &g).len < 100);
}

static void days_without_a_gain_are_omitted(void **state)
{
    (void)state;
    const struct gains with = {.count = 4, .days = {{4, 0, 0}, {5, 7, 7}, {6, 0, 7}, {9, 2, 9}}};
    const struct gains without = {.count = 2, .days = {{5, 7, 7}, {9, 2, 9}}};
    const struct gains none = {.count = 2, .days = {{5, 0, 0}, {9, 0, 0}}};
    assert_true(str_eq(packed_of(&b, &with), packed_of(&other, &without)));
    assert_int_equal(packed_of(&b, &none).len, 0);
}

/* Adds the gains one by one, some of them in randomly chosen parts. The bytes are the same as if all gains
 * are packed together. */
static void adding_gains_one_by_one_gives_the_same_bytes_as_packing_them_together(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        const struct gains g = random_gains();
        struct buf now, next;
        buf_init(&now, 65536);
        buf_init(&next, 65536);
        for (size_t i = 0; i < g.count; i++)
            for (int64_t left = g.days[i].gained; left > 0;) {
                const int64_t part = random_u64() % 3 ? left : 1 + (int64_t)(random_u64() % (uint64_t)left);
                buf_reset(&next, 65536);
                assert_true(days_add(&next, buf_str(&now), g.days[i].date, part));
                const struct buf swap = now;
                now = next;
                next = swap;
                left -= part;
            }
        assert_true(str_eq(buf_str(&now), packed_of(&b, &g)));
        buf_reset(&next, 65536);
        assert_true(days_add(&next, buf_str(&now), 50000, 0));
        assert_true(str_eq(buf_str(&now), buf_str(&next)));
        buf_fini(&now);
        buf_fini(&next);
    }
}

static void impossible_gains_are_rejected(void **state)
{
    (void)state;
    const struct gains g = {.count = 1, .days = {{10, GAINED_MAX - 1, 0}}};
    struct str packed = packed_of(&b, &g);
    buf_reset(&other, 65536);
    assert_false(days_add(&other, packed, 9, 1));
    assert_false(days_add(&other, packed, 11, 2));
    assert_true(days_add(&other, packed, 11, 1));
    buf_reset(&other, 65536);
    assert_false(days_add(&other, STR("\2\0\1\1"), 11, 1));
}

/* Encodes the column `recent` by its description in day_pack.h, without the tested code. */
static void put_number(struct buf *to, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_append_char(to, (char)(v | 0x80));
    buf_append_char(to, (char)v);
}

static void put_recent(struct buf *to, const struct gains *g)
{
    if (!g->count)
        return;
    const struct day_gain *newest = &g->days[g->count - 1];
    uint64_t mask = 0;
    size_t first = g->count - 1;
    while (first > 0 && g->days[first - 1].date >= newest->date - 7)
        mask |= UINT64_C(1) << (newest->date - g->days[--first].date - 1);
    put_number(to, 1);
    put_number(to, newest->date < 0 ? 2 * (uint64_t)-newest->date - 1 : 2 * (uint64_t)newest->date);
    put_number(to, mask);
    put_number(to, (uint64_t)(g->days[first].gained_total - g->days[first].gained));
    for (; first < g->count; first++)
        put_number(to, (uint64_t)g->days[first].gained);
}

static void column_recent_has_the_form_that_the_previous_release_reads(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        const struct gains g = random_gains();
        struct str packed = packed_of(&b, &g);
        struct buf expected;
        buf_init(&expected, 65536);
        put_recent(&expected, &g);
        buf_reset(&other, 65536);
        assert_true(days_pack_recent(&other, packed));
        assert_true(str_eq(buf_str(&other), buf_str(&expected)));
        buf_fini(&expected);
    }
    assert_false(days_pack_recent(&other, STR("\1\0")));
}

static void rejects_truncated_and_extended_columns(void **state)
{
    (void)state;
    struct gains g = {.count = 12};
    for (int i = 0; i < 12; i++)
        g.days[i] = (struct day_gain){.date = 20000 + i * 5 / 4, .gained = 1 + 1000 * i * i};
    packed_of(&b, &g);
    assert_true(accepted(b.p, b.len));
    for (size_t len = 1; len < b.len; len++)
        assert_false(accepted(b.p, len));
    buf_append_char(&b, 0);
    assert_false(accepted(b.p, b.len));
}

static void column_with_changed_bytes_is_rejected_or_packs_to_the_same_bytes(void **state)
{
    (void)state;
    int accepted_count = 0;
    for (int round = 0; round < 20000; round++) {
        struct gains g = random_gains();
        packed_of(&b, &g);
        for (uint64_t n = 1 + random_u64() % 3; n && b.len; n--)
            b.p[random_u64() % b.len] = (char)random_u64();
        if (!read_days(buf_str(&b), &g))
            continue;
        accepted_count++;
        assert_true(str_eq(buf_str(&b), packed_of(&other, &g)));
    }
    assert_true(accepted_count > 100);
}

static void rejects_malicious_values(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        struct str packed;
    } cases[] = {
        {"version 2", STR("\2\2\5\5")},
        {"a head without a day", STR("\1\2\5")},
        {"a total of 0", STR("\1\2\0")},
        {"a total of 0 with a day", STR("\1\2\0\0")},
        {"a gain of 0", STR("\1\2\5\0\0\5")},
        {"a gain above the total", STR("\1\2\5\6")},
        {"gains below the total", STR("\1\2\5\1\0\3")},
        {"gains above the total", STR("\1\2\5\1\0\5")},
        {"a number after the last day", STR("\1\2\5\5\0")},
        {"not the shortest form", STR("\1\2\x85\0\5")},
        {"a date in the year 3 million", STR("\1\x80\x80\x80\x80\x08\5\5")},
        {"a date before all dates", STR("\1\2\5\1\xff\xff\xff\xff\x0f\4")},
        {"a distance of 2^64 - 1", STR("\1\2\5\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\4")},
        {"a total that no views have",
         STR("\1\2\xfc\xff\xff\xff\xff\xff\xff\x4f\xfc\xff\xff\xff\xff\xff\xff\x4f")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (accepted(cases[i].packed.p, cases[i].packed.len))
            fail_msg("accepted: %s", cases[i].why);
    /* Valid counterparts of the invalid columns above. */
    assert_true(accepted("\1\2\5\5", 4));
    assert_true(accepted("\1\2\5\1\0\4", 6));
    assert_true(accepted("\1\2\xfb\xff\xff\xff\xff\xff\xff\x4f\xfb\xff\xff\xff\xff\xff\xff\x4f", 18));
    assert_true(accepted("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_days_unpack_to_the_same_gains),
        cmocka_unit_test(month_of_small_gains_takes_less_than_100_bytes),
        cmocka_unit_test(days_without_a_gain_are_omitted),
        cmocka_unit_test(adding_gains_one_by_one_gives_the_same_bytes_as_packing_them_together),
        cmocka_unit_test(impossible_gains_are_rejected),
        cmocka_unit_test(column_recent_has_the_form_that_the_previous_release_reads),
        cmocka_unit_test(rejects_truncated_and_extended_columns),
        cmocka_unit_test(column_with_changed_bytes_is_rejected_or_packs_to_the_same_bytes),
        cmocka_unit_test(rejects_malicious_values),
    };
    buf_init(&b, 65536);
    buf_init(&other, 65536);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&b);
    buf_fini(&other);
    return failed;
}
