/* viewtally reading, whose only subcommand is `correct`. */
#include "base/clock.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "store/lower_views.h"

enum { TEXT_MAX = 64 * 1024 };

struct correction {
    enum platform platform;
    struct str post_id;
    int64_t views;
    bool dry_run;
    struct lowered_views lowered; /* if the command is refused, only lowered.before is set */
    struct buf report;
};

/* Lists the milestones, the viral mark and the events that the video keeps although it now has fewer
 * views. */
static void append_kept(struct buf *b, const struct video *video, int64_t events)
{
    const size_t begin = b->len;
    for (size_t i = 0; i < video->milestone_count; i++)
        if (video->milestones[i].value > video->views)
            buf_printf(b, "%s%lld", b->len == begin ? "milestones " : ", ",
                       (long long)video->milestones[i].value);
    if (video->went_viral_at != TIME_NONE && video->views_when_viral > video->views)
        buf_printf(b, "%sviral mark at %lld views", b->len == begin ? "" : "; ",
                   (long long)video->views_when_viral);
    if (events)
        buf_printf(b, "%s%lld %s", b->len == begin ? "" : "; ", (long long)events,
                   plural(events, "event", "events"));
    if (b->len == begin)
        buf_append(b, STR("nothing"));
}

static void append_change(struct buf *b, const struct correction *c, const struct video *video)
{
    const struct str platform = platform_name(c->platform);
    buf_printf(b, "%.*s post ", (int)platform.len, platform.p);
    buf_append(b, c->post_id);
    buf_printf(b, ": %lld instead of %lld views (%lld taken from days, %lld from the baseline); kept: ",
               (long long)c->views, (long long)c->lowered.before, (long long)c->lowered.from_days,
               (long long)c->lowered.from_baseline);
    append_kept(b, video, c->lowered.events);
}

static enum err note_correction(struct store *store, const struct correction *c, const struct video *video)
{
    struct buf details;
    char id[UUID_TEXT_LEN];
    uuid_format(&video->id, id);
    buf_init(&details, TEXT_MAX);
    append_change(&details, c, video);
    const struct audit_note note = {.author_row = video->author_row,
                                    .at = clock_wall_ms(),
                                    .action = AUDIT_READING_CORRECTED,
                                    .subject = str_make(id, sizeof id),
                                    .details = buf_str(&details)};
    const struct actor by = cli_operator();
    const enum err err = store_insert_audit(store, &note, &by);
    buf_fini(&details);
    return err;
}

static size_t index_of_post(const struct video *video, const struct correction *c)
{
    size_t i = 0;
    while (i < video->post_count && video->posts[i].platform != c->platform)
        i++;
    return i;
}

static enum err correct(struct store *store, struct arena *arena, void *ctx)
{
    struct correction *c = ctx;
    struct post_owner owner;
    struct video video;
    enum err err = store_find_post(store, c->platform, c->post_id, &owner);
    if (!err)
        err = store_get_video(store, arena, owner.video_row, &video);
    if (err)
        return err;
    const size_t post = index_of_post(&video, c);
    if (post == video.post_count)
        return ERR_NOT_FOUND;
    const int64_t stored = video.posts[post].counts[COUNT_VIEWS];
    c->lowered.before = stored == COUNT_NONE ? 0 : stored;
    if (c->views >= c->lowered.before)
        return ERR_INVALID;
    err = store_lower_views(store, arena, &video, post, c->views, &c->lowered);
    if (err)
        return err;
    struct buf text;
    buf_init(&text, TEXT_MAX);
    append_change(&text, c, &video);
    cli_append_text(&c->report, buf_str(&text));
    buf_fini(&text);
    err = note_correction(store, c, &video);
    return err || !c->dry_run ? err : ERR_CANCELED;
}

static enum cli_exit explain(const struct correction *c, enum err err)
{
    if (err == ERR_NOT_FOUND)
        return cli_fail(CLI_PART,
                        "no video has this post (see platforms[].url of /videos, and the import file)");
    if (err == ERR_INVALID)
        return cli_fail(
            CLI_PART,
            "nothing was changed: the post has %lld %s, and a correction only lowers the number; to "
            "raise it, import a reading",
            (long long)c->lowered.before, plural(c->lowered.before, "view", "views"));
    return CLI_COULD_NOT;
}

static enum cli_exit correct_command(struct cli *cli, const struct cli_arguments *arguments)
{
    unsigned long long views;
    struct correction c = {.post_id = str_from_cstr(arguments->operands[1]),
                           .dry_run = cli_flag(arguments, "dry-run")};
    if (!platform_parse(str_from_cstr(arguments->operands[0]), &c.platform))
        return cli_fail(CLI_USAGE, "PLATFORM must be one of" PLATFORM_NAMES);
    if (!str_to_u64(str_from_cstr(arguments->operands[2]), COUNT_MAX, &views))
        return cli_fail(CLI_USAGE, "VIEWS must be a number from 0 to %lld", (long long)COUNT_MAX);
    c.views = (int64_t)views;
    buf_init(&c.report, 4 * TEXT_MAX);
    const enum err err = cli_transaction(cli, correct, &c);
    const bool is_printed = !err || (err == ERR_CANCELED && c.dry_run);
    if (is_printed)
        printf("%s%.*s.\n", c.dry_run ? "Dry run: nothing was changed. " : "", (int)c.report.len, c.report.p);
    buf_fini(&c.report);
    return is_printed ? CLI_DONE : explain(&c, err);
}

static const struct cli_option correct_options[] = {
    {.name = "dry-run", .help = "Print what would change, but change nothing."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "correct",
     .operands = "PLATFORM POST VIEWS",
     .operands_min = 3,
     .operands_max = 3,
     .options = correct_options,
     .summary = "Lowers the views of a post after a wrong reading.",
     .description =
         "This is the only command that lowers views; readings never do. POST is the platform's id of the "
         "post, as in the import. The difference is taken from the days with the newest gains, then from "
         "the baseline. Milestones, the viral mark and events stay; the audit log lists the milestones and "
         "the viral mark above the new number. When later readings reach them again, no event is created. "
         "If the platform still reports the wrong number, the next reading raises the views again.",
     .partial = "no video has this post, or it does not have more views than VIEWS",
     .examples = "viewtally reading correct youtube dQw4w9WgXcQ 1500 --dry-run",
     .run = correct_command},
    {0},
};

const struct cli_command cli_reading = {
    .name = "reading",
    .summary = "correct the views of a post",
    .actions = actions,
};
