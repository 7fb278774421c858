/* Tests the parser of the lines that occur only in exports: event ids, hexadecimal digits, lists, and exact
 * reasons of rejection. */
#include "import/export_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ID "0b8f2f6e-3c55-4c5a-9d2e-7a2f00000001"
#define STATE(posts, milestones, days)                                                                       \
    "{\"type\":\"state\",\"video_id\":\"" ID "\",\"baseline\":1,\"first_reading_at\":null,"                  \
    "\"views_updated_at\":null,\"threshold\":10000,\"author_median_views\":null,\"compared_videos\":0,"      \
    "\"went_viral_at\":null,\"views_when_viral\":null,\"posts\":" posts ",\"milestones\":" milestones        \
    ",\"days\":" days "}"
#define DAY "{\"date\":\"2026-06-15\",\"views\":7}"

static struct export_parser *parser;
static struct export_record record;

static void accepts(const char *line)
{
    struct str why;
    if (!export_record_parse(parser, str_from_cstr(line), &record, &why))
        fail_msg("%s: %.*s", line, (int)why.len, why.p);
}

static void rejects(const char *line, const char *reason)
{
    struct str why;
    char text[256];
    assert_false(export_record_parse(parser, str_from_cstr(line), &record, &why));
    (void)snprintf(text, sizeof text, "%.*s", (int)why.len, why.p);
    assert_string_equal(text, reason);
}

static void parses_the_lists_in_a_line_of_type_state(void **state)
{
    (void)state;
    accepts(STATE("[]", "[]", "[" DAY ",{\"date\":\"2026-06-16\",\"views\":0}]"));
    const struct exported_day *days = record.state.days.items;
    assert_int_equal(record.kind, EXPORT_STATE);
    assert_int_equal(record.state.days.count, 2);
    assert_int_equal(days[0].date.date, 20619);
    assert_int_equal(days[0].gained.count, 7);
    assert_int_equal(days[1].gained.count, 0);
    accepts(STATE("[]", "[]", "[]"));
    assert_int_equal(record.state.days.count, 0);
}

static void rejects_bad_items_and_names_their_position(void **state)
{
    (void)state;
    rejects(STATE("[]", "[]", "[" DAY ",{\"date\":\"2026-06-16\"}]"), "days[1].views is missing");
    rejects(STATE("[]", "[]", "[" DAY ",{\"date\":\"2026-06-16\",\"views\":1,\"view\":1}]"),
            "view is not a field of a day (did you mean views?)");
    rejects(STATE("[]", "[]", "[[]]"), "days[0] is not an object");
    rejects(STATE("[]", "[]", "{}"), "days is not a list");
    rejects(STATE("[]", "null", "[]"), "milestones is not a list");
    rejects(STATE("[{},{},{},{},{},{}]", "[]", "[]"), "posts has more than 5 items");
    /* The position does not leak into the reason of the next line. */
    rejects("{\"type\":\"gains\",\"date\":null,\"platform\":\"youtube\",\"views\":-1}", "views is negative");
}

static void parses_event_ids(void **state)
{
    int64_t id;
    (void)state;
    assert_true(export_event_id_parse(STR("evt_9223372036854775807"), &id));
    assert_true(id == INT64_MAX);
    assert_true(export_event_id_parse(STR("evt_1"), &id));
    assert_int_equal(id, 1);
    static const char *const bad[] = {"",       "evt_",   "evt_0", "evt_01", "evt_-1",
                                      "evt_+1", "evt_1 ", "EVT_1", "1",      "evt_9223372036854775808"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(export_event_id_parse(str_from_cstr(bad[i]), &id));
}

static void parses_only_lower_case_hex_digits(void **state)
{
    uint8_t bytes[2];
    (void)state;
    assert_true(export_hex_parse(STR("0af9"), bytes, sizeof bytes));
    assert_int_equal(bytes[0], 0x0a);
    assert_int_equal(bytes[1], 0xf9);
    assert_false(export_hex_parse(STR("0aF9"), bytes, sizeof bytes));
    assert_false(export_hex_parse(STR("0af"), bytes, sizeof bytes));
    assert_false(export_hex_parse(STR("0af9a0"), bytes, sizeof bytes));
    assert_false(export_hex_parse(STR("0ag9"), bytes, sizeof bytes));
}

static void rejects_unknown_types_of_export_lines(void **state)
{
    (void)state;
    rejects("{\"type\":\"reading\"}", "type is not one of app, key, book, video, state, gains, event, end");
    rejects("{}", "type is not one of app, key, book, video, state, gains, event, end");
    rejects("[]", "not a JSON object");
}

static int set_up(void **state)
{
    (void)state;
    parser = export_parser_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    export_parser_free(parser);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_the_lists_in_a_line_of_type_state),
        cmocka_unit_test(rejects_bad_items_and_names_their_position),
        cmocka_unit_test(parses_event_ids),
        cmocka_unit_test(parses_only_lower_case_hex_digits),
        cmocka_unit_test(rejects_unknown_types_of_export_lines),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
