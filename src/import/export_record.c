/* Parses each type of line of an export with its own table of fields. */
#include "import/export_record.h"

#include "base/check.h"
#include "import/object_parser.h"

#include <stdlib.h>

enum { CLIENT_ID_MAX = 255, HASH_TEXT_LEN = 64, EVENT_ID_MAX = 24, EVENT_TYPE_MAX = 40, DAYS_MAX = 4000 };

#define TYPE_RULE                                                                                            \
    {                                                                                                        \
        .name = "type", .type = FIELD_TYPE, .required = true                                                 \
    }

static const struct field_rule author_rules[] = {
    TYPE_RULE,
    FIELD("export", FIELD_COUNT, exported_author, version, .required = true),
    FIELD("id", FIELD_ID, exported_author, id, .required = true),
    FIELD("name", FIELD_TEXT, exported_author, name, .required = true, .min_len = 1,
          .max_len = OBJECT_TEXT_MAX),
    FIELD("plan_active", FIELD_FLAG, exported_author, plan_active, .required = true),
    FIELD("created_at", FIELD_TIME, exported_author, created_at, .required = true),
    FIELD("views_refreshed_at", FIELD_TIME, exported_author, views_refreshed_at, .required = true,
          .nullable = true),
    {0},
};

static const struct field_rule app_rules[] = {
    TYPE_RULE,
    FIELD("client_id", FIELD_TEXT, exported_app, client_id, .required = true, .min_len = 1,
          .max_len = CLIENT_ID_MAX),
    FIELD("name", FIELD_TEXT, exported_app, name, .required = true, .min_len = 1, .max_len = OBJECT_TEXT_MAX),
    FIELD("home_url", FIELD_URL, exported_app, home_url, .required = true, .nullable = true),
    {0},
};

static const struct field_rule key_rules[] = {
    TYPE_RULE,
    FIELD("id", FIELD_ID, exported_key, id, .required = true),
    FIELD("name", FIELD_TEXT, exported_key, name, .required = true, .max_len = OBJECT_TEXT_MAX),
    FIELD("hash", FIELD_TEXT, exported_key, hash, .required = true, .min_len = HASH_TEXT_LEN,
          .max_len = HASH_TEXT_LEN),
    FIELD("suffix", FIELD_TEXT, exported_key, suffix, .required = true, .min_len = KEY_SUFFIX_LEN,
          .max_len = KEY_SUFFIX_LEN),
    FIELD("client_id", FIELD_TEXT, exported_key, client_id, .required = true, .nullable = true, .min_len = 1,
          .max_len = CLIENT_ID_MAX),
    FIELD("created_at", FIELD_TIME, exported_key, created_at, .required = true),
    FIELD("last_used_at", FIELD_TIME, exported_key, last_used_at, .required = true, .nullable = true),
    FIELD("revoked_at", FIELD_TIME, exported_key, revoked_at, .required = true, .nullable = true),
    {0},
};

static const struct field_rule post_rules[] = {
    FIELD("platform", FIELD_PLATFORM, exported_post, platform, .required = true),
    FIELD("views_updated_at", FIELD_TIME, exported_post, updated_at, .required = true, .nullable = true),
    FIELD("views", FIELD_COUNT, exported_post, counts[COUNT_VIEWS], .required = true, .nullable = true),
    FIELD("likes", FIELD_COUNT, exported_post, counts[COUNT_LIKES], .required = true, .nullable = true),
    FIELD("comments", FIELD_COUNT, exported_post, counts[COUNT_COMMENTS], .required = true, .nullable = true),
    FIELD("shares", FIELD_COUNT, exported_post, counts[COUNT_SHARES], .required = true, .nullable = true),
    FIELD("saves", FIELD_COUNT, exported_post, counts[COUNT_SAVES], .required = true, .nullable = true),
    FIELD("views_source", FIELD_COUNT, exported_post, views_source),
    FIELD("resolved_id", FIELD_TEXT, exported_post, resolved_id, .min_len = 1, .max_len = OBJECT_POST_ID_MAX),
    {0},
};

static const struct field_rule milestone_rules[] = {
    FIELD("views", FIELD_COUNT, exported_milestone, value, .required = true),
    FIELD("reached_at", FIELD_TIME, exported_milestone, reached_at, .required = true),
    {0},
};

static const struct field_rule day_rules[] = {
    FIELD("date", FIELD_DATE, exported_day, date, .required = true),
    FIELD("views", FIELD_TOTAL, exported_day, gained, .required = true),
    {0},
};

static const struct list_rule post_list = {
    {"post", "a post", post_rules}, sizeof(struct exported_post), PLATFORM_COUNT};
static const struct list_rule milestone_list = {
    {"milestone", "a milestone", milestone_rules}, sizeof(struct exported_milestone), MILESTONES_MAX};
static const struct list_rule day_list = {{"day", "a day", day_rules}, sizeof(struct exported_day), DAYS_MAX};

static const struct field_rule state_rules[] = {
    TYPE_RULE,
    FIELD("video_id", FIELD_ID, exported_state, video_id, .required = true),
    FIELD("baseline", FIELD_TOTAL, exported_state, baseline, .required = true),
    FIELD("first_reading_at", FIELD_TIME, exported_state, first_reading_at, .required = true,
          .nullable = true),
    FIELD("views_updated_at", FIELD_TIME, exported_state, updated_at, .required = true, .nullable = true),
    FIELD("threshold", FIELD_COUNT, exported_state, threshold, .required = true),
    FIELD("author_median_views", FIELD_TOTAL, exported_state, median, .required = true, .nullable = true),
    FIELD("compared_videos", FIELD_COUNT, exported_state, compared, .required = true),
    FIELD("went_viral_at", FIELD_TIME, exported_state, went_viral_at, .required = true, .nullable = true),
    FIELD("views_when_viral", FIELD_TOTAL, exported_state, views_when_viral, .required = true,
          .nullable = true),
    FIELD("baseline_pending", FIELD_FLAG, exported_state, baseline_pending),
    FIELD("corrected", FIELD_FLAG, exported_state, corrected),
    FIELD("posts", FIELD_LIST, exported_state, posts, .required = true, .list = &post_list),
    FIELD("milestones", FIELD_LIST, exported_state, milestones, .required = true, .list = &milestone_list),
    FIELD("days", FIELD_LIST, exported_state, days, .required = true, .list = &day_list),
    {0},
};

static const struct field_rule gains_rules[] = {
    TYPE_RULE,
    FIELD("date", FIELD_DATE, exported_gains, date, .required = true, .nullable = true),
    FIELD("platform", FIELD_PLATFORM, exported_gains, platform, .required = true),
    FIELD("views", FIELD_SUM, exported_gains, gained, .required = true),
    {0},
};

static const struct field_rule event_rules[] = {
    TYPE_RULE,
    FIELD("id", FIELD_TEXT, exported_event, id, .required = true, .max_len = EVENT_ID_MAX),
    FIELD("video_id", FIELD_ID, exported_event, video_id, .required = true),
    FIELD("event", FIELD_TEXT, exported_event, type, .required = true, .max_len = EVENT_TYPE_MAX),
    FIELD("occurred_at", FIELD_TIME, exported_event, occurred_at, .required = true),
    FIELD("views", FIELD_TOTAL, exported_event, views),
    FIELD("threshold", FIELD_COUNT, exported_event, threshold),
    FIELD("author_median_views", FIELD_TOTAL, exported_event, median, .nullable = true),
    FIELD("milestone", FIELD_COUNT, exported_event, milestone),
    {0},
};

static const struct field_rule end_rules[] = {
    TYPE_RULE,
    FIELD("lines", FIELD_COUNT, export_end, lines, .required = true),
    FIELD("sha256", FIELD_TEXT, export_end, sha256, .required = true, .min_len = HASH_TEXT_LEN,
          .max_len = HASH_TEXT_LEN),
    {0},
};

static const struct object_kind kinds[EXPORT_LINE_KINDS] = {
    [EXPORT_AUTHOR] = {"author", "the author of an export", author_rules},
    [EXPORT_APP] = {"app", "an app", app_rules},
    [EXPORT_KEY] = {"key", "a key", key_rules},
    [EXPORT_BOOK] = {"book", NULL, NULL},
    [EXPORT_VIDEO] = {"video", NULL, NULL},
    [EXPORT_STATE] = {"state", "a state", state_rules},
    [EXPORT_GAINS] = {"gains", "gains", gains_rules},
    [EXPORT_EVENT] = {"event", "an event", event_rules},
    [EXPORT_END] = {"end", "the end of an export", end_rules},
};

struct export_parser {
    struct object_parser object;
};

struct export_parser *export_parser_new(void)
{
    struct export_parser *p = xcalloc(1, sizeof *p);
    object_parser_init(&p->object, UNKNOWN_FIELDS_REJECTED);
    return p;
}

void export_parser_free(struct export_parser *p)
{
    object_parser_fini(&p->object);
    free(p);
}

static bool find_kind(struct object_parser *p, yyjson_val *root, enum export_line_kind *out)
{
    yyjson_val *type = yyjson_obj_get(root, "type");
    for (int k = 0; k < EXPORT_LINE_KINDS; k++)
        if (yyjson_equals_str(type, kinds[k].name)) {
            *out = (enum export_line_kind)k;
            return true;
        }
    return object_parser_reject(p, "type is not one of app, key, book, video, state, gains, event, end");
}

static bool parse_line(struct object_parser *p, struct str line, struct export_record *out)
{
    yyjson_val *root = object_parser_read(p, line);
    if (!root || !find_kind(p, root, &out->kind))
        return false;
    return !kinds[out->kind].rules || object_parser_parse(p, root, &kinds[out->kind], &out->author);
}

bool export_record_parse(struct export_parser *p, struct str line, struct export_record *out, struct str *why)
{
    memset(out, 0, sizeof *out);
    if (parse_line(&p->object, line, out))
        return true;
    *why = str_from_cstr(p->object.why);
    return false;
}

bool export_event_id_parse(struct str text, int64_t *out)
{
    unsigned long long id;
    if (!str_starts_with(text, STR("evt_")) ||
        !str_to_u64(str_make(text.p + 4, text.len - 4), INT64_MAX, &id) || id == 0 || text.p[4] == '0')
        return false;
    *out = (int64_t)id;
    return true;
}

/* Unlike hex_digit(), rejects upper case, which exports never contain. */
static int lower_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool export_hex_parse(struct str text, uint8_t *out, size_t count)
{
    if (text.len != 2 * count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const int high = lower_hex_digit(text.p[2 * i]), low = lower_hex_digit(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
