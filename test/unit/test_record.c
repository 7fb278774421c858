/* Tests the parser of the import format: valid values, exact reasons of rejection, unusual texts. */
#include "import/record.h"

#include "base/buf.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ID     "0b8f2f6e-3c55-4c5a-9d2e-7a2f00000001"
#define AUTHOR "{\"type\":\"author\",\"id\":\"" ID "\""
#define BOOK   "{\"type\":\"book\",\"id\":\"" ID "\",\"author_id\":\"" ID "\""
#define VIDEO  "{\"type\":\"video\",\"id\":\"" ID "\",\"author_id\":\"" ID "\""
#define READ                                                                                                 \
    "{\"type\":\"reading\",\"platform\":\"youtube\",\"post_id\":\"p\",\"observed_at\":\"2026-07-01T00:00:"   \
    "00Z\""

static struct record_parser *parser;
static struct record record;

static bool parse(struct str line, struct str *why)
{
    /* A copy without trailing bytes, so that a sanitizer detects reads beyond the line. */
    char *copy = malloc(line.len + !line.len);
    memcpy(copy, line.p, line.len);
    bool ok = record_parse(parser, str_make(copy, line.len), &record, why);
    free(copy);
    return ok;
}

static void accepts(const char *line)
{
    struct str why;
    if (!parse(str_from_cstr(line), &why))
        fail_msg("%s: %.*s", line, (int)why.len, why.p);
}

static void rejects_bytes(struct str line, const char *reason)
{
    struct str why;
    if (parse(line, &why))
        fail_msg("accepted: %.*s", (int)line.len, line.p);
    char text[256];
    (void)snprintf(text, sizeof text, "%.*s", (int)why.len, why.p);
    assert_string_equal(text, reason);
}

static void rejects(const char *line, const char *reason)
{
    rejects_bytes(str_from_cstr(line), reason);
}

/* Asserts that the line is rejected as invalid JSON. Checks only the beginning of the reason, because the
 * rest is text of the JSON library. */
static void rejects_json(const char *line)
{
    struct str why;
    if (parse(str_from_cstr(line), &why))
        fail_msg("accepted: %s", line);
    assert_true(str_starts_with(why, STR("not valid JSON: ")));
}

static int64_t at(const char *time)
{
    int64_t t;
    assert_true(time_parse(str_from_cstr(time), &t));
    return t;
}

static void parses_authors(void **state)
{
    (void)state;
    accepts(AUTHOR ",\"name\":\"Ann \\u00e9\",\"plan_active\":false}");
    assert_int_equal(record.kind, RECORD_AUTHOR);
    assert_int_equal(record.author.name.given, GIVEN_VALUE);
    assert_true(str_eq(record.author.name.text, STR("Ann \xC3\xA9")));
    assert_int_equal(record.author.plan_active.given, GIVEN_VALUE);
    assert_false(record.author.plan_active.flag);
    char id[UUID_TEXT_LEN];
    uuid_format(&record.author.id.id, id);
    assert_memory_equal(id, ID, UUID_TEXT_LEN);

    accepts(AUTHOR "}");
    assert_int_equal(record.author.name.given, GIVEN_NOT);
    assert_int_equal(record.author.plan_active.given, GIVEN_NOT);
    accepts(
        "{\"type\":\"author\",\"id\":\"0B8F2F6E-3C55-4C5A-9D2E-7A2F00000001\",\"extra\":[{\"id\":1},1e999]}");
    accepts("\t" AUTHOR "}\r");

    rejects("{\"type\":\"author\"}", "id is missing");
    rejects(AUTHOR ",\"id\":\"" ID "\"}", "id is given twice");
    rejects("{\"type\":\"author\",\"id\":\"" ID "0\"}", "id is not a UUID");
    rejects("{\"type\":\"author\",\"id\":7}", "id is not a UUID");
    rejects("{\"type\":\"author\",\"id\":null}", "id is null");
    rejects(AUTHOR ",\"name\":null}", "name is null");
    rejects(AUTHOR ",\"name\":\"\"}", "name is empty");
    rejects(AUTHOR ",\"name\":5}", "name is not a string");
    rejects(AUTHOR ",\"name\":[\"x\"]}", "name is not a string");
    rejects(AUTHOR ",\"name\":\"a\\u0000b\"}", "name contains U+0000");
    rejects(AUTHOR ",\"plan_active\":1}", "plan_active is not true or false");
    rejects(AUTHOR ",\"plan_active\":\"true\"}", "plan_active is not true or false");
    rejects(AUTHOR ",\"plan_active\":null}", "plan_active is null");
    rejects(AUTHOR ",\"plan_active\":true,\"plan_active\":true}", "plan_active is given twice");
    rejects(AUTHOR ",\"type\":\"author\"}", "type is given twice");
    rejects(AUTHOR ",\"n\\u0061me\":\"a\",\"name\":\"b\"}", "name is given twice");
}

static void with_text(const char *head, size_t n, const char *tail, const char *reason)
{
    struct buf line;
    buf_init(&line, 1 << 16);
    buf_append(&line, str_from_cstr(head));
    for (size_t i = 0; i < n; i++)
        buf_append_char(&line, 'x');
    buf_append(&line, str_from_cstr(tail));
    struct str why;
    if (reason)
        rejects_bytes(buf_str(&line), reason);
    else
        assert_true(parse(buf_str(&line), &why));
    buf_fini(&line);
}

static void rejects_texts_beyond_the_limits(void **state)
{
    (void)state;
    with_text(AUTHOR ",\"name\":\"", 1, "\"}", NULL);
    with_text(AUTHOR ",\"name\":\"", 2000, "\"}", NULL);
    with_text(AUTHOR ",\"name\":\"", 2001, "\"}", "name is longer than 2000 bytes");
    with_text(AUTHOR ",\"name\":\"\xE2\x82\xAC", 1998, "\"}",
              "name is longer than 2000 bytes"); /* bytes, not characters */
    with_text(BOOK ",\"subtitle\":\"", 0, "\"}", NULL);
    with_text(BOOK ",\"subtitle\":\"", 2001, "\"}", "subtitle is longer than 2000 bytes");
    with_text(VIDEO ",\"thumbnail_url\":\"https://", 2040, "\"}", NULL);
    with_text(VIDEO ",\"thumbnail_url\":\"https://", 2041, "\"}", "thumbnail_url is longer than 2048 bytes");
    with_text("{\"type\":\"reading\",\"platform\":\"tiktok\",\"observed_at\":\"2026-07-01T00:00:00Z\",\"post_"
              "id\":\"",
              255, "\"}", NULL);
    with_text("{\"type\":\"reading\",\"platform\":\"tiktok\",\"observed_at\":\"2026-07-01T00:00:00Z\",\"post_"
              "id\":\"",
              256, "\"}", "post_id is longer than 255 bytes");
}

static void parses_books(void **state)
{
    (void)state;
    accepts(BOOK ",\"title\":\"T\",\"subtitle\":\"\",\"created_at\":\"2026-01-02T03:04:05.678Z\"}");
    assert_int_equal(record.kind, RECORD_BOOK);
    assert_true(str_eq(record.book.title.text, STR("T")));
    assert_int_equal(record.book.subtitle.text.len, 0);
    assert_int_equal(record.book.created_at.time_ms, at("2026-01-02T03:04:05.678Z"));
    accepts(BOOK ",\"subtitle\":null}");
    assert_int_equal(record.book.subtitle.given, GIVEN_NULL);
    accepts("{\"type\":\"book\",\"id\":\"" ID "\"}");
    assert_int_equal(record.book.author_id.given, GIVEN_NOT);
    rejects("{\"type\":\"book\",\"id\":\"" ID "\",\"author_id\":\"x\"}", "author_id is not a UUID");
    rejects("{\"type\":\"book\",\"id\":\"" ID "\",\"author_id\":null}", "author_id is null");
    rejects(BOOK ",\"title\":\"\"}", "title is empty");
    rejects(BOOK ",\"title\":null}", "title is null");
    static const char *const bad_times[] = {"\"2026-02-30T00:00:00Z\"",
                                            "\"2026-01-01T00:00:00\"",
                                            "\"2026-01-01\"",
                                            "\"2026-01-01T00:00:00+00:00\"",
                                            "\"2026-01-01 00:00:00Z\"",
                                            "\"1969-12-31T23:59:59Z\"",
                                            "\"2026-01-01T24:00:00Z\"",
                                            "\"2026-01-01T00:00:60Z\"",
                                            "1767225600",
                                            "\"\"",
                                            "[]",
                                            "\"2026-01-01T00:00:00.Z\""};
    for (size_t i = 0; i < sizeof bad_times / sizeof bad_times[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, BOOK ",\"created_at\":%s}", bad_times[i]);
        rejects(line, "created_at is not a UTC time like 2026-06-15T12:00:00Z");
    }
    rejects(BOOK ",\"created_at\":null}", "created_at is null");
}

static void parses_videos_with_posts(void **state)
{
    (void)state;
    accepts(VIDEO ",\"book_id\":null,\"title\":null,\"thumbnail_url\":null}");
    assert_int_equal(record.video.book_id.given, GIVEN_NULL);
    assert_int_equal(record.video.title.given, GIVEN_NULL);
    assert_int_equal(record.video.thumbnail_url.given, GIVEN_NULL);
    assert_int_equal(record.video.post_count, 0);
    accepts(VIDEO ",\"posts\":[{\"platform\":\"pinterest\",\"post_id\":\"7\",\"url\":\"http://h/"
                  "\",\"posted_at\":\"2026-07-01T00:00:00Z\"},"
                  "{\"platform\":\"tiktok\",\"url\":null,\"more\":1}]}");
    assert_int_equal(record.video.post_count, 2);
    assert_int_equal(record.video.posts[0].platform.platform, PLATFORM_PINTEREST);
    assert_true(str_eq(record.video.posts[0].post_id.text, STR("7")));
    assert_int_equal(record.video.posts[1].url.given, GIVEN_NULL);
    assert_int_equal(record.video.posts[1].post_id.given, GIVEN_NOT);
    accepts(VIDEO ",\"posts\":[]}");
    rejects(VIDEO ",\"posts\":null}", "posts is not a list");
    rejects(VIDEO ",\"posts\":{}}", "posts is not a list");
    rejects(VIDEO ",\"posts\":[1]}", "posts[0] is not an object");
    rejects(VIDEO ",\"posts\":[{}]}", "posts[0].platform is missing");
    rejects(VIDEO ",\"posts\":[{\"platform\":\"vimeo\"}]}",
            "posts[0].platform is not one of: tiktok instagram youtube facebook pinterest");
    rejects(VIDEO ",\"posts\":[{\"platform\":\"youtube\"},{\"platform\":\"youtube\"}]}",
            "posts[1].platform is the same as in an earlier post");
    rejects(VIDEO ",\"posts\":[{\"platform\":\"youtube\",\"platform\":\"tiktok\"}]}",
            "posts[0].platform is given twice");
    rejects(VIDEO ",\"posts\":[{\"platform\":\"youtube\",\"post_id\":\"\"}]}", "posts[0].post_id is empty");
    rejects(VIDEO ",\"posts\":[{\"platform\":\"youtube\",\"post_id\":12}]}",
            "posts[0].post_id is not a string");
    rejects(VIDEO ",\"posts\":[{\"platform\":\"youtube\",\"posted_at\":null}]}",
            "posts[0].posted_at is null");
    rejects(VIDEO ",\"posts\":[],\"posts\":[]}", "posts is given twice");
    /* An error after the list is not attributed to a post. */
    rejects(VIDEO ",\"posts\":[{\"platform\":\"youtube\"}],\"title\":\"\"}", "title is empty");
    /* A sixth post must repeat a platform, however many follow. */
    rejects(
        VIDEO
        ",\"posts\":[{\"platform\":\"youtube\"},{\"platform\":\"tiktok\"},{\"platform\":\"facebook\"},{"
        "\"platform\":"
        "\"instagram\"},{\"platform\":\"pinterest\"},{\"platform\":\"tiktok\"},{\"platform\":\"tiktok\"}]}",
        "posts[5].platform is the same as in an earlier post");
    static const char *const bad_urls[] = {
        "ftp://x/",         "https://",  "//x", "javascript:alert(1)", "https://a b", "https://a\\n",
        "https://a\\u007f", "HTTPS://x", ""};
    for (size_t i = 0; i < sizeof bad_urls / sizeof bad_urls[0]; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, VIDEO ",\"thumbnail_url\":\"%s\"}", bad_urls[i]);
        rejects(line, "thumbnail_url is not an http or https URL");
    }
}

static void parses_readings(void **state)
{
    (void)state;
    accepts(READ ",\"views\":9007199254740991,\"likes\":0,\"comments\":null,\"saves\":-0,\"baseline\":true}");
    const struct reading_record *r = &record.reading;
    assert_int_equal(record.kind, RECORD_READING);
    assert_int_equal(r->platform.platform, PLATFORM_YOUTUBE);
    assert_int_equal(r->observed_at.time_ms, at("2026-07-01T00:00:00Z"));
    assert_int_equal(r->counts[COUNT_VIEWS].count, COUNT_MAX);
    assert_int_equal(r->counts[COUNT_LIKES].given, GIVEN_VALUE);
    assert_int_equal(r->counts[COUNT_LIKES].count, 0);
    assert_int_equal(r->counts[COUNT_COMMENTS].given, GIVEN_NULL);
    assert_int_equal(r->counts[COUNT_SHARES].given, GIVEN_NOT);
    assert_int_equal(r->counts[COUNT_SAVES].count, 0);
    assert_true(r->baseline.flag);
    accepts(READ "}");
    assert_int_equal(record.reading.baseline.given, GIVEN_NOT);
    rejects(READ ",\"platform\":\"youtube\"}", "platform is given twice");
    rejects("{\"type\":\"reading\",\"platform\":\"youtube\",\"post_id\":\"p\"}", "observed_at is missing");
    rejects("{\"type\":\"reading\",\"platform\":\"youtube\",\"observed_at\":\"2026-07-01T00:00:00Z\"}",
            "post_id is missing");
    rejects("{\"type\":\"reading\",\"post_id\":\"p\",\"observed_at\":\"2026-07-01T00:00:00Z\"}",
            "platform is missing");
    rejects(READ ",\"baseline\":\"yes\"}", "baseline is not true or false");
}

static void accepts_exact_counts_only(void **state)
{
    (void)state;
    static const char *const names[] = {"views", "likes", "comments", "shares", "saves"};
    static const struct {
        const char *value, *reason;
    } cases[] = {
        {"-1", "is negative"},
        {"-99999999999999999999999999", "is negative"},
        {"1.5", "is not an integer"},
        {"1.0", "is not an integer"},
        {"1e3", "is not an integer"},
        {"-1.5", "is not an integer"},
        {"1e999", "is not an integer"},
        {"\"12\"", "is not an integer"},
        {"true", "is not an integer"},
        {"[1]", "is not an integer"},
        {"{}", "is not an integer"},
        {"9007199254740992", "is too large"},
        {"18446744073709551616", "is too large"},
        {"100000000000000000000000000000000000000000000", "is too large"},
    };
    for (size_t n = 0; n < COUNT_KINDS; n++)
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            char line[256], reason[64];
            (void)snprintf(line, sizeof line, READ ",\"%s\":%s}", names[n], cases[c].value);
            (void)snprintf(reason, sizeof reason, "%s %s", names[n], cases[c].reason);
            rejects(line, reason);
        }
}

static void rejects_unknown_types(void **state)
{
    (void)state;
    rejects("{}", "type is missing");
    rejects("{\"type\":7}", "type is not a string");
    rejects("{\"type\":null}", "type is not a string");
    rejects("{\"type\":\"Author\"}", "type is not one of author, book, video, reading");
    rejects("{\"type\":\"\"}", "type is not one of author, book, video, reading");
    rejects("[]", "not a JSON object");
    rejects("null", "not a JSON object");
    rejects("\"x\"", "not a JSON object");
    rejects("12", "not a JSON object");
}

static void rejects_unknown_fields(void **state)
{
    (void)state;
    struct record_parser *lenient = parser;
    parser = record_parser_new(UNKNOWN_FIELDS_REJECTED);
    rejects(AUTHOR ",\"plan\":true}", "plan is not a field of an author (did you mean plan_active?)");
    rejects(AUTHOR ",\"views\":1}", "views is not a field of an author");
    rejects(READ ",\"vews\":1}", "vews is not a field of a reading (did you mean views?)");
    rejects("{\"type\":\"reading\",\"post\":1}", "post is not a field of a reading (did you mean post_id?)");
    record_parser_free(parser);
    parser = lenient;
}

static void unknown_fields_are_ignored_and_reported_on_request(void **state)
{
    (void)state;
    struct str why;
    assert_true(parse(STR(AUTHOR ",\"plan\":{\"a\":[1]},\"name\":\"Ann\",\"x\":2}"), &why));
    assert_true(str_eq(record.author.name.text, STR("Ann")));
    assert_int_equal(record.author.plan_active.given, GIVEN_NOT);
    assert_true(str_eq(record_unknown_field(parser),
                       STR("plan is not a field of an author (did you mean plan_active?)")));
    assert_true(parse(STR(AUTHOR "}"), &why));
    assert_null(record_unknown_field(parser).p);
    assert_false(parse(STR(AUTHOR ",\"plan\":1,\"name\":2}"), &why));
    assert_true(str_eq(why, STR("name is not a string")));
}

static void rejects_invalid_json(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{",
        "}",
        AUTHOR,
        AUTHOR ",}",
        AUTHOR "}}",
        AUTHOR "} {}",
        AUTHOR "} x",
        AUTHOR ",\"name\":'x'}",
        AUTHOR ",\"name\":\"tab\tinside\"}",
        AUTHOR ",\"name\":\"bad \\x escape\"}",
        AUTHOR ",\"name\":\"\\ud800\"}",
        AUTHOR ",\"name\":\"\\udc00\\ud800\"}",
        AUTHOR ",\"name\":\"\xff\"}",
        AUTHOR ",\"name\":\"\xc0\x80\"}",
        AUTHOR ",\"name\":\"\xed\xa0\x80\"}",
        AUTHOR ",\"name\":\"\xf4\x90\x80\x80\"}",
        AUTHOR ",\"name\":\"\xe2\x82\"}",
        AUTHOR ",\"name\":tru}",
        AUTHOR ",\"x\":01}",
        AUTHOR ",\"x\":+1}",
        AUTHOR ",\"x\":1.}",
        AUTHOR ",\"x\":NaN}",
        "// comment",
        "\xEF\xBB\xBF" AUTHOR "}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        rejects_json(lines[i]);
    rejects("{\"type\":\"auth", "not valid JSON: the line ends too early");
    struct str why;
    assert_false(parse(str_make(AUTHOR "\0}", sizeof AUTHOR "\0}" - 1), &why));
}

static void rejects_every_truncated_line(void **state)
{
    (void)state;
    const char *line =
        VIDEO ",\"title\":\"\\u00e9\\\"\",\"posts\":[{\"platform\":\"youtube\",\"post_id\":\"x\"}]}";
    struct str why;
    for (size_t n = 0; n < strlen(line); n++)
        assert_false(parse(str_make(line, n), &why));
    assert_true(parse(str_from_cstr(line), &why));
}

/* Parses lines of the maximum length, one of them with the deepest possible nesting. */
static void parses_lines_up_to_1_mib(void **state)
{
    (void)state;
    char *line = malloc(RECORD_LINE_MAX);
    struct str why;
    memset(line, '[', RECORD_LINE_MAX);
    assert_false(parse(str_make(line, RECORD_LINE_MAX), &why));
    size_t head = strlen(AUTHOR ",\"x\":[0");
    memcpy(line, AUTHOR ",\"x\":[0", head);
    for (size_t i = head; i + 1 < RECORD_LINE_MAX; i += 2)
        memcpy(line + i, ",0", 2);
    memcpy(line + RECORD_LINE_MAX - 2, "]}", 2);
    if (line[RECORD_LINE_MAX - 3] == ',')
        line[RECORD_LINE_MAX - 3] = ' ';
    assert_true(parse(str_make(line, RECORD_LINE_MAX), &why));
    free(line);
}

/* The texts belong to the parser, so the line may be freed or overwritten after the call. */
static void texts_stay_valid_after_the_line_is_overwritten(void **state)
{
    (void)state;
    char line[] = AUTHOR ",\"name\":\"Ann\"}";
    struct str why;
    assert_true(record_parse(parser, str_from_cstr(line), &record, &why));
    memset(line, '#', sizeof line);
    assert_true(str_eq(record.author.name.text, STR("Ann")));
}

static void recognizes_blank_lines(void **state)
{
    (void)state;
    assert_true(record_is_blank(STR("")));
    assert_true(record_is_blank(STR(" \t\r")));
    assert_false(record_is_blank(STR(" x ")));
    assert_false(record_is_blank(STR("\v")));
}

static int open_parser(void **state)
{
    (void)state;
    parser = record_parser_new(UNKNOWN_FIELDS_IGNORED);
    return 0;
}

static int close_parser(void **state)
{
    (void)state;
    record_parser_free(parser);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_authors),
        cmocka_unit_test(rejects_texts_beyond_the_limits),
        cmocka_unit_test(parses_books),
        cmocka_unit_test(parses_videos_with_posts),
        cmocka_unit_test(parses_readings),
        cmocka_unit_test(accepts_exact_counts_only),
        cmocka_unit_test(rejects_unknown_types),
        cmocka_unit_test(rejects_unknown_fields),
        cmocka_unit_test(unknown_fields_are_ignored_and_reported_on_request),
        cmocka_unit_test(rejects_invalid_json),
        cmocka_unit_test(rejects_every_truncated_line),
        cmocka_unit_test(parses_lines_up_to_1_mib),
        cmocka_unit_test(texts_stay_valid_after_the_line_is_overwritten),
        cmocka_unit_test(recognizes_blank_lines),
    };
    return cmocka_run_group_tests(tests, open_parser, close_parser);
}
