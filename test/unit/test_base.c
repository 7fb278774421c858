/* base: slices, arena, buffer, calendar, UUIDs, JSON out. */
#include "unit.h"

#include <ctype.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/list.h"
#include "base/urlencode.h"
#include "base/uuid.h"

static void str_cuts_and_trims(void **state)
{
    (void)state;
    struct str head, rest = str_cut(STR("a=b=c"), '=', &head);
    assert_str(head, "a");
    assert_str(rest, "b=c");
    rest = str_cut(STR("abc"), '=', &head);
    assert_str(head, "abc");
    assert_null(rest.p);
    rest = str_cut(STR("a="), '=', &head);
    assert_non_null(rest.p);
    assert_int_equal(rest.len, 0);
    assert_str(str_trim(STR(" \t x y\t ")), "x y");
    assert_int_equal(str_trim(STR(" \t")).len, 0);
    assert_true(str_eq_nocase(STR("BeArEr"), STR("bearer")));
    assert_false(str_eq_nocase(STR("bearer"), STR("beares")));
    /* Every pair of bytes, at every place: only letters have two forms. */
    for (int pair = 0; pair < 256 * 256; pair++) {
        int x = pair >> 8, y = pair & 255;
        bool same = x == y || (x < 128 && y < 128 && isalpha(x) && isalpha(y) && (x | 32) == (y | 32));
        for (size_t at = 0; at < 19; at += 3) {
            char a[] = "abcdefghijklmnopqrs", b[] = "ABCDEFGHIJKLMNOPQRS";
            a[at] = (char)x;
            b[at] = (char)y;
            assert_int_equal(str_eq_nocase(str_make(a, 19), str_make(b, 19)), same);
        }
    }
    assert_true(str_cmp(STR("a"), STR("ab")) < 0 && str_cmp(STR("b"), STR("ab")) > 0 &&
                str_cmp(STR("x"), STR("x")) == 0);
}

static void str_reads_numbers(void **state)
{
    static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "101", "18446744073709551616",
                                      "١"};
    unsigned long long v = 7;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(str_to_u64(str_from_cstr(bad[i]), 100, &v));
    assert_int_equal(v, 7);
    assert_true(str_to_u64(STR("100"), 100, &v) && v == 100);
    assert_true(str_to_u64(STR("007"), 100, &v) && v == 7);
    assert_true(str_to_u64(STR("18446744073709551615"), UINT64_MAX, &v) && v == UINT64_MAX);
    assert_false(str_to_u64(STR("18446744073709551616"), UINT64_MAX, &v));
}

static void str_knows_utf8(void **state)
{
    static const char *const good[] = {
        "", "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF"};
    static const char *const bad[] = {"\x80",
                                      "\xC0\x80",
                                      "\xC3",
                                      "\xE0\x80\x80",
                                      "\xED\xA0\x80",
                                      "\xF0\x80\x80\x80",
                                      "\xF4\x90\x80\x80",
                                      "\xFF",
                                      "a\xE2\x82",
                                      "\xE2\x82\x41"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(str_is_utf8(str_from_cstr(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(str_is_utf8(str_from_cstr(bad[i])));
}

static void arena_gives_zeroed_memory_again(void **state)
{
    struct arena a;
    (void)state;
    arena_init(&a, 256);
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size < 2000; size += 37) {
            unsigned char *p = arena_alloc(&a, size);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xAA, size);
        }
        arena_reset(&a);
    }
    assert_str(arena_printf(&a, "%s-%d", "x", 42), "x-42");
    size_t before = arena_bytes(&a);
    struct str copy = arena_copy(&a, STR("abc"));
    assert_int_equal(arena_bytes(&a), before + 4);                              /* text takes its size, */
    assert_int_equal((uintptr_t)arena_alloc(&a, 1) % _Alignof(max_align_t), 0); /* all else is aligned */
    assert_int_equal(copy.p[copy.len], '\0');
    arena_fini(&a);
}

static void buf_fails_for_good(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 10);
    buf_append(&b, STR("12345"));
    buf_append(&b, STR("1234567"));
    assert_true(b.failed);
    buf_append(&b, STR("x"));
    assert_str(buf_str(&b), "12345");
    buf_reset(&b, 0);
    assert_false(b.failed);
    buf_append_i64(&b, -123456789);
    assert_true(b.failed); /* room for any number is asked for */
    buf_fini(&b);
    buf_init(&b, 1000);
    buf_append_i64(&b, INT64_MIN);
    buf_append_char(&b, ' ');
    buf_append_i64(&b, INT64_MAX);
    buf_printf(&b, " %d", 0);
    assert_str(buf_str(&b), "-9223372036854775808 9223372036854775807 0");
    buf_fini(&b);
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
    /* Every day from 0001 to 2400 is its own and comes back; the next one is one more. */
    int32_t first;
    assert_true(date_parse(STR("0001-01-01"), &first));
    for (int32_t d = first; d < first + 2400 * 366; d += 13) {
        date_format(d, text);
        assert_true(date_parse(str_make(text, sizeof text), &date));
        assert_int_equal(date, d);
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

static void uuids_keep_their_text(void **state)
{
    static const char *const bad[] = {"",
                                      "0190163d-8694-739b-aea5-966c26f8ad9",
                                      "0190163d-8694-739b-aea5-966c26f8ad911",
                                      "0190163d8694-739b-aea5-966c26f8ad91a",
                                      "0190163g-8694-739b-aea5-966c26f8ad91",
                                      "{190163d-8694-739b-aea5-966c26f8ad91}"};
    struct uuid u;
    char text[UUID_TEXT_LEN];
    (void)state;
    assert_true(uuid_parse(STR("0190163D-8694-739B-aEA5-966C26F8AD91"), &u));
    uuid_format(&u, text);
    assert_str(str_make(text, sizeof text), "0190163d-8694-739b-aea5-966c26f8ad91");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(uuid_parse(str_from_cstr(bad[i]), &u));
    uint8_t random[16];
    memset(random, 0xFF, sizeof random);
    u = uuid_from_random(random);
    uuid_format(&u, text);
    assert_str(str_make(text, sizeof text), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

static struct buf json_of(struct str s)
{
    struct buf b;
    buf_init(&b, 1000);
    json_str(&b, s);
    return b;
}

static void json_escapes_everything(void **state)
{
    static const struct {
        struct str in;
        const char *out;
    } cases[] = {
        {{"plain", 5}, "\"plain\""},
        {{"\"\\/\n\r\t\b", 7}, "\"\\\"\\\\/\\n\\r\\t\\u0008\""},
        {{"a\0b", 3}, "\"a\\u0000b\""},
        {{"\x1B[31m\x7F", 6}, "\"\\u001b[31m\\u007f\""},
        {{"\xC2\x80\xC2\x9F\xC2\xA0", 6}, "\"\\u0080\\u009f\xC2\xA0\""},
        {{"\xC3\xA9\xF0\x9F\x98\x80", 6}, "\"\xC3\xA9\xF0\x9F\x98\x80\""},
        {{"\xE2\x80\xA8\xE2\x80\xA9", 6}, "\"\\u2028\\u2029\""},
        {{"\xFFx\xC3", 3}, "\"\xEF\xBF\xBDx\xEF\xBF\xBD\""},
        {{"\xED\xA0\x80", 3}, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
        {{"", 0}, "\"\""},
        {{NULL, 0}, "null"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf b = json_of(cases[i].in);
        assert_str(buf_str(&b), cases[i].out);
        assert_true(str_is_utf8(buf_str(&b)));
        buf_fini(&b);
    }
}

/* What is copied many bytes at a time, too: one byte that is not plain, at each place of each length. */
static void json_escapes_everywhere(void **state)
{
    static const char odd[] = {'"', '\\', '\n', 0x7F, 0, (char)0xFF};
    (void)state;
    for (size_t n = 1; n <= 70; n++)
        for (size_t at = 0; at < n * sizeof odd; at++) {
            char in[70], out[100];
            memset(in, 'x', sizeof in);
            in[at % n] = odd[at / n];
            struct buf alone = json_of(str_make(&odd[at / n], 1)), b = json_of(str_make(in, n));
            int len = snprintf(out, sizeof out, "\"%.*s%.*s%.*s\"", (int)(at % n), in, (int)alone.len - 2,
                               alone.p + 1, (int)(n - at % n - 1), in + at % n + 1);
            assert_int_equal(b.len, len);
            assert_memory_equal(b.p, out, b.len);
            buf_fini(&alone);
            buf_fini(&b);
        }
}

static void json_puts_commas(void **state)
{
    struct buf b;
    struct uuid u = {{0}};
    (void)state;
    buf_init(&b, 1000);
    json_open(&b, '{');
    JSON_STR(&b, "a", STR("{"));
    json_key(&b, STR("b"));
    json_open(&b, '[');
    json_i64(&b, 1);
    json_i64(&b, -2);
    json_open(&b, '{');
    json_close(&b, '}');
    json_str(&b, STR("x:"));
    json_bool(&b, true);
    json_close(&b, ']');
    JSON_I64_OR_NULL(&b, "c", false, 0);
    JSON_UUID(&b, "d", &u);
    JSON_TIME(&b, "e", 0);
    JSON_DATE(&b, "f", 0);
    json_close(&b, '}');
    assert_str(buf_str(&b), "{\"a\":\"{\",\"b\":[1,-2,{},\"x:\",true],\"c\":null,"
                            "\"d\":\"00000000-0000-0000-0000-000000000000\",\"e\":\"1970-01-01T00:00:00."
                            "000Z\",\"f\":\"1970-01-01\"}");
    buf_fini(&b);
}

static void json_goes_on_behind_what_was_sent(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 100);
    json_open(&b, '[');
    buf_go_on(&b);
    json_i64(&b, 1);
    buf_go_on(&b);
    buf_go_on(&b); /* with nothing in between */
    json_i64(&b, 2);
    assert_true(str_eq(buf_str(&b), STR(",2")));
    buf_reset(&b, 100);
    json_open(&b, '[');
    assert_true(str_eq(buf_str(&b), STR("[")));
    buf_fini(&b);
}

/* Entity tags outlive processes and machines: these are the hashes that there were from the first, whatever
 * the processor can do. */
static void hashes_stay_what_they_are(void **state)
{
    static char text[20000];
    char one[HASH_TEXT_LEN];
    uint64_t all = 0;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 2654435761u >> 13);
    for (size_t len = 0; len < sizeof text; len += len < 3000 ? 1 : 997) {
        hash_128_text(str_make(text + len % 7, len < 7 ? len : len - 7), one);
        all = hash_64(str_make(one, sizeof one), all);
    }
    fmt_hex_64(one, all);
    assert_str(str_make(one, HEX_64_LEN), "d5212168d8fd101c");
}

static void list_keeps_order(void **state)
{
    struct list head, a, b;
    (void)state;
    list_init(&head);
    list_init(&a);
    list_init(&b);
    list_remove(&a);
    list_add_last(&head, &a);
    list_add_last(&head, &b);
    assert_ptr_equal(head.next, &a);
    list_remove(&a);
    assert_ptr_equal(head.next, &b);
    list_remove(&b);
    assert_true(list_is_empty(&head));
}

static void parts_of_addresses_are_encoded(void **state)
{
    (void)state;
    struct buf out;
    struct arena arena;
    buf_init(&out, 1000);
    url_append(&out, STR("aZ09-._~ /?&=%\xC3\xA9\n"));
    assert_str(buf_str(&out), "aZ09-._~%20%2F%3F%26%3D%25%C3%A9%0A");
    buf_fini(&out);

    arena_init(&arena, 4096);
    const struct url_field fields[] = {
        {"a", STR("1,2")}, {"left_out", {NULL, 0}}, {"b", STR("")}, {"c", STR("x&y=z, ")}};
    assert_str(url_part(&arena, STR("a/b?")), "a%2Fb%3F");
    assert_str(url_fields(&arena, STR("/p?"), fields, 4), "/p?a=1,2&b=&c=x%26y%3Dz,%20");
    assert_str(url_fields(&arena, STR(""), fields + 1, 2), "b=");
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(str_cuts_and_trims),
        cmocka_unit_test(str_reads_numbers),
        cmocka_unit_test(str_knows_utf8),
        cmocka_unit_test(arena_gives_zeroed_memory_again),
        cmocka_unit_test(buf_fails_for_good),
        cmocka_unit_test(dates_follow_the_calendar),
        cmocka_unit_test(times_are_utc_milliseconds),
        cmocka_unit_test(uuids_keep_their_text),
        cmocka_unit_test(json_escapes_everything),
        cmocka_unit_test(json_escapes_everywhere),
        cmocka_unit_test(json_puts_commas),
        cmocka_unit_test(json_goes_on_behind_what_was_sent),
        cmocka_unit_test(hashes_stay_what_they_are),
        cmocka_unit_test(list_keeps_order),
        cmocka_unit_test(parts_of_addresses_are_encoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
