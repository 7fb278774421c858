/* Tests the CSV reader: quoted fields, and the memory that a long file needs. */
#include "base/buf.h"
#include "cli/csv_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT_MAX_BYTES = 1 << 20, RECORDS = 5000 };

static void assert_field(const struct csv_reader *csv, size_t i, const char *expected)
{
    assert_true(i < csv->count);
    assert_int_equal(csv->fields[i].len, strlen(expected));
    assert_memory_equal(csv->fields[i].p, expected, strlen(expected));
}

static void quoted_fields_contain_separators_marks_and_line_ends(void **state)
{
    struct arena arena;
    struct csv_reader csv;
    (void)state;
    arena_init(&arena, 1024);
    csv_open(&csv, STR("\"a,\"\"b\"\"\n\",\"\"\r\nc,\"d\""));
    assert_true(csv_next(&csv, &arena));
    assert_int_equal(csv.count, 2);
    assert_field(&csv, 0, "a,\"b\"\n");
    assert_field(&csv, 1, "");
    assert_true(csv_next(&csv, &arena));
    assert_int_equal(csv.line, 3);
    assert_field(&csv, 0, "c");
    assert_field(&csv, 1, "d");
    assert_false(csv_next(&csv, &arena));
    arena_fini(&arena);
}

static void unclosed_mark_is_a_problem_of_the_last_record(void **state)
{
    static const char *const texts[] = {"\"", "\"a", "a,\"b\"\"", "\"a\"\"\"\",b\nc"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct arena arena;
        struct csv_reader csv;
        arena_init(&arena, 1024);
        csv_open(&csv, str_from_cstr(texts[i]));
        assert_true(csv_next(&csv, &arena));
        assert_string_equal(csv.problem, "a quotation mark is not closed");
        assert_false(csv_next(&csv, &arena));
        arena_fini(&arena);
    }
}

static void memory_for_quoted_fields_is_proportional_to_the_file(void **state)
{
    struct arena arena;
    struct csv_reader csv;
    struct buf text;
    int records = 0;
    (void)state;
    arena_init(&arena, 64 * 1024);
    buf_init(&text, TEXT_MAX_BYTES);
    for (int i = 0; i < RECORDS; i++)
        buf_printf(&text, "\"Author %d\",\"author%d@example.com\",\"active\"\n", i, i);
    csv_open(&csv, buf_str(&text));
    while (csv_next(&csv, &arena)) {
        assert_null(csv.problem);
        assert_true(arena_bytes(&arena) <= text.len);
        records++;
    }
    assert_int_equal(records, RECORDS);
    buf_fini(&text);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quoted_fields_contain_separators_marks_and_line_ends),
        cmocka_unit_test(unclosed_mark_is_a_problem_of_the_last_record),
        cmocka_unit_test(memory_for_quoted_fields_is_proportional_to_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
