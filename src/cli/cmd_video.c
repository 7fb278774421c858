/* viewtally video, whose only subcommand is `remove`. */
#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/erasing.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "store/erase.h"

struct video_removal {
    struct uuid id;
    struct str title; /* points into `text` */
    struct buf text;
    int64_t views;
};

static enum err remove_one(struct store *store, struct arena *arena, void *ctx)
{
    struct video_removal *m = ctx;
    struct video video;
    char id[UUID_TEXT_LEN];
    enum err err = store_find_video(store, arena, &m->id, &video);
    if (!err)
        err = store_remove_video(store, &video);
    if (err)
        return err;
    cli_append_text(&m->text, video.title.p ? video.title : UNTITLED);
    m->views = video.views;
    uuid_format(&m->id, id);
    const struct audit_note note = {.author_row = video.author_row,
                                    .at = clock_wall_ms(),
                                    .action = AUDIT_VIDEO_REMOVED,
                                    .subject = str_make(id, sizeof id),
                                    .details = video.title};
    const struct actor by = cli_operator();
    return store_insert_audit(store, &note, &by);
}

static enum cli_exit remove_video(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool dry_run = cli_flag(arguments, "dry-run");
    struct video_removal m = {.views = 0};
    if (!cli_parse_uuid("VIDEO", arguments->operands[0], &m.id))
        return CLI_USAGE;
    buf_init(&m.text, 64 * 1024);
    const enum err err = cli_erasing_transaction(cli, dry_run, remove_one, &m);
    if (!err)
        printf("%s video \"%.*s\" with %lld views.\n", dry_run ? "Dry run: would remove" : "Removed",
               (int)m.text.len, m.text.p, (long long)m.views);
    buf_fini(&m.text);
    if (!err)
        return CLI_DONE;
    return err == ERR_NOT_FOUND ? cli_fail(CLI_PART, "no video has this id") : CLI_COULD_NOT;
}

static const struct cli_option remove_options[] = {
    {.name = "dry-run", .help = "Check the id and print what would be removed, but change nothing."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "remove",
     .operands = "VIDEO",
     .operands_min = 1,
     .operands_max = 1,
     .options = remove_options,
     .summary = "Deletes a video with its posts, counts, statistics and events.",
     .description = "VIDEO is the id of the video. While a refresh or an import is running, the command "
                    "fails and changes nothing. The events of the video disappear from the feed; the ids "
                    "of the other events stay. An import that contains the video creates it again, without "
                    "its counts, so remove it from its source first. The viral thresholds of the author's "
                    "other videos do not change immediately: the removed video counts until a reading "
                    "recomputes them.",
     .partial = "no video has this id",
     .examples = "viewtally video remove 00000000-0000-4000-8000-000000000003",
     .run = remove_video},
    {0},
};

const struct cli_command cli_video = {
    .name = "video",
    .summary = "remove a video",
    .actions = actions,
};
