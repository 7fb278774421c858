/* Tests reference/markdown.h: blocks, inline elements, and that text cannot become markup. */
#include "unit.h"

#include "reference/markdown.h"

static struct buf out;

static struct str html_of(const char *markdown)
{
    buf_fini(&out);
    buf_init(&out, 4096);
    markdown_append(&out, str_from_cstr(markdown), 0);
    assert_false(out.failed);
    return buf_str(&out);
}

static void blocks_become_elements(void **state)
{
    (void)state;
    assert_str(html_of("one\ntwo\n\nthree"), "<p>one two</p>\n<p>three</p>\n");
    assert_str(html_of("## Rate limit_a\ntext"), "<h2 id=\"rate-limit_a\">Rate limit_a</h2>\n<p>text</p>\n");
    assert_str(html_of("- a\n- b\n  c\n\nd"), "<ul><li>a</li>\n<li>b c</li></ul>\n<p>d</p>\n");
    assert_str(html_of("1. a\n2. b"), "<ol><li>a</li>\n<li>b</li></ol>\n");
    assert_str(html_of("```\n  if (a < b)\n\n# x\n```\nend"),
               "<pre tabindex=\"0\"><code>  if (a &lt; b)\n\n# x\n</code></pre>\n<p>end</p>\n");
    assert_str(
        html_of("| a | b |\n| --- | --- |\n| `c` | |"),
        "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"Table\"><table><thead><tr>"
        "<th scope=\"col\">a</th><th scope=\"col\">b</th></tr>\n</thead><tbody><tr><td><code>c</code></td>"
        "<td></td></tr>\n</tbody></table></div>\n");
    assert_str(html_of(""), "");
}

static void inline_markup_becomes_elements(void **state)
{
    (void)state;
    assert_str(html_of("a `b*c` **d** [e `f`](g#h)."),
               "<p>a <code>b*c</code> <strong>d</strong> <a href=\"g#h\">e <code>f</code></a>.</p>\n");
}

static void unterminated_markup_is_output_as_text(void **state)
{
    (void)state;
    assert_str(html_of("a `b"), "<p>a `b</p>\n");
    assert_str(html_of("**a"), "<p>**a</p>\n");
    assert_str(html_of("[a](b"), "<p>[a](b</p>\n");
    assert_str(html_of("a * [ `"), "<p>a * [ `</p>\n");
    assert_str(html_of("```\nopen"), "<pre tabindex=\"0\"><code>open\n</code></pre>\n");
}

static void text_is_escaped(void **state)
{
    (void)state;
    assert_str(html_of("<b> `<i>` **<u>**"),
               "<p>&lt;b&gt; <code>&lt;i&gt;</code> <strong>&lt;u&gt;</strong></p>\n");
    assert_str(html_of("## <x>"), "<h2 id=\"-x-\">&lt;x&gt;</h2>\n");
    assert_str(html_of("[<b>](\"x)"), "<p><a href=\"&quot;x\">&lt;b&gt;</a></p>\n");
}

static int free_out(void **state)
{
    (void)state;
    buf_fini(&out);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_become_elements),
        cmocka_unit_test(inline_markup_becomes_elements),
        cmocka_unit_test(unterminated_markup_is_output_as_text),
        cmocka_unit_test(text_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, free_out);
}
