/* Tests the translation of the statements into the SQL of PostgreSQL. test/pg/test_statements.py prepares
 * them on a server. */
#include "store/pg/pg_translate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char text[1000];
static int param_count;

/* Returns the translation, or NULL if the statement cannot be translated. */
static const char *translate(const char *sql)
{
    struct buf out = buf_on(text, sizeof text - 1);
    if (!pg_translate_text(str_from_cstr(sql), &out, &param_count))
        return NULL;
    text[out.len] = '\0';
    return text;
}

static void parameters_get_a_dollar_sign(void **state)
{
    (void)state;
    assert_string_equal(translate("SELECT ?2 + ?10, a FROM t WHERE b = ?1"),
                        "SELECT $2 + $10, a FROM t WHERE b = $1");
    assert_int_equal(param_count, 10);
    assert_string_equal(translate("SELECT 1"), "SELECT 1");
    assert_int_equal(param_count, 0);
}

static void sqlite_planner_hints_are_removed(void **state)
{
    (void)state;
    assert_string_equal(translate("SELECT a FROM t INDEXED BY t_by_2 WHERE a = ?1"),
                        "SELECT a FROM t WHERE a = $1");
    assert_string_equal(translate("SELECT a FROM t INDEXED BY i CROSS JOIN u v ON v.id = t.id"),
                        "SELECT a FROM t JOIN u v ON v.id = t.id");
    assert_string_equal(translate("SELECT a FROM t CROSS JOIN u ON u.id = t.id"),
                        "SELECT a FROM t JOIN u ON u.id = t.id");
}

static void literals_are_not_changed(void **state)
{
    (void)state;
    assert_string_equal(translate("SELECT 'a ?1 INDEXED BY i' WHERE '--' = ?1"),
                        "SELECT 'a ?1 INDEXED BY i' WHERE '--' = $1");
}

static void sql_that_cannot_be_translated_is_rejected(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "SELECT ?",
        "SELECT ?0",
        "SELECT ?33",
        "SELECT 'a",
        "SELECT 1 -- one",
        "SELECT /* one */ 1",
        "SELECT x'00'",
        "SELECT 1 FROM t CROSS JOIN u",
        "DELETE FROM t INDEXED BY ",
        "SELECT 1 FROM t CROSS JOIN u v WHERE v.id = 1",
        "SELECT 1 FROM t CROSS JOIN ON u.id = 1",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (translate(forms[i]))
            fail_msg("%s was translated to %s", forms[i], text);
}

static void translation_that_does_not_fit_into_the_buffer_is_rejected(void **state)
{
    (void)state;
    struct buf out = buf_on(text, 7);
    assert_false(pg_translate_text(STR("SELECT 1"), &out, &param_count));
}

/* PostgreSQL cannot infer the type of a parameter that does not occur. */
static void every_statement_uses_all_of_its_parameters(void **state)
{
    (void)state;
    int used = 0;
    for (int i = 0; i < QUERY_COUNT; i++) {
        const struct pg_translated *t = pg_translate((enum query)i);
        used += t->text != NULL;
        for (int n = 1; n <= t->param_count; n++) {
            char parameter[8];
            (void)snprintf(parameter, sizeof parameter, "$%d", n);
            if (!strstr(t->text, parameter))
                fail_msg("%s does not use %s: %s", sql_queries[i].name, parameter, t->text);
        }
    }
    assert_true(used > 200 && used < QUERY_COUNT);
}

static void translations_contain_no_sqlite_syntax(void **state)
{
    (void)state;
    static const char *const forms[] = {"?",          "INDEXED", "CROSS",    "ifnull(", " OR REPLACE",
                                        " OR IGNORE", "IS $",    "IS NOT $", " daily ", "recent"};
    for (int i = 0; i < QUERY_COUNT; i++) {
        const char *sql = pg_translate((enum query)i)->text;
        for (size_t f = 0; sql && f < sizeof forms / sizeof *forms; f++)
            if (strstr(sql, forms[f]))
                fail_msg("%s contains %s: %s", sql_queries[i].name, forms[f], sql);
    }
}

static void statements_that_postgresql_never_uses_have_no_text(void **state)
{
    (void)state;
    assert_null(pg_translate(QUERY_BEGIN_WRITE)->text);
    assert_null(pg_translate(QUERY_GAIN_ADD)->text);
    assert_non_null(pg_translate(QUERY_AUTHOR_DAY_ADD)->text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_get_a_dollar_sign),
        cmocka_unit_test(sqlite_planner_hints_are_removed),
        cmocka_unit_test(literals_are_not_changed),
        cmocka_unit_test(sql_that_cannot_be_translated_is_rejected),
        cmocka_unit_test(translation_that_does_not_fit_into_the_buffer_is_rejected),
        cmocka_unit_test(every_statement_uses_all_of_its_parameters),
        cmocka_unit_test(translations_contain_no_sqlite_syntax),
        cmocka_unit_test(statements_that_postgresql_never_uses_have_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
