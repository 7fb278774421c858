/* Tests redirect addresses, PKCE, and reading the fields of forms and JSON bodies. */
#include "unit.h"

#include "oauth/codes.h"
#include "oauth/redirect.h"
#include "http/fields.h"

#include <stdio.h>

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

/* ---- redirect addresses ---- */

static void valid_redirect_addresses_are_accepted(void **state)
{
    (void)state;
    static const struct {
        const char *uri;
        enum redirect_kind kind;
        const char *origin, *display_name;
    } good[] = {
        {"https://a.example", REDIRECT_WEB, "https://a.example", "a.example"},
        {"https://a.example/", REDIRECT_WEB, "https://a.example", "a.example"},
        {"https://A-b.example:8443/c%20d/e?f=g&h", REDIRECT_WEB, "https://A-b.example:8443",
         "A-b.example:8443"},
        {"https://a.example?x=y", REDIRECT_WEB, "https://a.example", "a.example"},
        {"https://[2001:db8::1]:1/", REDIRECT_WEB, "https://[2001:db8::1]:1", "[2001:db8::1]:1"},
        {"https://a.example/user@home;x=1,2!$'()", REDIRECT_WEB, "https://a.example", "a.example"},
        {"https://a.example/...", REDIRECT_WEB, "https://a.example", "a.example"},
        {"https://localhost/x", REDIRECT_WEB, "https://localhost", "localhost"},
        {"http://127.0.0.1/a", REDIRECT_LOOPBACK, "http://127.0.0.1", "127.0.0.1"},
        {"http://127.0.0.1", REDIRECT_LOOPBACK, "http://127.0.0.1", "127.0.0.1"},
        {"http://127.0.0.1:3000/a?b", REDIRECT_LOOPBACK, "http://127.0.0.1:3000", "127.0.0.1:3000"},
        {"http://[::1]:3000/", REDIRECT_LOOPBACK, "http://[::1]:3000", "[::1]:3000"},
        {"com.example.app:/x", REDIRECT_PRIVATE, "com.example.app:", "com.example.app"},
        {"com.example.app://x/y?z=1", REDIRECT_PRIVATE, "com.example.app:", "com.example.app"},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct str uri = str_from_cstr(good[i].uri);
        const char *reason = redirect_check(uri);
        if (reason)
            fail_msg("%s: %s", good[i].uri, reason);
        assert_int_equal(redirect_kind_of(uri), good[i].kind);
        assert_str(redirect_origin(uri), good[i].origin);
        assert_str(redirect_display_name(uri), good[i].display_name);
        assert_true(redirect_matches(uri, uri));
    }
}

static const char *const bad_addresses[] = {
    "",
    "a",
    ":",
    "/connected",
    "//a.example/",
    "https:",
    "https:/",
    "https://",
    "https:///x",
    "https://?x",
    "https:a.example",
    "https://:443/",
    "https://a.example:/",
    "https://a.example:0/",
    "https://a.example:65536/",
    "https://a.example:1:2/",
    "https://user@a.example/",
    "https://user:pass@a.example/",
    "https://a.example@b.example/",
    "https://a.example/#",
    "https://a.example/#x",
    "https://a.example/ x",
    "https://a.example/\t",
    "https://a.example/\n",
    "https://a.example/\x7f",
    "https://a.example/\xc3\xa4",
    "https://\xc3\xa4.example/",
    "https://a.example\\@b.example/",
    "https://*.example/",
    "https://a.example/*",
    "https://a.example/%",
    "https://a.example/%2",
    "https://a.example/%zz",
    "https://a.example/../b",
    "https://a.example/b/..",
    "https://a.example/./b",
    "https://a.example/%2e%2E/b",
    "https://a.example/.%2e",
    "https://a.example;script-src/",
    "https://a,b/",
    "https://a.example'/",
    "https://a%2eexample/",
    "https://[::1/",
    "https://[x]/",
    "https://a.example/?code=1",
    "https://a.example/?x&state",
    "https://a.example/?iss=",
    "https://a.example/?error=1",
    "https://a.example/?error_uri=1",
    "HTTPS://a.example/",
    "http://a.example/",
    "http://localhost/",
    "http://127.0.0.1.a.example/",
    "http://127.0.0.1:x/",
    "http://127.0.0.1:0/",
    "http://127.0.0.1:/",
    "http://127.0.0.2/",
    "http://[::2]/",
    "http://user@127.0.0.1/",
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "app:/x",
    "myapp://x",
    "com.example.app:",
    "com.example.app:x",
    "com.example.app:?x",
    "com.example.app://user@host/",
    ".a:/x",
    "1.a:/x",
};

static void invalid_redirect_addresses_are_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_addresses / sizeof bad_addresses[0]; i++)
        if (!redirect_check(str_from_cstr(bad_addresses[i])))
            fail_msg("%s", bad_addresses[i]);
    char longest[2001];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "https://a.example/", 18);
    assert_null(redirect_check(str_make(longest, 2000)));
    assert_non_null(redirect_check(str_make(longest, 2001)));
    assert_non_null(redirect_check(str_make("https://a.example/\0", 19)));
}

static void reason_names_an_invalid_port(void **state)
{
    static const char *const addresses[] = {"https://a.example:99999/", "https://a.example:65536",
                                            "https://a.example:0/?x",   "https://a.example:/",
                                            "https://[::1]:99999/",     "com.example.app://a:99999/x",
                                            "http://127.0.0.1:99999/"};
    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        const char *reason = redirect_check(str_from_cstr(addresses[i]));
        if (!reason || !strstr(reason, "from 1 to 65535"))
            fail_msg("%s: %s", addresses[i], reason ? reason : "accepted");
    }
    assert_null(redirect_check(STR("https://a.example:65535/")));
}

static bool matches(const char *registered, const char *given)
{
    return redirect_matches(str_from_cstr(registered), str_from_cstr(given));
}

static void only_the_port_of_a_loopback_address_may_differ(void **state)
{
    (void)state;
    assert_true(matches("http://127.0.0.1/a", "http://127.0.0.1:1/a"));
    assert_true(matches("http://127.0.0.1:8000/a", "http://127.0.0.1/a"));
    assert_true(matches("http://[::1]:8000/a?b", "http://[::1]:65535/a?b"));
    assert_true(matches("http://127.0.0.1", "http://127.0.0.1:80"));
    assert_false(matches("http://127.0.0.1", "http://127.0.0.1:80/"));
    assert_false(matches("http://127.0.0.1/a", "http://[::1]/a"));
    assert_false(matches("http://127.0.0.1/a", "http://127.0.0.1:65536/a"));
    assert_false(matches("http://127.0.0.1/a", "http://127.0.0.1:000080/a"));
    assert_false(matches("http://127.0.0.1/a", "http://127.0.0.1:1@b.example/a"));
    assert_false(matches("http://127.0.0.1/a", "http://127.0.0.1x/a"));
    assert_false(matches("http://127.0.0.1/a", ""));
    assert_false(matches("https://a.example/a", "https://a.example:443/a"));
    assert_false(matches("https://127.0.0.1/a", "https://127.0.0.1:1/a"));
    assert_false(matches("com.example.app:/a", "com.example.app:/b"));
}

static void loopback_address_including_its_port_must_not_exceed_the_length_limit(void **state)
{
    char registered[REDIRECT_MAX + 1], given[REDIRECT_MAX + 8];
    (void)state;
    (void)snprintf(registered, sizeof registered, "http://127.0.0.1/%01982d", 0);
    (void)snprintf(given, sizeof given, "http://127.0.0.1:1/%01982d", 0);
    assert_int_equal(strlen(given), REDIRECT_MAX + 1);
    assert_false(matches(registered, given));
    registered[strlen(registered) - 1] = given[strlen(given) - 1] = '\0';
    assert_true(matches(registered, given));
}

static void parameters_of_a_redirect_are_percent_encoded(void **state)
{
    (void)state;
    const struct redirect_param params[] = {
        {"code", STR("aZ09-._~")}, {"none", {NULL, 0}}, {"state", {"\0\r\n%&=+ \xff\"", 10}}};
    assert_str(redirect_add_parameters(&arena, STR("https://a.example/"), params, 3),
               "https://a.example/?code=aZ09-._~&state=%00%0D%0A%25%26%3D%2B%20%FF%22");
    assert_str(redirect_add_parameters(&arena, STR("https://a.example/?x=y"), params, 1),
               "https://a.example/?x=y&code=aZ09-._~");
    assert_str(redirect_add_parameters(&arena, STR("https://a.example/?"), params, 1),
               "https://a.example/?code=aZ09-._~");
}

/* ---- PKCE ---- */

static void pkce_accepts_the_example_of_rfc_7636(void **state)
{
    (void)state;
    struct str verifier = STR("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
    struct str challenge = STR("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    assert_true(pkce_is_verifier(verifier) && pkce_is_challenge(challenge));
    assert_true(pkce_matches(challenge, verifier));
    assert_false(pkce_matches(verifier, verifier));
    assert_false(pkce_matches(challenge, challenge));
    assert_false(pkce_matches(STR(""), verifier));
    assert_false(pkce_is_challenge(STR("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw.cM")));
}

/* ---- fields ---- */

static const char *const names[] = {"a", "b", NULL};

static void form_fields_are_decoded(void **state)
{
    (void)state;
    struct fields f;
    assert_true(fields_read_form(&f, &arena, names, STR("b=%00%ff+x&z=%zz&a=1")));
    assert_str(f.values[0], "1");
    assert_true(str_eq(f.values[1], str_make("\0\xff x", 4)));
    assert_null(fields_find_repeated(&f));
    assert_true(fields_read_form(&f, &arena, names, STR("a=&%61=")));
    assert_null(f.values[0].p);
    assert_string_equal(fields_find_repeated(&f), "a");
    assert_true(fields_read_form(&f, &arena, names, STR("b&b=1&a")));
    assert_string_equal(fields_find_repeated(&f), "b");
    assert_false(fields_read_form(&f, &arena, names, STR("a=%zz")));
    assert_true(fields_read_form(&f, &arena, names, STR("")));
    assert_null(f.values[0].p);
}

/* Many short fields must not need much more memory than the form itself. */
static void form_fields_need_at_most_three_times_the_memory_of_the_form(void **state)
{
    static const char *const texts[] = {"a&", "&", "z=&", "a=1&", "%61=%31&"};
    struct fields f;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct buf form;
        buf_init(&form, 16 << 10);
        while (form.max - form.len >= strlen(texts[i]))
            buf_append(&form, str_from_cstr(texts[i]));
        arena_reset(&arena);
        assert_true(fields_read_form(&f, &arena, names, buf_str(&form)));
        if (arena_bytes(&arena) > 3 * form.len)
            fail_msg("%s: a form of %zu bytes needs %zu bytes of memory", texts[i], form.len,
                     arena_bytes(&arena));
        buf_fini(&form);
    }
}

static void json_fields_are_read(void **state)
{
    (void)state;
    struct fields f;
    assert_true(fields_read_json(&f, &arena, names, STR("{\"b\":\"x\\u0000\",\"z\":[1],\"a\":null}")));
    assert_null(f.values[0].p);
    assert_true(str_eq(f.values[1], str_make("x\0", 2)));
    assert_true(fields_read_json(&f, &arena, names, STR("{\"a\":\"\",\"a\":\"1\"}")));
    assert_string_equal(fields_find_repeated(&f), "a");
    static const char *const bad[] = {"", "[]", "\"a\"", "{\"a\":1}", "{\"a\":{}}", "{\"a\":\"1\"", "{}x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(fields_read_json(&f, &arena, names, str_from_cstr(bad[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_redirect_addresses_are_accepted),
        cmocka_unit_test(invalid_redirect_addresses_are_rejected),
        cmocka_unit_test(reason_names_an_invalid_port),
        cmocka_unit_test(only_the_port_of_a_loopback_address_may_differ),
        cmocka_unit_test(loopback_address_including_its_port_must_not_exceed_the_length_limit),
        cmocka_unit_test_setup_teardown(parameters_of_a_redirect_are_percent_encoded, set_up, tear_down),
        cmocka_unit_test(pkce_accepts_the_example_of_rfc_7636),
        cmocka_unit_test_setup_teardown(form_fields_are_decoded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(form_fields_need_at_most_three_times_the_memory_of_the_form, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(json_fields_are_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
