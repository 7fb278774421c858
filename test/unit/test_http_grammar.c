/* Tests the grammar that llhttp does not check, and client addresses from X-Forwarded-For. */
#include "unit.h"

#include "http/grammar.h"
#include "http/proxies.h"

static struct str s(const char *text)
{
    return str_from_cstr(text);
}

static void validates_hosts(void **state)
{
    static const char *const good[] = {
        "",         "localhost", "a.example:8080", "a:",   "127.0.0.1:1", "[::1]",
        "[::1]:80", "[v1.a]",    "a_b-c~d",        "%41b", "a!$&'()*+;=b"};
    static const char *const bad[] = {"a b", "a/b",  "u@a",  "a, b", "a,b",    "\"a\"",  "a\\b",
                                      "a:b", "a:8x", "[::1", "[]",   "[::1]x", "[::g]",  "\xff",
                                      "a%4", "a%zz", "a#b",  "a?b",  "a:1:2",  "[::1]:x"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!grammar_is_host(s(good[i])))
            fail_msg("rejected: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (grammar_is_host(s(bad[i])))
            fail_msg("accepted: %s", bad[i]);
    assert_false(grammar_is_host(STR("a\0b")));
}

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static void splits_traceparent(void **state)
{
    static const char *const good[] = {"00-" TRACE "-" PARENT "-01",      "00-" TRACE "-" PARENT "-00",
                                       "00-" TRACE "-" PARENT "-ff",      "01-" TRACE "-" PARENT "-01",
                                       "cc-" TRACE "-" PARENT "-01-more", "fe-" TRACE "-" PARENT "-01-"};
    static const char *const bad[] = {"",
                                      "00",
                                      TRACE,
                                      "00-" TRACE "-" PARENT,
                                      "00-" TRACE "-" PARENT "-1",
                                      "00-" TRACE "-" PARENT "-0g",
                                      "00-" TRACE "-" PARENT "-0A",
                                      "00-" TRACE "-" PARENT "-01-",
                                      "00-" TRACE "-" PARENT "-01x",
                                      "00-" TRACE "-" PARENT "-01 ",
                                      "01-" TRACE "-" PARENT "-01x",
                                      "ff-" TRACE "-" PARENT "-01",
                                      "0x-" TRACE "-" PARENT "-01",
                                      "0A-" TRACE "-" PARENT "-01",
                                      "00_" TRACE "-" PARENT "-01",
                                      "00-" TRACE "_" PARENT "-01",
                                      "00-" TRACE "-" PARENT "_01",
                                      "00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01",
                                      "00-4bf92f3577b34da6a3ce929d0e0e473\xc3-" PARENT "-01",
                                      "00-00000000000000000000000000000000-" PARENT "-01",
                                      "00-" TRACE "-0000000000000000-01",
                                      "00-" TRACE "-00f067aa0ba902bG-01",
                                      "00-" TRACE "-" PARENT "-01, 00-" TRACE "-" PARENT "-01"};
    struct str trace, parent;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (!grammar_split_traceparent(s(good[i]), &trace, &parent))
            fail_msg("rejected: %s", good[i]);
        assert_true(str_eq(trace, STR(TRACE)) && str_eq(parent, STR(PARENT)));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (grammar_split_traceparent(s(bad[i]), &trace, &parent))
            fail_msg("accepted: %s", bad[i]);
    assert_false(grammar_split_traceparent((struct str){NULL, 0}, &trace, &parent));
}

static void splits_targets(void **state)
{
    static const struct {
        const char *target, *path, *query; /* path NULL: the target must be rejected */
    } cases[] = {
        {"/", "/", NULL},
        {"/a/b", "/a/b", NULL},
        {"/a?", "/a", ""},
        {"/a?b=c?d", "/a", "b=c?d"},
        {"//a", "//a", NULL},
        {"/%zz", "/%zz", NULL},
        {"*", "*", NULL},
        {"http://a/b?c", "/b", "c"},
        {"HTTPS://a:1/b", "/b", NULL},
        {"http://a", "/", NULL},
        {"http://a?b", "/", "b"},
        {"http://[::1]:8080/b", "/b", NULL},
        {"", NULL, NULL},
        {"a", NULL, NULL},
        {"?a", NULL, NULL},
        {"**", NULL, NULL},
        {"a:80", NULL, NULL},
        {"http://", NULL, NULL},
        {"http:///a", NULL, NULL},
        {"http://:80/a", NULL, NULL},
        {"http://u@a/", NULL, NULL},
        {"ftp://a/", NULL, NULL},
        {"http:/a", NULL, NULL},
        {"/a#b", NULL, NULL},
        {"/a b", NULL, NULL},
        {"/a\\b", NULL, NULL},
        {"/\"", NULL, NULL},
        {"/<", NULL, NULL},
        {"/{}", NULL, NULL},
        {"/\x7f", NULL, NULL},
        {"/\x01", NULL, NULL},
        {"/\xc3\xa9", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str path, query;
        bool accepted = grammar_split_target(s(cases[i].target), &path, &query);
        if (accepted != (cases[i].path != NULL))
            fail_msg("%s: %s", accepted ? "accepted" : "rejected", cases[i].target);
        if (!accepted)
            continue;
        assert_str(path, cases[i].path);
        assert_int_equal(query.p != NULL, cases[i].query != NULL);
        if (query.p)
            assert_str(query, cases[i].query);
    }
}

static void validates_request_ids(void **state)
{
    char text[130];
    (void)state;
    memset(text, 'a', sizeof text);
    assert_true(grammar_is_request_id(STR("a")));
    assert_true(grammar_is_request_id(STR("AZaz09._-")));
    assert_true(grammar_is_request_id(str_make(text, 128)));
    assert_false(grammar_is_request_id(str_make(text, 129)));
    assert_false(grammar_is_request_id(STR("")));
    assert_false(grammar_is_request_id(STR("a b")));
    assert_false(grammar_is_request_id(STR("a\r\nb")));
    assert_false(grammar_is_request_id(STR("a/b")));
    assert_false(grammar_is_request_id(STR("\xc3\xa9")));
}

static void matches_entity_tags(void **state)
{
    struct str tag = STR("\"abc\"");
    (void)state;
    assert_true(grammar_etag_matches(STR("\"abc\""), tag));
    assert_true(grammar_etag_matches(STR("W/\"abc\""), tag)); /* weak comparison */
    assert_true(grammar_etag_matches(STR("\"x\", \"abc\""), tag));
    assert_true(grammar_etag_matches(STR("\"x\",\t W/\"abc\" ,\"y\""), tag));
    assert_true(grammar_etag_matches(STR("*"), tag));
    assert_false(grammar_etag_matches(STR("\"ab\""), tag));
    assert_false(grammar_etag_matches(STR("abc"), tag));
    assert_false(grammar_etag_matches(STR(""), tag));
    assert_false(grammar_etag_matches(STR("w/\"abc\""), tag)); /* the prefix is case-sensitive */
}

static void detects_whether_transfer_codings_end_with_chunked(void **state)
{
    (void)state;
    assert_true(grammar_ends_with_chunked(STR("gzip, chunked")));
    assert_true(grammar_ends_with_chunked(STR("gzip,deflate , CHUNKED")));
    assert_true(grammar_ends_with_chunked(STR("chunked")));
    assert_false(grammar_ends_with_chunked(STR("chunked, chunked")));
    assert_false(grammar_ends_with_chunked(STR("chunked, gzip")));
    assert_false(grammar_ends_with_chunked(STR(", chunked")));
    assert_false(grammar_ends_with_chunked(STR("chunked,")));
    assert_false(grammar_ends_with_chunked(STR("")));
    assert_false(grammar_ends_with_chunked(STR("xchunked")));
}

static const char *client(const struct proxies *p, const char *peer, const char *forwarded)
{
    static char text[64];
    struct str found =
        proxies_find_client(p, s(peer), proxies_is_trusted(p, s(peer), strcmp(peer, "unix") == 0),
                            forwarded ? s(forwarded) : (struct str){NULL, 0});
    memcpy(text, found.p, found.len);
    text[found.len] = '\0';
    return text;
}

static void no_proxy_is_trusted_by_default(void **state)
{
    struct proxies p = {0};
    (void)state;
    assert_string_equal(client(&p, "127.0.0.1", "1.2.3.4"), "127.0.0.1");
    assert_string_equal(client(&p, "::1", "1.2.3.4"), "::1");
    assert_string_equal(client(&p, "unix", "1.2.3.4"), "unix");
}

static void rightmost_untrusted_address_is_the_client(void **state)
{
    struct proxies p = {0};
    (void)state;
    assert_true(proxies_add(&p, STR("127.0.0.1")) && proxies_add(&p, STR("10.0.0.0/8")));
    assert_string_equal(client(&p, "127.0.0.1", "6.6.6.6, 1.2.3.4"), "1.2.3.4");
    assert_string_equal(client(&p, "127.0.0.1", "6.6.6.6, 1.2.3.4, 10.9.8.7"), "1.2.3.4");
    assert_string_equal(client(&p, "127.0.0.1", "10.1.1.1,10.2.2.2"), "10.1.1.1");
    assert_string_equal(client(&p, "127.0.0.1", NULL), "127.0.0.1");
    assert_string_equal(client(&p, "127.0.0.1", ""), "127.0.0.1");
    assert_string_equal(client(&p, "127.0.0.2", "1.2.3.4"), "127.0.0.2");
    /* If an entry is not an address, the client is the proxy that appended it. */
    assert_string_equal(client(&p, "127.0.0.1", "1.2.3.4, unknown, 10.0.0.1"), "10.0.0.1");
    assert_string_equal(client(&p, "127.0.0.1", "<script>"), "127.0.0.1");
    assert_string_equal(client(&p, "127.0.0.1", "fe80::1, 2001:db8::1"), "2001:db8::1");
    /* Some proxies append the port. */
    assert_string_equal(client(&p, "127.0.0.1", "1.2.3.4:5678"), "1.2.3.4");
    assert_string_equal(client(&p, "127.0.0.1", "[2001:db8::1]:443"), "2001:db8::1");
    assert_string_equal(client(&p, "127.0.0.1", "[2001:db8::1]"), "2001:db8::1");
    assert_string_equal(client(&p, "127.0.0.1", "1.2.3.4, [::1"), "127.0.0.1");
}

static void trusted_network_contains_exactly_its_addresses(void **state)
{
    struct proxies p = {0};
    (void)state;
    assert_true(proxies_add(&p, STR("192.168.4.0/22")) && proxies_add(&p, STR("fd00::/9")) &&
                proxies_add(&p, STR("unix")));
    assert_string_equal(client(&p, "192.168.7.255", "1.1.1.1"), "1.1.1.1");
    assert_string_equal(client(&p, "192.168.8.0", "1.1.1.1"), "192.168.8.0");
    assert_string_equal(client(&p, "192.168.3.255", "1.1.1.1"), "192.168.3.255");
    assert_string_equal(client(&p, "fd7f::1", "1.1.1.1"), "1.1.1.1");
    assert_string_equal(client(&p, "fd80::1", "1.1.1.1"), "fd80::1");
    assert_string_equal(client(&p, "::ffff:192.168.4.1", "1.1.1.1"), "1.1.1.1");
    assert_string_equal(client(&p, "unix", "1.1.1.1"), "1.1.1.1");
    struct proxies all = {0};
    assert_true(proxies_add(&all, STR("0.0.0.0/0")));
    assert_string_equal(client(&all, "8.8.8.8", "1.1.1.1"), "1.1.1.1");
    assert_string_equal(client(&all, "2001:db8::1", "1.1.1.1"), "2001:db8::1");
}

static void rejects_invalid_networks(void **state)
{
    static const char *const bad[] = {"",       "a",       "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
                                      "10.0.0", "::1/129", "10.0.0.0/8x", "localhost", "10.0.0.0/8/8",
                                      "UNIX",   "[::1]"};
    struct proxies p = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (proxies_add(&p, s(bad[i])))
            fail_msg("accepted: %s", bad[i]);
    for (int i = 0; i < PROXIES_MAX; i++)
        assert_true(proxies_add(&p, STR("10.0.0.1")));
    assert_false(proxies_add(&p, STR("10.0.0.1")));
}

static void gzip_is_accepted_only_with_a_positive_weight(void **state)
{
    (void)state;
    static const char *const accepted[] = {
        "gzip",     "GZip", "x-gzip",           "br, gzip",    " gzip ;q=0.001", "gzip;Q=1.000",
        "gzip;q=1", "*",    "br;q=0.1,*;q=0.5", "*;q=0, gzip", "gzip, *;q=0"};
    static const char *const rejected[] = {
        "",          "br",         "identity",     "gzip;q=0",      "gzip;q=0.000", "*, gzip;q=0",
        "*;q=0",     "gzip;q=",    "gzip;q=2",     "gzip;q=1.0000", "gzip;q=1.001", "gzip;q=1.5",
        "gzip;q=-1", "gzip;q=0,5", "gzip;level=1", "gzipped",       "gzip;q=0x1",   ",,",
        ";q=1"};
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++)
        assert_true(grammar_accepts_gzip(str_from_cstr(accepted[i])));
    for (size_t i = 0; i < sizeof rejected / sizeof rejected[0]; i++)
        assert_false(grammar_accepts_gzip(str_from_cstr(rejected[i])));
    assert_false(grammar_accepts_gzip((struct str){NULL, 0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validates_hosts),
        cmocka_unit_test(splits_traceparent),
        cmocka_unit_test(splits_targets),
        cmocka_unit_test(validates_request_ids),
        cmocka_unit_test(matches_entity_tags),
        cmocka_unit_test(detects_whether_transfer_codings_end_with_chunked),
        cmocka_unit_test(no_proxy_is_trusted_by_default),
        cmocka_unit_test(rightmost_untrusted_address_is_the_client),
        cmocka_unit_test(trusted_network_contains_exactly_its_addresses),
        cmocka_unit_test(rejects_invalid_networks),
        cmocka_unit_test(gzip_is_accepted_only_with_a_positive_weight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
