/* Tests the log lines about failed authentications, and the limit on their number. Each test passes the
 * current time to the functions. */
#include "unit.h"

#include "auth/failure_log.h"
#include "lib/capture.h"

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, word)); p += strlen(word))
        n++;
    return n;
}

static void logs_kind_and_address_of_a_failed_authentication(void **state)
{
    struct failure_log *l = failure_log_new();
    (void)state;
    capture_begin();
    failure_log_record(l, FAILURE_SIGN_IN, STR("203.0.113.7"), 1000);
    failure_log_record(l, FAILURE_API_KEY, STR("2001:db8::1"), 1000);
    failure_log_record(l, FAILURE_APP, STR("unix"), 1000);
    failure_log_record(l, FAILURE_INVITATION, STR("203.0.113.8"), 1000);
    const char *text = capture_end();
    assert_int_equal(count(text, " info authentication failed: sign-in from 203.0.113.7\n"), 1);
    assert_int_equal(count(text, " info authentication failed: API key from 2001:db8::1\n"), 1);
    assert_int_equal(count(text, " info authentication failed: app from unix\n"), 1);
    assert_int_equal(count(text, " info authentication failed: invitation from 203.0.113.8\n"), 1);
    for (int i = 0; i < FAILURE_KINDS; i++)
        assert_int_equal(failure_log_get_count(l, (enum failure_kind)i), 1);
    failure_log_free(l);
}

static void log_lines_per_second_are_limited_but_all_failures_are_counted(void **state)
{
    struct failure_log *l = failure_log_new();
    (void)state;
    capture_begin();
    for (int i = 0; i < FAILURE_LINES_PER_SECOND + 7; i++)
        failure_log_record(l, FAILURE_API_KEY, STR("203.0.113.7"), 5999);
    const char *text = capture_end();
    assert_int_equal(count(text, "authentication failed"), FAILURE_LINES_PER_SECOND);
    assert_int_equal(count(text, "not logged"), 0);

    capture_begin();
    failure_log_record(l, FAILURE_API_KEY, STR("203.0.113.8"), 6000);
    failure_log_record(l, FAILURE_API_KEY, STR("203.0.113.8"), 7000);
    text = capture_end();
    assert_int_equal(count(text, "authentication failed"), 2);
    assert_int_equal(count(text, "info 7 failed authentications were not logged"), 1);
    assert_int_equal(failure_log_get_count(l, FAILURE_API_KEY), FAILURE_LINES_PER_SECOND + 9);
    failure_log_free(l);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_kind_and_address_of_a_failed_authentication),
        cmocka_unit_test(log_lines_per_second_are_limited_but_all_failures_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
