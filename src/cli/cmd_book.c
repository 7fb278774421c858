/* viewtally book, whose only subcommand is `remove`. */
#include "base/clock.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/erasing.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "store/erase.h"

struct book_removal {
    struct uuid id;
    bool keeps_videos, with_videos;
    int64_t videos; /* number of videos of the book */
    struct buf text;
};

static enum err remove_videos(struct store *store, const struct book *book)
{
    struct arena arena;
    struct video video = {.row = 0};
    enum err err;
    arena_init(&arena, 16 * 1024);
    while ((err = store_next_video(store, book->author_row, book->row, video.row, &video.row)) == OK) {
        arena_reset(&arena);
        err = store_get_video(store, &arena, video.row, &video);
        if (!err)
            err = store_remove_video(store, &video);
        if (err)
            break;
    }
    arena_fini(&arena);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum err note_removal(struct store *store, const struct book *book)
{
    char id[UUID_TEXT_LEN];
    uuid_format(&book->id, id);
    const struct audit_note note = {.author_row = book->author_row,
                                    .at = clock_wall_ms(),
                                    .action = AUDIT_BOOK_REMOVED,
                                    .subject = str_make(id, sizeof id),
                                    .details = book->title};
    const struct actor by = cli_operator();
    return store_insert_audit(store, &note, &by);
}

static enum err remove_one(struct store *store, struct arena *arena, void *ctx)
{
    struct book_removal *m = ctx;
    struct book book;
    enum err err = store_find_book(store, arena, &m->id, &book);
    if (!err)
        err = store_count_book_videos(store, &book, &m->videos);
    if (err)
        return err;
    cli_append_text(&m->text, book.title);
    if (m->videos && !m->keeps_videos && !m->with_videos)
        return ERR_INVALID;
    err = m->with_videos ? remove_videos(store, &book) : OK;
    if (!err)
        err = store_remove_book(store, &book);
    return err ? err : note_removal(store, &book);
}

static enum cli_exit explain(const struct book_removal *m, enum err err)
{
    if (err == ERR_INVALID)
        return cli_fail(CLI_PART,
                        "nothing was changed: the book has %lld %s. --keep-videos keeps them without a book, "
                        "--with-videos removes them, too",
                        (long long)m->videos, plural(m->videos, "video", "videos"));
    return err == ERR_NOT_FOUND ? cli_fail(CLI_PART, "no book has this id") : CLI_COULD_NOT;
}

static enum cli_exit remove_book(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool dry_run = cli_flag(arguments, "dry-run");
    struct book_removal m = {.keeps_videos = cli_flag(arguments, "keep-videos"),
                             .with_videos = cli_flag(arguments, "with-videos")};
    if (m.keeps_videos && m.with_videos)
        return cli_fail(CLI_USAGE, "--keep-videos and --with-videos cannot be used together");
    if (!cli_parse_uuid("BOOK", arguments->operands[0], &m.id))
        return CLI_USAGE;
    buf_init(&m.text, 64 * 1024);
    const enum err err = cli_erasing_transaction(cli, dry_run, remove_one, &m);
    if (!err)
        printf("%s book \"%.*s\"; its %lld %s %s.\n", dry_run ? "Dry run: would remove" : "Removed",
               (int)m.text.len, m.text.p, (long long)m.videos, plural(m.videos, "video", "videos"),
               m.with_videos ? "removed, too" : "kept without a book");
    buf_fini(&m.text);
    return err ? explain(&m, err) : CLI_DONE;
}

static const struct cli_option remove_options[] = {
    {.name = "keep-videos", .help = "Keep the videos of the book; they then belong to no book."},
    {.name = "with-videos", .help = "Remove the videos of the book, too, as with viewtally video remove."},
    {.name = "dry-run", .help = "Check the id and print what would be removed, but change nothing."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "remove",
     .operands = "BOOK",
     .operands_min = 1,
     .operands_max = 1,
     .options = remove_options,
     .summary = "Deletes a book.",
     .description =
         "BOOK is the id of the book. While a refresh or an import is running, the command fails and "
         "changes nothing. A book that has videos is only removed with --keep-videos or --with-videos. A "
         "kept video without a title of its own, which showed the title of the book, is then shown as "
         "Untitled. An import that contains the book creates it again.",
     .partial = "no book has this id, or the book has videos and neither option was given",
     .examples = "viewtally book remove 00000000-0000-4000-8000-000000000002 --keep-videos",
     .run = remove_book},
    {0},
};

const struct cli_command cli_book = {
    .name = "book",
    .summary = "remove a book",
    .actions = actions,
};
