/* Tests that tokens and personal data are removed from responses. Afterwards, every sample must still parse
 * to the same result. */
#include "lib/sample.h"
#include "unit.h"

#include "platforms/anonymize.h"
#include "platforms/describe.h"

#include <stdlib.h>

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 64 << 10);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static struct str json(const char *text)
{
    struct anonymizer a;
    anonymizer_init(&a, &arena, STR("metric=views,saved"));
    anonymizer_set_id(&a, STR("17841400000000000"), STR("1784"));
    return anonymize_json(&a, str_from_cstr(text));
}

static void json_structure_and_names_are_preserved(void **state)
{
    (void)state;
    assert_str(
        json("{\"a\":[1,2.50,-3,true,false,null,\"\",[],{}],\"viewCount\":\"12345678901\",\"likeCount\":41}"),
        "{\"a\":[1,2.50,-3,true,false,null,\"\",[],{}],\"viewCount\":\"12345678901\",\"likeCount\":41}");
    assert_str(json("{\"code\":190,\"type\":\"OAuthException\",\"period\":\"lifetime\",\"created_time\":"
                    "\"2026-09-02T00:00:00+0000\",\"kind\":\"youtube#video\"}"),
               "{\"code\":190,\"type\":\"OAuthException\",\"period\":\"lifetime\",\"created_time\":"
               "\"2026-09-02T00:00:00+0000\",\"kind\":\"youtube#video\"}");
    assert_null(json("{\"a\":").p);
    assert_null(json("").p);
    assert_null(json("\xff").p);
}

static void personal_data_is_removed(void **state)
{
    (void)state;
    assert_str(
        json(
            "{\"name\":\"Mara Author\",\"username\":\"mara\",\"title\":\"My book\",\"email\":\"a@b.example\","
            "\"access_token\":\"EAAB1234\",\"picture\":{\"url\":\"https://cdn.example/1\"}}"),
        "{\"name\":\"x\",\"username\":\"x\",\"title\":\"x\",\"email\":\"x\",\"access_token\":\"x\","
        "\"picture\":{"
        "\"url\":\"x\"}}");
    /* Names of metrics are preserved. Names of people are replaced. */
    assert_str(json("[{\"name\":\"views\"},{\"name\":\"mara\"},{\"name\":\"X-App-Usage\",\"value\":\"{"
                    "\\\"call_count\\\":9}\"}]"),
               "[{\"name\":\"views\"},{\"name\":\"x\"},{\"name\":\"X-App-Usage\",\"value\":\"{\\\"call_"
               "count\\\":9}\"}]");
    assert_str(json("[{\"name\":\"reach\",\"period\":\"day\"}]"),
               "[{\"name\":\"reach\",\"period\":\"day\"}]");
    assert_str(json("{\"error\":{\"message\":\"(#10) of EAAB1234567890abcdefghij and a@b.example at "
                    "17841400000000000\","
                    "\"fbtrace_id\":\"AbC1\"}}"),
               "{\"error\":{\"message\":\"(#10) of REMOVED and REMOVED at 1784\",\"fbtrace_id\":\"x\"}}");
}

static void urls_are_removed(void **state)
{
    (void)state;
    assert_str(json("{\"url\":\"https://www.facebook.com/mara/videos/17\",\"message\":\"see "
                    "https://x.example/mara now\"}"),
               "{\"url\":\"https://x/videos/x\",\"message\":\"see REMOVED now\"}");
}

static void equal_ids_get_equal_replacements(void **state)
{
    (void)state;
    assert_str(
        json("{\"17841400000000000\":{\"id\":\"17841400000000000/insights/views/lifetime\"},"
             "\"other\":\"987654321098765\",\"again\":987654321098765,\"both\":{\"id\":\"987654321098765_"
             "17841400000000000\"}}"),
        "{\"1784\":{\"id\":\"1784/insights/views/lifetime\"},\"other\":\"100000000000002\",\"again\":"
        "100000000000002,\"both\":{\"id\":\"100000000000002_1784\"}}");
    struct anonymizer a;
    anonymizer_init(&a, &arena, STR(""));
    struct str one = anonymize_id(&a, STR("dQw4w9WgXcQ")), other = anonymize_id(&a, STR("dQw4w9WgXcR"));
    assert_int_equal(one.len, 11);
    assert_false(str_eq(one, other));
    assert_true(str_eq(anonymize_id(&a, STR("dQw4w9WgXcQ")), one));
    assert_int_equal(anonymize_id(&a, STR("")).len, 0);
}

/* ---- anonymizing the samples ---- */

static void describe(struct buf *b, const struct sample *s, struct anonymizer *a)
{
    describe_outcome(b, &s->outcome);
    for (size_t i = 0; i < s->call.item_count; i++) {
        struct platform_item item = s->items[i];
        if (a) {
            item.id = anonymize_id(a, item.id);
            item.resolved = item.resolved.p ? anonymize_id(a, item.resolved) : item.resolved;
        }
        buf_append_char(b, '\n');
        describe_item(b, &item);
    }
}

static bool reads_the_same(const char *name, struct str text)
{
    struct sample *s = calloc(1, sizeof *s);
    struct anonymizer *a = calloc(1, sizeof *a);
    struct buf one, other;
    buf_init(&one, 1 << 20);
    buf_init(&other, 1 << 20);
    bool good = sample_parse(s, text);
    if (good && (s->function == SAMPLE_READ || s->function == SAMPLE_RESOLVE)) {
        /* Names of metrics are part of the request, which a sample does not contain. */
        anonymizer_init(a, &arena, s->response.body);
        sample_play(&arena, s);
        describe(&one, s, a);
        struct str body = anonymize_json(a, s->response.body);
        for (size_t i = 0; i < s->call.item_count; i++) {
            struct platform_item was = s->items[i];
            s->items[i] = (struct platform_item){.id = anonymize_id(a, was.id), .posted_at = was.posted_at};
        }
        sample_fini(s);
        struct sample *again = calloc(1, sizeof *again);
        (void)sample_parse(again, text);
        for (size_t i = 0; i < s->call.item_count; i++)
            again->items[i].id = s->items[i].id;
        again->response.body = body.p ? body : again->response.body;
        sample_play(&arena, again);
        describe(&other, again, NULL);
        good = str_eq(buf_str(&one), buf_str(&other));
        if (!good)
            print_message("%s:\n%.*s\nanonymized\n%.*s\n%.*s\n", name, (int)one.len, one.p, (int)other.len,
                          other.p, (int)body.len, body.p ? body.p : "");
        sample_fini(again);
        free(again);
    } else {
        sample_fini(s);
    }
    buf_fini(&one);
    buf_fini(&other);
    free(a);
    free(s);
    return good;
}

static void check_sample(void *ctx, const char *name, struct str text)
{
    int *bad = ctx;
    *bad += !reads_the_same(name, text);
    arena_reset(&arena);
}

static void anonymized_samples_parse_to_the_same_result(void **state)
{
    (void)state;
    int bad = 0;
    assert_true(sample_for_each(check_sample, &bad) > 20);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_structure_and_names_are_preserved),
        cmocka_unit_test(personal_data_is_removed),
        cmocka_unit_test(urls_are_removed),
        cmocka_unit_test(equal_ids_get_equal_replacements),
        cmocka_unit_test(anonymized_samples_parse_to_the_same_result),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
