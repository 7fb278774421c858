/* Tests the parts of the API that need no server: cursors, CSV cells, errors, and statistics with one entry
 * for each day. */
#include "unit.h"

#include "api/csv.h"
#include "api/cursor.h"
#include "api/envelope.h"
#include "api/stats.h"
#include "base/clock.h"

#include <sodium.h>

static const struct uuid author_a = {{1}}, author_b = {{2}};

static const struct videos_query no_filter = {.posted_from = INT64_MIN, .posted_to = INT64_MAX};

static void cursor_round_trip_preserves_the_position(void **state)
{
    struct video_position at = {.value = 1781481600123, .id = {{9, 8, 7}}}, back;
    char text[CURSOR_TEXT_LEN];
    (void)state;
    cursor_format(&no_filter, &author_a, &at, text);
    assert_true(cursor_parse(&no_filter, &author_a, str_make(text, sizeof text), &back));
    assert_int_equal(back.value, at.value);
    assert_memory_equal(&back.id, &at.id, sizeof at.id);
    /* A cursor is not bound to the page size. */
    struct videos_query q = no_filter;
    q.limit = 17;
    assert_true(cursor_parse(&q, &author_a, str_make(text, sizeof text), &back));
}

static void cursor_is_valid_only_for_its_author_and_filters(void **state)
{
    struct video_position at = {.value = -5, .id = {{9}}}, back;
    char text[CURSOR_TEXT_LEN];
    (void)state;
    cursor_format(&no_filter, &author_a, &at, text);
    struct str s = str_make(text, sizeof text);
    struct videos_query from = no_filter, to = no_filter, viral = no_filter, book = no_filter;
    from.posted_from = 0;
    to.posted_to = 0;
    viral.viral = VIRAL_NOT;
    book.has_book = true;
    assert_false(cursor_parse(&no_filter, &author_b, s, &back));
    assert_false(cursor_parse(&from, &author_a, s, &back));
    assert_false(cursor_parse(&to, &author_a, s, &back));
    assert_false(cursor_parse(&viral, &author_a, s, &back));
    assert_false(cursor_parse(&book, &author_a, s, &back));
    assert_false(cursor_parse(&no_filter, &author_a, str_make(text, sizeof text - 1), &back));
    assert_false(cursor_parse(&no_filter, &author_a, STR(""), &back));
    /* The hash covers the position too: every changed character is detected. */
    for (size_t i = 0; i < sizeof text; i++) {
        char other[CURSOR_TEXT_LEN];
        memcpy(other, text, sizeof text);
        other[i] = other[i] == 'A' ? 'B' : 'A';
        assert_false(cursor_parse(&no_filter, &author_a, str_make(other, sizeof other), &back));
    }
}

static void csv_cells_are_quoted_and_never_formulas(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"a,b", "\"a,b\""},
        {"say \"hi\"", "\"say \"\"hi\"\"\""},
        {"two\nlines", "\"two\nlines\""},
        {"=1+1", "\"'=1+1\""},
        {"+1", "\"'+1\""},
        {"-1", "\"'-1\""},
        {"@SUM(A1)", "\"'@SUM(A1)\""},
        {"\tx", "\"'\tx\""},
        {"\rx", "\"'\rx\""},
        {"a=b", "a=b"},
        {"\xFF", "\xEF\xBF\xBD"},
    };
    struct buf b;
    (void)state;
    buf_init(&b, 1000);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        buf_reset(&b, 1000);
        csv_append_text(&b, str_from_cstr(cases[i].in));
        assert_str(buf_str(&b), cases[i].out);
    }
    buf_reset(&b, 1000);
    csv_append_date(&b, 0);
    csv_append_text(&b, STR(""));
    csv_append_text(&b, STR("=x"));
    csv_append_i64(&b, -3);
    csv_append_bool(&b, true);
    csv_end_line(&b);
    csv_append_uuid(&b, &author_a);
    assert_str(buf_str(&b), "1970-01-01,,\"'=x\",-3,true\r\n01000000-0000-0000-0000-000000000000");
    buf_fini(&b);
}

/* A title search, for example, needs memory before it reads the database. */
static void lack_of_memory_is_not_reported_as_an_unavailable_database(void **state)
{
    static const struct http_app app = {.docs_url = {"/v1/docs", 8}};
    static const struct {
        enum err err;
        const char *message;
    } cases[] = {{ERR_NOMEM, "The server is out of memory."}, {ERR_IO, "The database is unavailable."}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct request r = {.app = &app};
        arena_init(&r.arena, 1000);
        buf_init(&r.res.body, 1000);
        assert_int_equal(envelope_store_error(&r, cases[i].err), NEXT_DONE);
        assert_int_equal(r.res.status, 503);
        buf_append_char(&r.res.body, '\0');
        assert_non_null(strstr(buf_str(&r.res.body).p, cases[i].message));
        buf_fini(&r.res.body);
        arena_fini(&r.arena);
    }
}

/* ---- one entry for each day ---- */

enum { POSTED = 20000 }; /* the video's first day */

static struct stats_video row_with(int32_t first_reading, int64_t baseline, int32_t viral)
{
    return (struct stats_video){.video = {.posted_at = date_start_ms(POSTED) + HOUR_MS},
                                .first_reading_at = date_start_ms(first_reading) + 2 * HOUR_MS,
                                .baseline = baseline,
                                .went_viral_at = viral ? date_start_ms(viral) + 3 * HOUR_MS : TIME_NONE};
}

static struct stats range_of(struct stats range)
{
    assert_true(periods_init(&range.periods, GRANULARITY_DAY, range.from, range.to));
    return range;
}

static void days_without_a_gain_repeat_the_total(void **state)
{
    const struct day_gain gains[] = {{POSTED + 1, 10, 10}, {POSTED + 4, 5, 15}};
    struct stats_video row = row_with(POSTED + 1, 100, POSTED + 4);
    row.days = gains;
    row.day_count = 2;
    struct stats range = range_of((struct stats){.from = POSTED - 3, .to = POSTED + 6, .today = POSTED + 5});
    static const int64_t totals[] = {110, 110, 110, 115, 115};
    struct stats_days days;
    struct stats_day day;
    (void)state;
    assert_true(stats_days_begin(&days, &row, &range));
    for (int i = 0; i < 5; i++) {
        assert_true(stats_days_next(&days, &day));
        assert_int_equal(day.date, POSTED + 1 + i); /* the days extend from the first reading to today */
        assert_int_equal(day.gained, i == 0 ? 10 : i == 3 ? 5 : 0);
        assert_int_equal(day.total, totals[i]);
        assert_int_equal(day.is_viral, i >= 3);
        assert_int_equal(day.went_viral, i == 3);
    }
    assert_false(stats_days_next(&days, &day));
}

static void list_of_days_ends_30_days_after_posting(void **state)
{
    const struct day_gain gains[] = {{POSTED + 30, 7, 27}};
    struct stats_video row = row_with(POSTED, 0, 0);
    row.gained_before = 20;
    row.days = gains;
    row.day_count = 1;
    struct stats range =
        range_of((struct stats){.from = POSTED + 29, .to = POSTED + 60, .today = POSTED + 90});
    struct stats_days days;
    struct stats_day day;
    (void)state;
    assert_true(stats_days_begin(&days, &row, &range));
    assert_true(stats_days_next(&days, &day));
    assert_int_equal(day.date, POSTED + 29);
    assert_int_equal(day.gained, 0);
    assert_int_equal(day.total, 20);
    assert_true(stats_days_next(&days, &day));
    assert_int_equal(day.total, 27);
    assert_false(stats_days_next(&days, &day)); /* the date of posted_at + 30 days was the last one */
}

static void stats_row_without_a_gain_is_omitted(void **state)
{
    const struct day_gain nothing[] = {{POSTED + 2, 0, 5}}, later[] = {{POSTED + 6, 9, 14}};
    struct stats_video row = row_with(POSTED, 0, 0);
    row.days = nothing;
    row.day_count = 1;
    struct stats range = range_of((struct stats){.from = POSTED, .to = POSTED + 6, .today = POSTED + 5});
    struct stats_days days;
    (void)state;
    assert_false(stats_days_begin(&days, &row, &range));
    row.days = later; /* the clock was set back, so this day is in the future */
    assert_false(stats_days_begin(&days, &row, &range));
    row.first_reading_at = TIME_NONE;
    assert_false(stats_days_begin(&days, &row, &range));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursor_round_trip_preserves_the_position),
        cmocka_unit_test(cursor_is_valid_only_for_its_author_and_filters),
        cmocka_unit_test(csv_cells_are_quoted_and_never_formulas),
        cmocka_unit_test(lack_of_memory_is_not_reported_as_an_unavailable_database),
        cmocka_unit_test(days_without_a_gain_repeat_the_total),
        cmocka_unit_test(list_of_days_ends_30_days_after_posting),
        cmocka_unit_test(stats_row_without_a_gain_is_omitted),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
