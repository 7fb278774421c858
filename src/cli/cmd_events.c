/* viewtally events verify: compares the event feed with the milestones and viral marks of the videos. */
#include "base/json.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/named_author.h"
#include "cli/output.h"
#include "cli/table.h"
#include "rules/feed_check.h"
#include "store/runs.h"
#include "store/write.h"

enum { SHOWN_MAX = 1000, MESSAGE_MAX = 4096 };

struct feed_verification {
    bool is_json;
    const char *named;    /* an id or a sign-in name; NULL: all authors */
    struct author author; /* the author whose feed is being read */
    int64_t history_start;
    struct feed_check check;
    int64_t authors, events, differences;
    struct table table; /* at most SHOWN_MAX rows */
};

/* ---- printing one difference ---- */

static struct str type_text(enum event_type type)
{
    return type == EVENT_WENT_VIRAL ? STR("video.went_viral") : STR("video.milestone_reached");
}

static void append_json(struct buf *b, const struct feed_verification *v, const struct feed_difference *d)
{
    json_open(b, '{');
    JSON_UUID(b, "author_id", &v->author.id);
    if (d->video)
        JSON_UUID(b, "video_id", &d->video->id);
    else
        JSON_NULL(b, "video_id");
    JSON_STR(b, "type", type_text(d->type));
    JSON_I64(b, "value", d->value);
    JSON_I64_OR_NULL(b, "event", d->event_id != 0, d->event_id);
    JSON_STR(b, "problem", feed_problem_text(d->problem));
    json_close(b, '}');
}

static void append_row(struct table *t, const struct feed_verification *v, const struct feed_difference *d)
{
    table_add_uuid(t, &v->author.id);
    if (d->video)
        table_add_uuid(t, &d->video->id);
    else
        table_add_text(t, STR("-"));
    table_add_text(t, type_text(d->type));
    table_add_i64(t, d->value);
    if (d->event_id)
        buf_printf(&t->cells, "evt_%lld", (long long)d->event_id);
    else
        buf_append_char(&t->cells, '-');
    table_end_cell(t);
    table_add_text(t, feed_problem_text(d->problem));
}

static void on_difference(void *ctx, const struct feed_difference *d)
{
    struct feed_verification *v = ctx;
    if (v->differences++ >= SHOWN_MAX)
        return;
    if (v->is_json)
        append_json(&v->table.json, v, d);
    else
        append_row(&v->table, v, d);
}

/* ---- verifying all authors ---- */

static void on_event(void *ctx, const struct event *event)
{
    struct feed_verification *v = ctx;
    v->events++;
    feed_check_add_event(&v->check, event);
}

static void on_video(void *ctx, const struct video *video)
{
    struct feed_verification *v = ctx;
    feed_check_video(&v->check, video);
}

static enum err verify_author(struct feed_verification *v, struct store *store)
{
    const struct feed_reader reader = {.on_event = on_event, .on_video = on_video, .ctx = v};
    v->authors++;
    feed_check_begin(&v->check, v->history_start, on_difference, v);
    enum err err = store_read_feed(store, v->author.row, &reader);
    if (!err)
        feed_check_end(&v->check);
    return err;
}

/* Verifies one author at a time, so that no read transaction stays open for long. */
static enum err verify_all(struct feed_verification *v, struct store *store, struct arena *arena)
{
    int64_t row = 0;
    enum err err;
    while ((err = store_find_next_author(store, row, &row)) == OK) {
        arena_reset(arena);
        err = store_get_author(store, arena, row, &v->author);
        if (!err)
            err = verify_author(v, store);
        if (err)
            return err;
    }
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err verify_feeds(struct store *store, struct arena *arena, void *ctx)
{
    struct feed_verification *v = ctx;
    if (!v->named)
        return verify_all(v, store, arena);
    enum err err = named_author_find(store, arena, v->named, &v->author);
    return err ? err : verify_author(v, store);
}

/* ---- the final report ---- */

static enum cli_exit print_json(struct feed_verification *v)
{
    struct buf out;
    buf_init(&out, v->table.json.len + MESSAGE_MAX);
    json_open(&out, '{');
    JSON_I64(&out, "authors", v->authors);
    JSON_I64(&out, "videos", v->check.videos);
    JSON_I64(&out, "events", v->events);
    JSON_I64(&out, "undecided", v->check.undecided);
    JSON_I64(&out, "differences_count", v->differences);
    JSON_KEY(&out, "differences");
    buf_append(&out, buf_str(&v->table.json)); /* table_init() has opened the array */
    json_close(&out, ']');
    json_close(&out, '}');
    buf_append_char(&out, '\n');
    table_fini(&v->table);
    return cli_print(&out);
}

static enum cli_exit print_text(struct feed_verification *v)
{
    struct buf out;
    enum cli_exit code = CLI_DONE;
    if (v->differences)
        code = table_print(&v->table);
    else
        table_fini(&v->table);
    if (code)
        return code;
    buf_init(&out, MESSAGE_MAX);
    buf_printf(&out, "Compared %lld event%s of %lld author%s with %lld video%s: %lld difference%s.\n",
               (long long)v->events, plural(v->events, "", "s"), (long long)v->authors,
               plural(v->authors, "", "s"), (long long)v->check.videos, plural(v->check.videos, "", "s"),
               (long long)v->differences, plural(v->differences, "", "s"));
    if (v->differences > SHOWN_MAX)
        buf_printf(&out, "Only the first %d differences are shown.\n", SHOWN_MAX);
    if (v->check.undecided)
        buf_printf(
            &out,
            "Undecided: %lld milestone%s or viral mark%s without an event. If the baseline of an import "
            "has reached them, no event is missing.\n",
            (long long)v->check.undecided, plural(v->check.undecided, "", "s"),
            plural(v->check.undecided, "", "s"));
    return cli_print(&out);
}

static enum cli_exit verify(struct cli *cli, const struct cli_arguments *arguments)
{
    static const char *const headings[] = {"AUTHOR", "VIDEO", "TYPE", "#VALUE", "EVENT", "PROBLEM", NULL};
    struct feed_verification v = {.is_json = cli_flag(arguments, "json"),
                                  .history_start = cli->config.events.history_start};
    v.named = cli_value(arguments, "author");
    table_init(&v.table, headings, v.is_json);
    const enum err err = cli_read(cli, verify_feeds, &v);
    feed_check_fini(&v.check);
    if (err) {
        table_fini(&v.table);
        return err == ERR_NOT_FOUND ? named_author_print_not_found() : CLI_COULD_NOT;
    }
    const enum cli_exit code = v.is_json ? print_json(&v) : print_text(&v);
    return code == CLI_DONE && v.differences ? CLI_PART : code;
}

static const struct cli_option verify_options[] = {
    {.name = "author",
     .argument = "AUTHOR",
     .help = "Verify only the feed of this author: an id or a sign-in name."},
    {.name = "json", .help = "Print a JSON object with the totals and a list of the differences."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "verify",
     .options = verify_options,
     .summary = "Compares the event feed with the milestones and viral marks of the videos.",
     .description =
         "Every milestone and viral mark since [events] history_start must have exactly one event with the "
         "same time and numbers, and every event must have its milestone or viral mark. Prints each "
         "difference, at most 1000. Changes nothing and can run while the server runs.\n\n"
         "A milestone or viral mark that the baseline of an import reached alone has no event. Therefore, if "
         "a video has a baseline, a missing event is counted as undecided. After you move history_start to "
         "an earlier date, the milestones between the two dates are reported, because their events were not "
         "written.",
     .partial = "the feed differs from the videos, or no author has this id or sign-in name",
     .examples = "viewtally events verify\n"
                 "viewtally events verify --author 00000000-0000-4000-8000-000000000001",
     .run = verify},
    {0},
};

const struct cli_command cli_events = {
    .name = "events",
    .summary = "compare the event feed with the videos",
    .actions = actions,
};
