/* Parses arbitrary bytes as an import line and as a line of an export. Checks that a parsed record
 * satisfies the contract of record.h. */
#include "import/export_record.h"
#include "import/record.h"

#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct field *f, size_t max)
{
    if (f->given != GIVEN_VALUE)
        return;
    CHECK(f->text.p && f->text.len <= max);
    CHECK(str_is_utf8(f->text) && !memchr(f->text.p, '\0', f->text.len));
}

static void check_video(const struct video_record *v)
{
    unsigned seen = 0;
    CHECK(v->id.given == GIVEN_VALUE);
    CHECK(v->post_count <= PLATFORM_COUNT);
    check_text(&v->title, 2000);
    check_text(&v->thumbnail_url, 2048);
    for (size_t i = 0; i < v->post_count; i++) {
        CHECK(v->posts[i].platform.given == GIVEN_VALUE);
        CHECK(!(seen & 1u << v->posts[i].platform.platform));
        seen |= 1u << v->posts[i].platform.platform;
        check_text(&v->posts[i].post_id, 255);
        check_text(&v->posts[i].url, 2048);
    }
}

static void check_reading(const struct reading_record *r)
{
    CHECK(r->platform.given == GIVEN_VALUE && r->platform.platform < PLATFORM_COUNT);
    CHECK(r->observed_at.given == GIVEN_VALUE && r->observed_at.time_ms >= 0);
    CHECK(r->post_id.given == GIVEN_VALUE && r->post_id.text.len > 0);
    check_text(&r->post_id, 255);
    for (int i = 0; i < COUNT_KINDS; i++)
        if (r->counts[i].given == GIVEN_VALUE)
            CHECK(r->counts[i].count >= 0 && r->counts[i].count <= COUNT_MAX);
}

static void check_record(const struct record *r)
{
    switch (r->kind) {
    case RECORD_AUTHOR: check_text(&r->author.name, 2000); break;
    case RECORD_BOOK:
        check_text(&r->book.title, 2000);
        check_text(&r->book.subtitle, 2000);
        break;
    case RECORD_VIDEO: check_video(&r->video); break;
    case RECORD_READING: check_reading(&r->reading); break;
    }
}

static void parse_as_export_line(struct str line)
{
    static struct export_parser *parser;
    struct export_record record;
    struct str why;
    if (!parser)
        parser = export_parser_new();
    if (!export_record_parse(parser, line, &record, &why))
        CHECK(why.len > 0 && str_is_utf8(why));
    else if (record.kind == EXPORT_STATE)
        CHECK(record.state.posts.count <= PLATFORM_COUNT && record.state.milestones.count <= MILESTONES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Shared by all inputs, to detect state that leaks from one line to the next. */
    static struct record_parser *parser;
    struct record record;
    struct str why, line = str_make((const char *)data, size);
    if (!parser)
        parser = record_parser_new(UNKNOWN_FIELDS_IGNORED);
    if (size > RECORD_LINE_MAX || record_is_blank(line))
        return 0;
    parse_as_export_line(line);
    if (record_parse(parser, line, &record, &why)) {
        check_record(&record);
        const struct str unknown = record_unknown_field(parser);
        CHECK(!unknown.p || str_is_utf8(unknown));
    } else {
        CHECK(why.len > 0 && str_is_utf8(why));
    }
    return 0;
}
