/* Tests JSON output: escaping, commas, and the maximum size of the buffer. */
#include "unit.h"
#include "lib/random.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

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
    JSON_KEY(&b, "list");
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

/* Whether a comma is needed depends on the character before it, which buf_discard_sent() may have removed. */
static void comma_before_a_value_does_not_depend_on_a_flush(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 1000);
    json_open(&b, '[');
    buf_discard_sent(&b);
    json_i64(&b, 1);
    assert_str(buf_str(&b), "1");
    buf_discard_sent(&b);
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

/* A random string and its JSON. Most of its characters need no escape. */
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
        /* The copy has exactly the size of the string, so that AddressSanitizer detects a read beyond it. */
        char *exact = malloc(x.in_len + 1);
        memcpy(exact, x.in, x.in_len);
        buf_init(&b, 2000);
        json_str(&b, str_make(exact, x.in_len));
        assert_int_equal(b.len, x.out_len);
        assert_memory_equal(b.p, x.out, x.out_len);
        buf_fini(&b);
        free(exact);
    }
}

static struct buf json_of(struct str s)
{
    struct buf b;
    buf_init(&b, 1000);
    json_str(&b, s);
    return b;
}

static void escapes_controls_quotes_and_line_separators(void **state)
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

/* The buffer fails at each size that is too small, and never writes beyond its maximum. Each buffer is a
 * separate allocation, so that AddressSanitizer detects an overrun. */
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

/* For each size of the buffer, each appender writes the whole text, or fails and writes nothing beyond the
 * maximum. */
static void every_appender_fails_if_its_text_does_not_fit(void **state)
{
    static const char whole[] =
        "{\"a\":\"x\\u0000\",\"b\":-5,\"c\":[true,null],\"d\":\"1970-01-01T00:00:00.000Z\","
        "\"e\":\"1970-01-01\",\"f\":\"00000000-0000-0000-0000-000000000000\"}";
    const struct uuid u = {{0}};
    (void)state;
    for (size_t max = 1; max <= sizeof whole; max++) {
        char *room = malloc(max); /* has exactly this size, so that AddressSanitizer detects an overrun */
        struct buf b = buf_on(room, max);
        json_open(&b, '{');
        JSON_STR(&b, "a", str_make("x\0", 2));
        JSON_I64(&b, "b", -5);
        JSON_KEY(&b, "c");
        json_open(&b, '[');
        json_bool(&b, true);
        json_null(&b);
        json_close(&b, ']');
        JSON_TIME(&b, "d", 0);
        JSON_DATE(&b, "e", 0);
        JSON_UUID(&b, "f", &u);
        json_close(&b, '}');
        assert_int_equal(b.failed, max < sizeof whole - 1);
        if (!b.failed)
            assert_str(buf_str(&b), whole);
        free(room);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_keys_are_separated_by_commas),
        cmocka_unit_test(comma_before_a_value_does_not_depend_on_a_flush),
        cmocka_unit_test(escapes_strings),
        cmocka_unit_test(escapes_controls_quotes_and_line_separators),
        cmocka_unit_test(buffer_that_is_too_small_fails),
        cmocka_unit_test(every_appender_fails_if_its_text_does_not_fit),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
