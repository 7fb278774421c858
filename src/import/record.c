/* Parses lines with yyjson. A table per kind of record lists the fields with their types and members; one
 * loop parses an object by its table. Numbers are read as raw text, so that counts of any size are checked
 * exactly.
 *
 * yyjson rejects ill-formed UTF-8 and lone surrogates, and does not recurse on nested input. */
#include "import/record.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <yyjson.h>

enum {
    TEXT_MAX = 2000,
    URL_MAX = 2048,
    POST_ID_MAX = 255,
    POOL_LINE_MAX = 4096, /* a line up to this length is parsed without an allocation */
    WHY_MAX = 200,
};

enum field_type {
    FIELD_TYPE,
    FIELD_ID,
    FIELD_TEXT,
    FIELD_URL,
    FIELD_TIME,
    FIELD_FLAG,
    FIELD_COUNT,
    FIELD_PLATFORM,
    FIELD_POSTS
};

struct field_rule {
    const char *name;
    enum field_type type;
    size_t offset; /* of its struct field in the record */
    bool required, nullable;
    size_t min_len, max_len; /* of FIELD_TEXT, in bytes */
};

#define AT(type, member) offsetof(struct type, member)
#define NO_OFFSET        0

static const struct field_rule author_rules[] = {
    {"type", FIELD_TYPE, NO_OFFSET, true, false, 0, 0},
    {"id", FIELD_ID, AT(author_record, id), true, false, 0, 0},
    {"name", FIELD_TEXT, AT(author_record, name), false, false, 1, TEXT_MAX},
    {"plan_active", FIELD_FLAG, AT(author_record, plan_active), false, false, 0, 0},
    {0},
};

static const struct field_rule book_rules[] = {
    {"type", FIELD_TYPE, NO_OFFSET, true, false, 0, 0},
    {"id", FIELD_ID, AT(book_record, id), true, false, 0, 0},
    {"author_id", FIELD_ID, AT(book_record, author_id), false, false, 0, 0},
    {"title", FIELD_TEXT, AT(book_record, title), false, false, 1, TEXT_MAX},
    {"subtitle", FIELD_TEXT, AT(book_record, subtitle), false, true, 0, TEXT_MAX},
    {"created_at", FIELD_TIME, AT(book_record, created_at), false, false, 0, 0},
    {0},
};

static const struct field_rule video_rules[] = {
    {"type", FIELD_TYPE, NO_OFFSET, true, false, 0, 0},
    {"id", FIELD_ID, AT(video_record, id), true, false, 0, 0},
    {"author_id", FIELD_ID, AT(video_record, author_id), false, false, 0, 0},
    {"book_id", FIELD_ID, AT(video_record, book_id), false, true, 0, 0},
    {"title", FIELD_TEXT, AT(video_record, title), false, true, 1, TEXT_MAX},
    {"thumbnail_url", FIELD_URL, AT(video_record, thumbnail_url), false, true, 0, 0},
    {"posts", FIELD_POSTS, NO_OFFSET, false, false, 0, 0},
    {0},
};

static const struct field_rule post_rules[] = {
    {"platform", FIELD_PLATFORM, AT(post_record, platform), true, false, 0, 0},
    {"post_id", FIELD_TEXT, AT(post_record, post_id), false, false, 1, POST_ID_MAX},
    {"url", FIELD_URL, AT(post_record, url), false, true, 0, 0},
    {"posted_at", FIELD_TIME, AT(post_record, posted_at), false, false, 0, 0},
    {0},
};

static const struct field_rule reading_rules[] = {
    {"type", FIELD_TYPE, NO_OFFSET, true, false, 0, 0},
    {"platform", FIELD_PLATFORM, AT(reading_record, platform), true, false, 0, 0},
    {"post_id", FIELD_TEXT, AT(reading_record, post_id), true, false, 1, POST_ID_MAX},
    {"observed_at", FIELD_TIME, AT(reading_record, observed_at), true, false, 0, 0},
    {"views", FIELD_COUNT, AT(reading_record, counts[COUNT_VIEWS]), false, true, 0, 0},
    {"likes", FIELD_COUNT, AT(reading_record, counts[COUNT_LIKES]), false, true, 0, 0},
    {"comments", FIELD_COUNT, AT(reading_record, counts[COUNT_COMMENTS]), false, true, 0, 0},
    {"shares", FIELD_COUNT, AT(reading_record, counts[COUNT_SHARES]), false, true, 0, 0},
    {"saves", FIELD_COUNT, AT(reading_record, counts[COUNT_SAVES]), false, true, 0, 0},
    {"baseline", FIELD_FLAG, AT(reading_record, baseline), false, false, 0, 0},
    {0},
};

static const struct {
    const char *name;
    const struct field_rule *rules;
} kinds[RECORD_KINDS] = {
    [RECORD_AUTHOR] = {"author", author_rules},
    [RECORD_BOOK] = {"book", book_rules},
    [RECORD_VIDEO] = {"video", video_rules},
    [RECORD_READING] = {"reading", reading_rules},
};

struct record_parser {
    yyjson_doc *doc; /* the document of the last line; texts of the record point into it */
    void *pool;
    size_t pool_size;
    int post; /* index of the post that is being read, for messages; -1 if none */
    char why[WHY_MAX];
};

struct record_parser *record_parser_new(void)
{
    struct record_parser *p = xcalloc(1, sizeof *p);
    p->pool_size = yyjson_read_max_memory_usage(POOL_LINE_MAX, YYJSON_READ_NUMBER_AS_RAW);
    p->pool = xmalloc(p->pool_size);
    return p;
}

void record_parser_free(struct record_parser *p)
{
    if (!p)
        return;
    yyjson_doc_free(p->doc);
    free(p->pool);
    free(p);
}

bool record_is_blank(struct str line)
{
    size_t i = 0;
    while (i < line.len && (line.p[i] == ' ' || line.p[i] == '\t' || line.p[i] == '\r' || line.p[i] == '\n'))
        i++;
    return i == line.len;
}

static __attribute__((format(printf, 2, 3))) bool reject(struct record_parser *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(p->why, sizeof p->why, fmt, ap);
    va_end(ap);
    return false;
}

/* Sets the reason to "FIELD problem", or to "posts[INDEX].FIELD problem" for a field of a post. */
static bool reject_field(struct record_parser *p, const char *field, const char *problem)
{
    if (p->post >= 0)
        return reject(p, "posts[%d].%s %s", p->post, field, problem);
    return reject(p, "%s %s", field, problem);
}

static bool parse_text(struct record_parser *p, const struct field_rule *rule, yyjson_val *v,
                       struct field *out)
{
    if (!yyjson_is_str(v))
        return reject_field(p, rule->name, "is not a string");
    struct str s = str_make(yyjson_get_str(v), yyjson_get_len(v));
    if (s.len < rule->min_len)
        return reject_field(p, rule->name, "is empty");
    if (s.len > rule->max_len) {
        char problem[64];
        (void)snprintf(problem, sizeof problem, "is longer than %zu bytes", rule->max_len);
        return reject_field(p, rule->name, problem);
    }
    if (memchr(s.p, '\0', s.len))
        return reject_field(p, rule->name, "contains U+0000");
    out->text = s;
    return true;
}

static bool is_url(struct str s)
{
    struct str scheme = str_starts_with(s, STR("https://")) ? STR("https://") : STR("http://");
    if (!str_starts_with(s, scheme) || s.len == scheme.len)
        return false;
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7F)
            return false;
    return true;
}

static bool parse_url(struct record_parser *p, const struct field_rule *rule, yyjson_val *v,
                      struct field *out)
{
    const struct field_rule text = {.name = rule->name, .max_len = URL_MAX};
    if (!parse_text(p, &text, v, out))
        return false;
    return is_url(out->text) || reject_field(p, rule->name, "is not an http or https URL");
}

static bool parse_id(struct record_parser *p, const struct field_rule *rule, yyjson_val *v, struct field *out)
{
    struct uuid id;
    if (!yyjson_is_str(v) || !uuid_parse(str_make(yyjson_get_str(v), yyjson_get_len(v)), &id))
        return reject_field(p, rule->name, "is not a UUID");
    out->id = id;
    return true;
}

static bool parse_time(struct record_parser *p, const struct field_rule *rule, yyjson_val *v,
                       struct field *out)
{
    if (!yyjson_is_str(v) || !time_parse(str_make(yyjson_get_str(v), yyjson_get_len(v)), &out->time_ms))
        return reject_field(p, rule->name, "is not a UTC time like 2026-06-15T12:00:00Z");
    return true;
}

static bool parse_flag(struct record_parser *p, const struct field_rule *rule, yyjson_val *v,
                       struct field *out)
{
    if (!yyjson_is_bool(v))
        return reject_field(p, rule->name, "is not true or false");
    out->flag = yyjson_get_bool(v);
    return true;
}

static bool parse_platform(struct record_parser *p, const struct field_rule *rule, yyjson_val *v,
                           struct field *out)
{
    if (!yyjson_is_str(v) || !platform_parse(str_make(yyjson_get_str(v), yyjson_get_len(v)), &out->platform))
        return reject_field(p, rule->name, "is not one of:" PLATFORM_NAMES);
    return true;
}

/* The raw text is a valid JSON number; it is an integer if it has no fraction and no exponent. */
static bool parse_count(struct record_parser *p, const struct field_rule *rule, yyjson_val *v,
                        struct field *out)
{
    if (!yyjson_is_raw(v))
        return reject_field(p, rule->name, "is not an integer");
    struct str digits = str_make(yyjson_get_raw(v), yyjson_get_len(v));
    for (size_t i = 0; i < digits.len; i++)
        if (digits.p[i] == '.' || digits.p[i] == 'e' || digits.p[i] == 'E')
            return reject_field(p, rule->name, "is not an integer");
    unsigned long long n;
    if (str_eq(digits, STR("-0")))
        n = 0;
    else if (digits.p[0] == '-')
        return reject_field(p, rule->name, "is negative");
    else if (!str_to_u64(digits, COUNT_MAX, &n))
        return reject_field(p, rule->name, "is too large");
    out->count = (int64_t)n;
    return true;
}

static bool parse_posts(struct record_parser *p, yyjson_val *v, struct video_record *video);

static bool parse_value(struct record_parser *p, const struct field_rule *rule, yyjson_val *v, void *out)
{
    struct field *field = (struct field *)(void *)((char *)out + rule->offset);
    if (rule->type == FIELD_TYPE)
        return true; /* parsed by parse_kind() */
    if (rule->type == FIELD_POSTS)
        return parse_posts(p, v, out);
    if (yyjson_is_null(v) && rule->nullable) {
        field->given = GIVEN_NULL;
        return true;
    }
    if (yyjson_is_null(v))
        return reject_field(p, rule->name, "is null");
    field->given = GIVEN_VALUE;
    switch (rule->type) {
    case FIELD_ID: return parse_id(p, rule, v, field);
    case FIELD_TEXT: return parse_text(p, rule, v, field);
    case FIELD_URL: return parse_url(p, rule, v, field);
    case FIELD_TIME: return parse_time(p, rule, v, field);
    case FIELD_FLAG: return parse_flag(p, rule, v, field);
    case FIELD_COUNT: return parse_count(p, rule, v, field);
    case FIELD_PLATFORM: return parse_platform(p, rule, v, field);
    case FIELD_TYPE:
    case FIELD_POSTS: break;
    }
    return false;
}

static int find_rule(const struct field_rule *rules, struct str name)
{
    for (int i = 0; rules[i].name; i++)
        if (str_eq(name, str_from_cstr(rules[i].name)))
            return i;
    return -1;
}

/* Parses the fields of `object` by `rules` into the record at `out`. */
static bool parse_object(struct record_parser *p, yyjson_val *object, const struct field_rule *rules,
                         void *out)
{
    unsigned seen = 0;
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(object, i, n, key, value)
    {
        int r = find_rule(rules, str_make(yyjson_get_str(key), yyjson_get_len(key)));
        if (r < 0)
            continue;
        if (seen & 1u << r)
            return reject_field(p, rules[r].name, "is given twice");
        seen |= 1u << r;
        if (!parse_value(p, &rules[r], value, out))
            return false;
    }
    for (int r = 0; rules[r].name; r++)
        if (rules[r].required && !(seen & 1u << r))
            return reject_field(p, rules[r].name, "is missing");
    return true;
}

static bool parse_post(struct record_parser *p, yyjson_val *v, struct video_record *video)
{
    if (!yyjson_is_obj(v))
        return reject(p, "posts[%d] is not an object", p->post);
    /* The array cannot overflow: each platform occurs at most once. */
    struct post_record post = {0};
    if (!parse_object(p, v, post_rules, &post))
        return false;
    for (size_t i = 0; i < video->post_count; i++)
        if (video->posts[i].platform.platform == post.platform.platform)
            return reject_field(p, "platform", "repeats that of an earlier post");
    CHECK(video->post_count < PLATFORM_COUNT);
    video->posts[video->post_count++] = post;
    return true;
}

static bool parse_posts(struct record_parser *p, yyjson_val *v, struct video_record *video)
{
    size_t i, n;
    yyjson_val *post;
    if (!yyjson_is_arr(v))
        return reject_field(p, "posts", "is not a list");
    yyjson_arr_foreach(v, i, n, post)
    {
        p->post = (int)i;
        if (!parse_post(p, post, video))
            return false;
    }
    p->post = -1;
    return true;
}

static bool parse_kind(struct record_parser *p, yyjson_val *root, enum record_kind *out)
{
    yyjson_val *type = yyjson_obj_get(root, "type");
    if (!type)
        return reject(p, "type is missing");
    if (!yyjson_is_str(type))
        return reject(p, "type is not a string");
    for (int k = 0; k < RECORD_KINDS; k++)
        if (yyjson_equals_str(type, kinds[k].name)) {
            *out = (enum record_kind)k;
            return true;
        }
    return reject(p, "type is not one of author, book, video, reading");
}

static bool read_json(struct record_parser *p, struct str line)
{
    yyjson_alc pool;
    yyjson_read_err err;
    /* The old document may be in the pool: free it before the pool is reused. */
    yyjson_doc_free(p->doc);
    bool pooled = line.len <= POOL_LINE_MAX && yyjson_alc_pool_init(&pool, p->pool, p->pool_size);
    /* Without YYJSON_READ_INSITU yyjson copies the text; its parameter only lacks the const. */
    p->doc = yyjson_read_opts((char *)(uintptr_t)line.p, line.len, YYJSON_READ_NUMBER_AS_RAW,
                              pooled ? &pool : NULL, &err);
    if (p->doc)
        return true;
    CHECK(err.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION); /* sizes are bounded by RECORD_LINE_MAX */
    if (err.code == YYJSON_READ_ERROR_UNEXPECTED_END)
        return reject(p, "not valid JSON: the line ends too early");
    return reject(p, "not valid JSON: %s at byte %zu", err.msg, err.pos + 1);
}

static bool parse_line(struct record_parser *p, struct str line, struct record *out)
{
    p->post = -1;
    if (!read_json(p, line))
        return false;
    yyjson_val *root = yyjson_doc_get_root(p->doc);
    if (!yyjson_is_obj(root))
        return reject(p, "not a JSON object");
    return parse_kind(p, root, &out->kind) && parse_object(p, root, kinds[out->kind].rules, &out->author);
}

bool record_parse(struct record_parser *p, struct str line, struct record *out, struct str *why)
{
    CHECK(line.len <= RECORD_LINE_MAX);
    memset(out, 0, sizeof *out);
    if (parse_line(p, line, out))
        return true;
    *why = str_from_cstr(p->why);
    return false;
}
