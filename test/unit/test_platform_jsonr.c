/* Tests the strict JSON reader: counts, and documents that are rejected as a whole. */
#include "unit.h"

#include "platforms/jsonr.h"
#include "store/model.h"

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 4096);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static struct yyjson_val *value(const char *text)
{
    struct str body = arena_printf(&arena, "{\"v\":%s}", text);
    return jsonr_get(jsonr_parse(&arena, body), "v");
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void parses_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t count;
    } rows[] = {
        {"0", 0},
        {"48", 48},
        {"\"48\"", 48},
        {"\"0\"", 0},
        {"20.0", 20},
        {"20.000", 20},
        {"0.0", 0},
        {"9007199254740991", COUNT_MAX},
        {"\"9007199254740991\"", COUNT_MAX},
        {"9007199254740991.0", COUNT_MAX},
        /* rejected */
        {"-1", COUNT_NONE},
        {"-0", COUNT_NONE},
        {"1e3", COUNT_NONE},
        {"1E3", COUNT_NONE},
        {"1.0e3", COUNT_NONE},
        {"20.5", COUNT_NONE},
        {"0.18", COUNT_NONE},
        {"20.00000000000000000001", COUNT_NONE},
        {"9007199254740992", COUNT_NONE},
        {"18446744073709551616", COUNT_NONE},
        {"18446744073709551617", COUNT_NONE},
        {"99999999999999999999999999999999999999", COUNT_NONE},
        {"\"12 \"", COUNT_NONE},
        {"\" 12\"", COUNT_NONE},
        {"\"+12\"", COUNT_NONE},
        {"\"-12\"", COUNT_NONE},
        {"\"12.0\"", COUNT_NONE},
        {"\"1e3\"", COUNT_NONE},
        {"\"0x10\"", COUNT_NONE},
        {"\"012\"", COUNT_NONE},
        {"\"00\"", COUNT_NONE},
        {"\"\"", COUNT_NONE},
        {"\"1\\u00002\"", COUNT_NONE},
        {"\"9007199254740992\"", COUNT_NONE},
        {"null", COUNT_NONE},
        {"true", COUNT_NONE},
        {"false", COUNT_NONE},
        {"[1]", COUNT_NONE},
        {"{\"v\":1}", COUNT_NONE},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_non_null(value(rows[i].text));
        if (jsonr_count(value(rows[i].text)) != rows[i].count)
            fail_msg("%s: %lld", rows[i].text, (long long)jsonr_count(value(rows[i].text)));
    }
    assert_int_equal(jsonr_count(NULL), COUNT_NONE);
}

/* An invalid number invalidates the whole document. */
static void rejects_invalid_documents(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "{}}",
        "{} {}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":+1}",
        "{\"a\":01}",
        "{\"a\":.5}",
        "{\"a\":1,}",
        "{'a':1}",
        "{\"a\":1}//",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xc0\x80\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\n\"}",
        "\xef\xbb\xbf{}",
        "{\"a\":1,\"a\":1}",
        "{\"b\":[{\"a\":1,\"c\":2,\"a\":3}]}",
        "{\"a\":1,\"\\u0061\":2}",
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        if (jsonr_parse(&arena, str_from_cstr(bad[i])))
            fail_msg("%s", bad[i]);
    assert_non_null(jsonr_parse(&arena, STR("{\"a\":{\"a\":1},\"b\":{\"a\":1}}")));
    assert_non_null(jsonr_parse(&arena, STR(" [] \n")));
}

static struct str nested(int depth)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < depth; i++)
        buf_append_char(&b, '[');
    for (int i = 0; i < depth; i++)
        buf_append_char(&b, ']');
    struct str text = arena_copy(&arena, buf_str(&b));
    buf_fini(&b);
    return text;
}

static struct str wide(int members)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_append_char(&b, '{');
    for (int i = 0; i < members; i++)
        buf_printf(&b, "%s\"%d\":0", i ? "," : "", i);
    buf_append_char(&b, '}');
    struct str text = arena_copy(&arena, buf_str(&b));
    buf_fini(&b);
    return text;
}

static void limits_depth_members_and_size(void **state)
{
    (void)state;
    assert_non_null(jsonr_parse(&arena, nested(JSONR_DEPTH_MAX)));
    assert_null(jsonr_parse(&arena, nested(JSONR_DEPTH_MAX + 1)));
    assert_null(jsonr_parse(&arena, nested(500000)));
    assert_non_null(jsonr_parse(&arena, wide(JSONR_MEMBERS_MAX)));
    assert_null(jsonr_parse(&arena, wide(JSONR_MEMBERS_MAX + 1)));
    assert_null(jsonr_parse(&arena, wide(50000)));
    for (int members = 1; members < JSONR_MEMBERS_MAX; members += 5) {
        struct str good = wide(members);
        struct str twice = arena_printf(&arena, "%.*s,\"%d\":1}", (int)good.len - 1, good.p, members / 2);
        assert_non_null(jsonr_parse(&arena, good));
        assert_null(jsonr_parse(&arena, twice));
    }

    char *text = arena_alloc(&arena, JSONR_BODY_MAX + 1);
    memset(text, ' ', JSONR_BODY_MAX + 1);
    memcpy(text, "[]", 2);
    assert_non_null(jsonr_parse(&arena, str_make(text, JSONR_BODY_MAX)));
    assert_null(jsonr_parse(&arena, str_make(text, JSONR_BODY_MAX + 1)));
}

static void absent_value_or_value_of_another_type_is_read_as_none(void **state)
{
    (void)state;
    struct yyjson_val *root =
        jsonr_parse(&arena, STR("{\"t\":\"x\",\"n\":5,\"z\":null,\"o\":{},\"a\":[],\"y\":true}"));
    assert_null(jsonr_get(root, "q"));
    assert_null(jsonr_get(jsonr_get(jsonr_get(root, "q"), "r"), "s"));
    assert_null(jsonr_get(jsonr_get(root, "a"), "t"));
    assert_null(jsonr_text(jsonr_get(root, "n")).p);
    assert_null(jsonr_text(NULL).p);
    assert_str(jsonr_text(jsonr_get(root, "t")), "x");
    assert_true(jsonr_is_null(jsonr_get(root, "z")));
    assert_false(jsonr_is_null(jsonr_get(root, "q")));
    assert_true(jsonr_is_object(jsonr_get(root, "o")) && jsonr_is_array(jsonr_get(root, "a")));
    assert_false(jsonr_is_object(jsonr_get(root, "a")) || jsonr_is_array(jsonr_get(root, "o")));
    assert_true(jsonr_is_true(jsonr_get(root, "y")));
    assert_false(jsonr_is_true(jsonr_get(root, "n")));
}

static void parses_ids_and_integers(void **state)
{
    (void)state;
    int64_t n;
    assert_str(jsonr_id(value("7077642457847994444")), "7077642457847994444");
    assert_str(jsonr_id(value("\"7077642457847994444\"")), "7077642457847994444");
    assert_str(jsonr_id(value("123456789012345678901234567890")), "123456789012345678901234567890");
    assert_null(jsonr_id(value("1.0")).p);
    assert_null(jsonr_id(value("-1")).p);
    assert_null(jsonr_id(value("1e3")).p);
    assert_null(jsonr_id(value("\"\"")).p);
    assert_null(jsonr_id(value("null")).p);
    assert_null(jsonr_id(NULL).p);
    assert_true(jsonr_integer(value("190"), &n) && n == 190);
    assert_true(jsonr_integer(value("-5"), &n) && n == -5);
    assert_true(jsonr_integer(value("9223372036854775807"), &n) && n == INT64_MAX);
    assert_false(jsonr_integer(value("9223372036854775808"), &n));
    assert_false(jsonr_integer(value("1.0"), &n));
    assert_false(jsonr_integer(value("\"190\""), &n));
    assert_false(jsonr_integer(value("true"), &n));
    assert_false(jsonr_integer(NULL, &n));
}

static void iterates_over_lists_and_objects(void **state)
{
    (void)state;
    struct yyjson_val *v;
    struct str name;
    struct jsonr_iter it = jsonr_iterate(value("{\"a\":1,\"b\":[2,[3]],\"c\":{}}"));
    assert_true(jsonr_next(&it, &name, &v));
    assert_str(name, "a");
    assert_int_equal(jsonr_count(v), 1);
    assert_true(jsonr_next(&it, &name, &v) && jsonr_is_array(v));
    struct jsonr_iter inner = jsonr_iterate(v);
    assert_true(jsonr_next(&inner, &name, &v) && jsonr_count(v) == 2);
    assert_null(name.p);
    assert_true(jsonr_next(&inner, NULL, &v) && jsonr_is_array(v));
    assert_false(jsonr_next(&inner, NULL, &v));
    assert_true(jsonr_next(&it, &name, &v));
    assert_str(name, "c");
    assert_false(jsonr_next(&it, &name, &v));
    it = jsonr_iterate(value("\"text\""));
    assert_false(jsonr_next(&it, &name, &v));
    it = jsonr_iterate(NULL);
    assert_false(jsonr_next(&it, &name, &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_counts),
        cmocka_unit_test(rejects_invalid_documents),
        cmocka_unit_test(limits_depth_members_and_size),
        cmocka_unit_test(absent_value_or_value_of_another_type_is_read_as_none),
        cmocka_unit_test(parses_ids_and_integers),
        cmocka_unit_test(iterates_over_lists_and_objects),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
