/* Tests the parser of Redis URLs. */
#include "unit.h"

#include "redis/redis.h"

static void expect_login(const char *url, const char *user, const char *password)
{
    struct redis_options o;
    struct error error;
    assert_int_equal(redis_options_parse(&o, url, NULL, &error), OK);
    assert_string_equal(o.host, "h");
    assert_int_equal(o.port, 1);
    assert_int_equal(o.database, 2);
    assert_string_equal(o.user ? o.user : "(none)", user);
    assert_string_equal(o.password ? o.password : "(none)", password);
    redis_options_fini(&o);
}

static void user_and_password_are_percent_decoded(void **state)
{
    (void)state;
    expect_login("redis://h:1/2", "(none)", "(none)");
    expect_login("redis://a@h:1/2", "a", "(none)");
    expect_login("redis://:p@h:1/2", "(none)", "p");
    expect_login("redis://a%3Ab:p%40%2f%3a%25@h:1/2", "a:b", "p@/:%");
    expect_login("rediss://%C3%A4:%2541+@h:1/2", "ä", "%41+"); /* decoded once; + is not a space */
}

static void last_at_ends_the_password(void **state)
{
    (void)state;
    expect_login("redis://a:p@q@h:1/2", "a", "p@q");
    expect_login("redis://a:p/@q:@h:1/2", "a", "p/@q:");
    expect_login("redis://@h:1/2", "(none)", "(none)");
}

static void password_of_its_own_key_is_not_decoded(void **state)
{
    struct redis_options o;
    struct error error;
    (void)state;
    assert_int_equal(redis_options_parse(&o, "redis://a:b@h", "p%40", &error), OK);
    assert_string_equal(o.password, "p%40");
    redis_options_fini(&o);
}

static void invalid_percent_encodings_are_rejected(void **state)
{
    const char *const urls[] = {"redis://:p%@h",   "redis://:p%4@h", "redis://:p%4g@h",  "redis://:p%zz@h",
                                "redis://:p%00@h", "redis://a%:p@h", "redis://a%4:%41@h"};
    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct redis_options o;
        struct error error;
        assert_int_equal(redis_options_parse(&o, urls[i], NULL, &error), ERR_INVALID);
        assert_string_equal(
            error.text,
            "must have % only before two hexadecimal digits other than 00; write % in a password as %25");
        redis_options_fini(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(user_and_password_are_percent_decoded),
        cmocka_unit_test(last_at_ends_the_password),
        cmocka_unit_test(password_of_its_own_key_is_not_decoded),
        cmocka_unit_test(invalid_percent_encodings_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
