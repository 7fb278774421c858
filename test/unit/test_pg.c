/* Tests parameters in PostgreSQL's binary format, hosts and settings from a URL, and the errors for SQLSTATE
 * codes. test/pg tests the link itself. */
#include "unit.h"

#include "pg/pg_options.h"
#include "pg/pg_params.h"
#include "pg/pg_queue.h"

#include <stdio.h>

/* ---- parameters ---- */

#define assert_parameter(p, i, bytes)                                                                        \
    do {                                                                                                     \
        assert_int_equal((p)->at[i].len, sizeof(bytes) - 1);                                                 \
        assert_memory_equal(pg_params_value((p), (i)), bytes, sizeof(bytes) - 1);                            \
    } while (0)

static void scalar_parameters_are_big_endian(void **state)
{
    (void)state;
    struct pg_params p;
    pg_params_init(&p);
    pg_params_add_i64(&p, -2);
    pg_params_add_bool(&p, true);
    pg_params_add_null(&p);
    pg_params_add_bytes(&p, STR("a\0b"));
    pg_params_add_bytes(&p, STR(""));
    assert_int_equal(p.count, 5);
    assert_parameter(&p, 0, "\xff\xff\xff\xff\xff\xff\xff\xfe");
    assert_parameter(&p, 1, "\1");
    assert_null(pg_params_value(&p, 2));
    assert_parameter(&p, 3, "a\0b");
    assert_parameter(&p, 4, "");
    assert_non_null(pg_params_value(&p, 4));
    pg_params_fini(&p);
}

static void empty_text_as_only_parameter_is_not_null(void **state)
{
    (void)state;
    struct pg_params p;
    pg_params_init(&p);
    pg_params_add_bytes(&p, STR(""));
    assert_non_null(pg_params_value(&p, 0));
    pg_params_fini(&p);
    pg_params_init(&p);
    pg_params_add_text(&p, STR(""));
    assert_int_equal(p.at[0].len, 0);
    assert_non_null(pg_params_value(&p, 0));
    pg_params_fini(&p);
}

static void nul_and_invalid_utf8_in_a_text_are_replaced(void **state)
{
    (void)state;
    struct pg_params p;
    pg_params_init(&p);
    pg_params_add_text(&p, STR("na\xc3\xafve \xf0\x9f\x98\x80"));
    pg_params_add_text(&p, STR("a\0b\0"));
    pg_params_add_text(&p, STR("caf\xe9 \xed\xa0\x80 \xc3"));
    assert_parameter(&p, 0, "na\xc3\xafve \xf0\x9f\x98\x80");
    assert_parameter(&p, 1,
                     "a\xef\xbf\xbd"
                     "b\xef\xbf\xbd");
    assert_parameter(&p, 2, "caf\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd");
    pg_params_fini(&p);
}

static void array_parameters_have_a_header_and_the_size_of_each_element(void **state)
{
    (void)state;
    struct pg_params p;
    const int64_t numbers[] = {1, -1};
    const struct str texts[] = {STR("ab"), STR("")};
    pg_params_init(&p);
    pg_params_add_i64s(&p, numbers, 2);
    pg_params_add_texts(&p, texts, 2);
    pg_params_add_bytes_array(&p, texts, 1);
    pg_params_add_i64s(&p, numbers, 0);
    assert_parameter(&p, 0,
                     "\0\0\0\1\0\0\0\0\0\0\0\x14\0\0\0\2\0\0\0\1"
                     "\0\0\0\x8\0\0\0\0\0\0\0\1\0\0\0\x8\xff\xff\xff\xff\xff\xff\xff\xff");
    assert_parameter(&p, 1, "\0\0\0\1\0\0\0\0\0\0\0\x19\0\0\0\2\0\0\0\1\0\0\0\2ab\0\0\0\0");
    assert_parameter(&p, 2, "\0\0\0\1\0\0\0\0\0\0\0\x11\0\0\0\1\0\0\0\1\0\0\0\2ab");
    assert_parameter(&p, 3, "\0\0\0\0\0\0\0\0\0\0\0\x14");
    pg_params_fini(&p);
}

static void too_large_parameters_are_refused(void **state)
{
    (void)state;
    static char room[PG_PARAM_BYTES_MAX];
    struct pg_params p;
    struct pg_queue q;
    struct waiter w = {0};
    struct pg_reply reply = {0};
    const struct pg_statement statement = {"s", "", true};
    pg_params_init(&p);
    pg_params_add_bytes(&p, str_make(room, sizeof room));
    assert_false(p.bytes.failed);
    pg_params_add_bool(&p, true);
    assert_true(p.bytes.failed);
    pg_queue_init(&q, &statement);
    assert_int_equal(pg_queue_add(&q, PG_QUEUE_MAX, 0, &p, &w, &reply), NEXT_MORE);
    assert_int_equal(reply.err, ERR_FULL);
    pg_queue_fini(&q);
}

/* ---- URLs ---- */

static struct pg_options parse(const char *url)
{
    struct pg_options o;
    struct error error = {0};
    if (pg_options_parse(&o, url, NULL, NULL, &error))
        fail_msg("%s: %s", url, error.text);
    return o;
}

static void assert_hosts(const char *url, const char *expected)
{
    char text[400];
    struct buf b = buf_on(text, sizeof text);
    struct pg_options o = parse(url);
    for (int i = 0; i < o.host_count; i++)
        buf_printf(&b, "%s:%s ", o.hosts[i].name, o.hosts[i].port);
    assert_str(buf_str(&b), expected);
    pg_options_fini(&o);
}

static void each_host_of_a_url_has_its_own_port(void **state)
{
    (void)state;
    assert_hosts("postgresql://u@a/d", "a:5432 ");
    assert_hosts("postgres://u@a:1,b,c:3/d", "a:1 b:5432 c:3 ");
    assert_hosts("postgresql://u@a,b/d?port=7", "a:7 b:7 ");
    assert_hosts("postgresql://u@[::1]:9,10.0.0.1/d", "::1:9 10.0.0.1:5432 ");
    assert_hosts("postgresql://u@/d", "/var/run/postgresql:5432 ");
    assert_hosts("postgresql://u@/d?host=/run/pg&port=8", "/run/pg:8 ");
    assert_hosts("postgresql://u@%2Frun%2Fpg/d", "/run/pg:5432 ");
    assert_hosts("postgresql://u@a,b,c,d,e,f,g,h/d",
                 "a:5432 b:5432 c:5432 d:5432 e:5432 f:5432 g:5432 h:5432 ");
}

static void user_database_and_settings_of_a_url_are_stored_with_the_password(void **state)
{
    (void)state;
    struct pg_options o;
    struct error error = {0};
    assert_int_equal(pg_options_parse(&o, "postgresql://al%40ice@h/d?sslmode=verify-full&connect_timeout=7",
                                      "pw", NULL, &error),
                     OK);
    assert_int_equal(o.connect_ms, 7000);
    assert_string_equal(o.password, "pw");
    assert_int_equal(o.setting_count, 3);
    for (int i = 0; i < o.setting_count; i++) {
        const char *expected = strcmp(o.settings[i].keyword, "user") == 0     ? "al@ice"
                               : strcmp(o.settings[i].keyword, "dbname") == 0 ? "d"
                                                                              : "verify-full";
        assert_string_equal(o.settings[i].value, expected);
    }
    pg_options_fini(&o);
    assert_null(o.password);
}

/* ---- error codes ---- */

static void sqlstates_are_mapped_to_errors(void **state)
{
    (void)state;
    assert_int_equal(pg_error_of("23505"), ERR_EXISTS);
    assert_int_equal(pg_error_of("23503"), ERR_INVALID);
    assert_int_equal(pg_error_of("25006"), ERR_READONLY);
    assert_int_equal(pg_error_of("40001"), ERR_BUSY);
    assert_int_equal(pg_error_of("40P01"), ERR_BUSY);
    assert_int_equal(pg_error_of("53100"), ERR_FULL);
    assert_int_equal(pg_error_of("53200"), ERR_NOMEM);
    assert_int_equal(pg_error_of("53300"), ERR_BUSY);
    assert_int_equal(pg_error_of("57014"), ERR_INTERNAL);
    assert_int_equal(pg_error_of("XX001"), ERR_CORRUPT);
    assert_int_equal(pg_error_of("58030"), ERR_IO);
    assert_int_equal(pg_error_of("42601"), ERR_INTERNAL);
    assert_int_equal(pg_error_of(""), ERR_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_parameters_are_big_endian),
        cmocka_unit_test(empty_text_as_only_parameter_is_not_null),
        cmocka_unit_test(nul_and_invalid_utf8_in_a_text_are_replaced),
        cmocka_unit_test(array_parameters_have_a_header_and_the_size_of_each_element),
        cmocka_unit_test(too_large_parameters_are_refused),
        cmocka_unit_test(each_host_of_a_url_has_its_own_port),
        cmocka_unit_test(user_database_and_settings_of_a_url_are_stored_with_the_password),
        cmocka_unit_test(sqlstates_are_mapped_to_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
