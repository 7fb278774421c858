/* Tests web/html.h: escaping text, and rejecting unsafe links. */
#include "unit.h"

#include "web/html.h"

static struct buf out;

static void reset(void)
{
    buf_fini(&out);
    buf_init(&out, 4096);
}

static struct str text_of(struct str s)
{
    reset();
    html_text(&out, s);
    assert_false(out.failed);
    return buf_str(&out);
}

static void text_is_escaped(void **state)
{
    (void)state;
    assert_str(text_of(STR("<script>alert(1)</script>")), "&lt;script&gt;alert(1)&lt;/script&gt;");
    assert_str(text_of(STR("\" onload='x' & &amp;")), "&quot; onload=&#39;x&#39; &amp; &amp;amp;");
    assert_str(text_of(STR("")), "");
    assert_str(text_of((struct str){NULL, 0}), "");
    assert_str(text_of(STR("plain")), "plain");
    assert_str(text_of(STR("a<")), "a&lt;");
}

static void unicode_is_unchanged_and_invalid_utf8_becomes_replacement_characters(void **state)
{
    (void)state;
    assert_str(text_of(STR("כותרת 日本 \xF0\x9F\x93\x9A é")), "כותרת 日本 \xF0\x9F\x93\x9A é");
    assert_str(text_of(STR("a\xFF"
                           "b")),
               "a\xEF\xBF\xBD"
               "b");
    assert_str(text_of(STR("\xC3")), "\xEF\xBF\xBD"); /* truncated sequence */
    assert_str(text_of(STR("\xC0\xBC<")), "\xEF\xBF\xBD\xEF\xBF\xBD&lt;");
    assert_str(text_of(STR("\xE2\x82<b>")),
               "\xEF\xBF\xBD\xEF\xBF\xBD&lt;b&gt;"); /* the "<" after the invalid byte is escaped */
}

static void control_characters_are_removed(void **state)
{
    (void)state;
    assert_str(text_of(STR("a\0b\x01\x1b[31m\x7f\xC2\x85z")), "ab[31mz");
    assert_str(text_of(STR("a\tb\r\nc")), "a b  c");
    assert_str(text_of(STR("\xC2\xA0")), "\xC2\xA0");
}

static void names_are_isolated_from_surrounding_text(void **state)
{
    (void)state;
    reset();
    html_isolated_text(&out, STR("\xE2\x80\xAE<b>"));
    assert_str(buf_str(&out), "<bdi>\xE2\x80\xAE&lt;b&gt;</bdi>");
    reset();
    html_screen_reader_text(&out, STR("1 & 2"));
    assert_str(buf_str(&out), "<span class=\"sr\">1 &amp; 2</span>");
}

static void attributes_are_quoted(void **state)
{
    (void)state;
    reset();
    html_attr(&out, "title", STR("a\"b"));
    html_attr_i64(&out, "width", -12);
    assert_str(buf_str(&out), " title=\"a&quot;b\" width=\"-12\"");
}

static void unsafe_links_are_rejected(void **state)
{
    static const char *const good[] = {
        "/", "/videos/1?a=b#c", "https://example.org", "HTTP://example.org/x", "http://[::1]:8080/?q=<\">",
    };
    static const char *const bad[] = {
        "",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "//example.org",
        "/\\example.org",
        "\\\\example.org",
        "/\t/example.org",
        " https://example.org",
        "https://exa mple.org",
        "https://example.org/\n",
        "https:example.org",
        "https:///example.org",
        "https://",
        "https://?x",
        "ftp://example.org",
        "videos/1",
        "java\nscript:alert(1)",
        "?x",
        "#x",
    };
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(html_link_is_safe(str_from_cstr(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(html_link_is_safe(str_from_cstr(bad[i])));
    assert_false(html_link_is_safe(STR("/a\0b")));
    reset();
    html_link(&out, "href", STR("javascript:alert(1)"));
    assert_str(buf_str(&out), "");
    html_link(&out, "href", STR("https://example.org/?a=1&b=\"2\""));
    assert_str(buf_str(&out), " href=\"https://example.org/?a=1&amp;b=&quot;2&quot;\"");
}

static bool is_entity(struct str s)
{
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
    for (size_t i = 0; i < sizeof entities / sizeof entities[0]; i++)
        if (str_starts_with(s, str_from_cstr(entities[i])))
            return true;
    return false;
}

/* For random input, the output is valid UTF-8 and contains no character that could end element content or an
 * attribute. */
static void random_input_is_always_escaped(void **state)
{
    static const char likely[] = "<>&\"'\0\n\x1b\x7f\xC2\x85\xE2\x80\xAE\xF0\x9F\xED\xA0\xFF;#ab";
    uint64_t random = 0x1234567;
    char in[40];
    (void)state;
    for (int round = 0; round < 50000; round++) {
        size_t len = (size_t)round % sizeof in;
        for (size_t i = 0; i < len; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            in[i] = random >> 63 ? likely[(random >> 40) % (sizeof likely - 1)] : (char)(random >> 48);
        }
        struct str text = text_of(str_make(in, len));
        assert_true(str_is_utf8(text));
        for (size_t i = 0; i < text.len; i++) {
            unsigned char c = (unsigned char)text.p[i];
            assert_true(c >= 0x20 && c != 0x7F && !strchr("<>\"'", c));
            assert_true(c != '&' || is_entity(str_make(text.p + i, text.len - i)));
        }
    }
}

static void text_that_does_not_fit_marks_the_buffer_as_failed(void **state)
{
    (void)state;
    buf_fini(&out);
    buf_init(&out, 8);
    html_text(&out, STR("<<<<<<"));
    assert_true(out.failed);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(unicode_is_unchanged_and_invalid_utf8_becomes_replacement_characters),
        cmocka_unit_test(control_characters_are_removed),
        cmocka_unit_test(names_are_isolated_from_surrounding_text),
        cmocka_unit_test(attributes_are_quoted),
        cmocka_unit_test(unsafe_links_are_rejected),
        cmocka_unit_test(random_input_is_always_escaped),
        cmocka_unit_test(text_that_does_not_fit_marks_the_buffer_as_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
