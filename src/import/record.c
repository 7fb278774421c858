/* Parses the kinds of lines that may occur outside of exports, each with its table of fields. */
#include "import/record.h"

#include "base/check.h"
#include "import/object_parser.h"

#include <stdlib.h>

/* More than the number of platforms, so that a list with too many posts is rejected with the more helpful
 * reason that a post repeats a platform. */
enum { POSTS_MAX = 100 };

static const struct field_rule author_rules[] = {
    {.name = "type", .type = FIELD_TYPE, .required = true},
    FIELD("id", FIELD_ID, author_record, id, .required = true),
    FIELD("name", FIELD_TEXT, author_record, name, .min_len = 1, .max_len = OBJECT_TEXT_MAX),
    FIELD("plan_active", FIELD_FLAG, author_record, plan_active),
    {0},
};

static const struct field_rule book_rules[] = {
    {.name = "type", .type = FIELD_TYPE, .required = true},
    FIELD("id", FIELD_ID, book_record, id, .required = true),
    FIELD("author_id", FIELD_ID, book_record, author_id),
    FIELD("title", FIELD_TEXT, book_record, title, .min_len = 1, .max_len = OBJECT_TEXT_MAX),
    FIELD("subtitle", FIELD_TEXT, book_record, subtitle, .nullable = true, .max_len = OBJECT_TEXT_MAX),
    FIELD("created_at", FIELD_TIME, book_record, created_at),
    {0},
};

static const struct field_rule post_rules[] = {
    FIELD("platform", FIELD_PLATFORM, post_record, platform, .required = true),
    FIELD("post_id", FIELD_TEXT, post_record, post_id, .min_len = 1, .max_len = OBJECT_POST_ID_MAX),
    FIELD("url", FIELD_URL, post_record, url, .nullable = true),
    FIELD("posted_at", FIELD_TIME, post_record, posted_at),
    {0},
};

static const struct list_rule post_list = {
    {"post", "a post", post_rules}, sizeof(struct post_record), POSTS_MAX};

static const struct field_rule video_rules[] = {
    {.name = "type", .type = FIELD_TYPE, .required = true},
    FIELD("id", FIELD_ID, video_record, id, .required = true),
    FIELD("author_id", FIELD_ID, video_record, author_id),
    FIELD("book_id", FIELD_ID, video_record, book_id, .nullable = true),
    FIELD("title", FIELD_TEXT, video_record, title, .nullable = true, .min_len = 1,
          .max_len = OBJECT_TEXT_MAX),
    FIELD("thumbnail_url", FIELD_URL, video_record, thumbnail_url, .nullable = true),
    FIELD("posts", FIELD_LIST, video_record, post_list, .list = &post_list),
    {0},
};

static const struct field_rule reading_rules[] = {
    {.name = "type", .type = FIELD_TYPE, .required = true},
    FIELD("platform", FIELD_PLATFORM, reading_record, platform, .required = true),
    FIELD("post_id", FIELD_TEXT, reading_record, post_id, .required = true, .min_len = 1,
          .max_len = OBJECT_POST_ID_MAX),
    FIELD("observed_at", FIELD_TIME, reading_record, observed_at, .required = true),
    FIELD("views", FIELD_COUNT, reading_record, counts[COUNT_VIEWS], .nullable = true),
    FIELD("likes", FIELD_COUNT, reading_record, counts[COUNT_LIKES], .nullable = true),
    FIELD("comments", FIELD_COUNT, reading_record, counts[COUNT_COMMENTS], .nullable = true),
    FIELD("shares", FIELD_COUNT, reading_record, counts[COUNT_SHARES], .nullable = true),
    FIELD("saves", FIELD_COUNT, reading_record, counts[COUNT_SAVES], .nullable = true),
    FIELD("baseline", FIELD_FLAG, reading_record, baseline),
    {0},
};

static const struct object_kind kinds[RECORD_KINDS] = {
    [RECORD_AUTHOR] = {"author", "an author", author_rules},
    [RECORD_BOOK] = {"book", "a book", book_rules},
    [RECORD_VIDEO] = {"video", "a video", video_rules},
    [RECORD_READING] = {"reading", "a reading", reading_rules},
};

struct record_parser {
    struct object_parser object;
};

struct record_parser *record_parser_new(enum unknown_fields policy)
{
    struct record_parser *p = xcalloc(1, sizeof *p);
    object_parser_init(&p->object, policy);
    return p;
}

void record_parser_free(struct record_parser *p)
{
    if (!p)
        return;
    object_parser_fini(&p->object);
    free(p);
}

bool record_is_blank(struct str line)
{
    size_t i = 0;
    while (i < line.len && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\r' || line.p[i] == '\n'))
        i++;
    return i == line.len;
}

/* Copies the posts from the parsed list to the array of the record. The array cannot overflow, because each
 * platform occurs at most once. */
static bool copy_posts(struct object_parser *p, struct video_record *video)
{
    const struct post_record *posts = video->post_list.items;
    for (size_t i = 0; i < video->post_list.count; i++) {
        for (size_t k = 0; k < i; k++)
            if (posts[k].platform.platform == posts[i].platform.platform)
                return object_parser_reject(p, "posts[%zu].platform is the same as in an earlier post", i);
        video->posts[video->post_count++] = posts[i];
    }
    return true;
}

static const char *const only_in_exports[] = {"app", "key", "state", "gains", "event", "end"};

static bool parse_kind(struct object_parser *p, yyjson_val *root, enum record_kind *out)
{
    yyjson_val *type = yyjson_obj_get(root, "type");
    if (!type)
        return object_parser_reject(p, "type is missing");
    if (!yyjson_is_str(type))
        return object_parser_reject(p, "type is not a string");
    for (int k = 0; k < RECORD_KINDS; k++)
        if (yyjson_equals_str(type, kinds[k].name)) {
            *out = (enum record_kind)k;
            return true;
        }
    for (size_t i = 0; i < sizeof only_in_exports / sizeof only_in_exports[0]; i++)
        if (yyjson_equals_str(type, only_in_exports[i]))
            return object_parser_reject(
                p, "a line of this type is only valid within an export: import the unchanged output of "
                   "viewtally author export");
    return object_parser_reject(p, "type is not one of author, book, video, reading");
}

static bool parse_line(struct object_parser *p, struct str line, struct record *out)
{
    yyjson_val *root = object_parser_read(p, line);
    return root && parse_kind(p, root, &out->kind) &&
           object_parser_parse(p, root, &kinds[out->kind], &out->author) &&
           (out->kind != RECORD_VIDEO || copy_posts(p, &out->video));
}

bool record_parse(struct record_parser *p, struct str line, struct record *out, struct str *why)
{
    memset(out, 0, sizeof *out);
    if (parse_line(&p->object, line, out))
        return true;
    *why = str_from_cstr(p->object.why);
    return false;
}

struct str record_unknown_field(const struct record_parser *p)
{
    return p->object.has_unknown ? str_from_cstr(p->object.unknown) : (struct str){NULL, 0};
}
