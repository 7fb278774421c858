/* viewtally import: messages, progress bar and dry run around import/import.h. */
#include "cli/cmd_import.h"

#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "import/import.h"
#include "import/tempfile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BAR_WIDTH = 30, BAR_EVERY_US = 100 * 1000 };

/* ---- progress ---- */

struct display {
    bool has_bar;     /* standard error is a terminal */
    bool is_drawn;    /* the cursor is in the line of the bar */
    int64_t drawn_us; /* time of the last redraw */
    enum import_phase phase;
    int64_t phase_us; /* start of the phase */
};

static void clear_bar(struct display *d)
{
    if (d->is_drawn)
        (void)fputs("\r\033[K", stderr);
    d->is_drawn = false;
}

static void on_bad_line(void *ctx, const char *file, int64_t line, struct str reason)
{
    clear_bar(ctx);
    (void)fprintf(stderr, "%s:%lld: %.*s\n", file, (long long)line, (int)reason.len, reason.p);
}

static void draw_bar(const struct import_progress *p)
{
    char bar[BAR_WIDTH + 1];
    int full = (int)(p->done >= p->total ? BAR_WIDTH : BAR_WIDTH * p->done / p->total);
    memset(bar, '-', BAR_WIDTH);
    memset(bar, '#', (size_t)full);
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, " [%s] %3d %%", bar, (int)(p->done >= p->total ? 100 : 100 * p->done / p->total));
}

static void draw(struct display *d, const struct import_progress *p, int64_t now_us)
{
    static const char *const names[] = {
        [IMPORT_STAGING] = "reading",       [IMPORT_ENTITIES] = "authors, books, videos",
        [IMPORT_SORTING] = "sorting",       [IMPORT_APPLYING] = "applying readings",
        [IMPORT_FINALIZING] = "finalizing",
    };
    (void)fprintf(stderr, "\r\033[K%-22s", names[p->phase]);
    if (p->total > 0)
        draw_bar(p);
    else
        (void)fprintf(stderr, " %lld", (long long)p->done);
    if (p->phase == IMPORT_APPLYING && now_us > d->phase_us)
        (void)fprintf(stderr, "  %lld readings/s", (long long)(p->done * 1000000 / (now_us - d->phase_us)));
    d->is_drawn = true;
    d->drawn_us = now_us;
}

static void on_progress(void *ctx, const struct import_progress *p)
{
    struct display *d = ctx;
    int64_t now_us = clock_work_us();
    if (p->phase != d->phase) {
        d->phase = p->phase;
        d->phase_us = now_us;
    }
    if (now_us - d->drawn_us >= BAR_EVERY_US)
        draw(d, p, now_us);
}

/* ---- summary ---- */

static void print_upserts(const char *name, const struct upsert_counts *c)
{
    printf("%-10s %lld new, %lld changed, %lld unchanged\n", name, (long long)c->created,
           (long long)c->changed, (long long)c->unchanged);
}

static void print_summary(const struct import_summary *s, bool dry_run)
{
    const int64_t rejected = import_rejected_readings(s);
    if (dry_run)
        printf("Dry run: nothing was changed. The import would do this:\n");
    print_upserts("authors", &s->upserts[RECORD_AUTHOR]);
    print_upserts("books", &s->upserts[RECORD_BOOK]);
    print_upserts("videos", &s->upserts[RECORD_VIDEO]);
    printf("%-10s %lld applied, %lld rejected\n", "readings", (long long)(s->readings - rejected),
           (long long)rejected);
    for (int i = 0; i < REJECTION_KINDS; i++) {
        struct str text = rejection_text((enum rejection)i);
        if (s->rejected[i])
            printf("%-10s   %lld: %.*s\n", "", (long long)s->rejected[i], (int)text.len, text.p);
    }
    printf("%-10s %lld gained, %lld as baseline\n", "views", (long long)s->steps.gained,
           (long long)s->steps.baseline);
    printf("%-10s %lld went viral, %lld of them by their baseline\n", "viral",
           (long long)(s->steps.went_viral + s->viral_by_baseline), (long long)s->viral_by_baseline);
    if (s->finalizing_left)
        printf("%-10s   the other import that is running finalizes the remaining videos\n", "");
    printf("%-10s %lld viral, %lld milestones\n", "events", (long long)s->steps.viral_events,
           (long long)s->steps.milestone_events);
    printf("%-10s %lld read, %lld rejected\n", "lines", (long long)s->lines,
           (long long)(s->bad_lines + rejected));
}

/* ---- dry run ---- */

static void remove_database(const char *path)
{
    static const char *const tails[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        char name[PATH_MAX + 8];
        (void)snprintf(name, sizeof name, "%s%s", path, tails[i]);
        (void)unlink(name);
    }
}

/* Copies the database into the empty file `path` and opens the copy. If `creates` is true, a missing database
 * is treated as an empty one, because the real import would create it. */
static enum err open_copy(const struct cli *cli, bool creates, const char *path, struct store **out,
                          struct error *error)
{
    int applied;
    const struct store_options options = {.path = path, .mode = STORE_WRITE};
    const char *database = cli->config.store.path;
    struct stat st;
    enum err err = OK;
    if (!creates || (stat(database, &st) == 0 && st.st_size > 0))
        err = store_copy(database, path, error);
    if (!err)
        err = creates ? store_create(path, &applied, error) : store_migrate(path, &applied, error);
    return err ? err : store_open(out, &options, error);
}

/* A dry run is a complete import into a copy of the database. The copy is unlinked as soon as it is open, so
 * that the system deletes it even if the process is killed. */
static struct store *open_for_dry_run(const struct cli *cli, bool creates, const char *dir)
{
    char path[PATH_MAX];
    struct store *store = NULL;
    struct error error;
    int n = snprintf(path, sizeof path, "%s/.viewtally-dry-run-XXXXXX", dir);
    int fd = n < 0 || (size_t)n >= sizeof path ? -1 : mkstemp(path);
    if (fd < 0) {
        (void)cli_fail(CLI_COULD_NOT, "%s: cannot create a copy of the database there: %s", dir,
                       strerror(errno));
        return NULL;
    }
    (void)close(fd);
    if (open_copy(cli, creates, path, &store, &error))
        (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    remove_database(path);
    return store;
}

static enum cli_exit import_into(struct store *store, struct import_options *options, bool dry_run)
{
    struct import_summary summary;
    struct display display = {.has_bar = isatty(STDERR_FILENO) == 1, .phase_us = clock_work_us()};
    options->ctx = &display;
    options->on_bad_line = on_bad_line;
    options->on_progress = display.has_bar ? on_progress : NULL;
    enum err err = import_run(store, options, &summary);
    clear_bar(&display);
    if (err)
        return cli_fail(CLI_COULD_NOT, "the import stopped: %s%s", summary.why,
                        summary.steps.videos_changed ? "; import the same files again to complete it" : "");
    print_summary(&summary, dry_run);
    if (cli_flush())
        return CLI_COULD_NOT;
    return summary.bad_lines || import_rejected_readings(&summary) ? CLI_PART : CLI_DONE;
}

static enum cli_exit import_files(struct cli *cli, const char *const *files, int count, bool dry_run,
                                  bool creates)
{
    char dir[PATH_MAX];
    temp_dir_of(cli->config.store.path, dir);
    if (!dry_run && creates && !cli_migrate_store(cli, true))
        return CLI_COULD_NOT;
    /* A dry run that would create the database has no file to lock. */
    const bool has_database = !dry_run || !creates || access(cli->config.store.path, F_OK) == 0;
    if (has_database && !cli_lock_database(cli, false))
        return CLI_COULD_NOT;
    struct store *store = dry_run ? open_for_dry_run(cli, creates, dir) : cli_open_store(cli);
    if (!store)
        return CLI_COULD_NOT;
    struct import_options options = {
        .files = files,
        .file_count = count,
        .temp_dir = dir,
        .lock_path = dry_run ? NULL : cli->config.store.path,
        .rules = step_rules_configured(&cli->config),
        .now_ms = TIME_NONE,
    };
    enum cli_exit code = import_into(store, &options, dry_run);
    if (dry_run) /* SQLite would log that the copy was unlinked */
        log_set(LOG_ERROR, cli->config.log.format);
    store_close(store);
    return code;
}

enum cli_exit cli_import_file(struct cli *cli, const char *path)
{
    return import_files(cli, &path, 1, false, false);
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    return import_files(cli, (const char *const *)arguments->operands, arguments->operand_count,
                        cli_flag(arguments, "dry-run"), cli_flag(arguments, "create"));
}

static const struct cli_option import_options[] = {
    {.name = "dry-run",
     .help = "Print what would change, but change nothing. Works on a copy of the database."},
    {.name = "create",
     .help = "Create the database if it does not exist; by default a missing database is an error."},
    {0},
};

static const struct cli_action actions[] = {
    {.operands = "FILE…",
     .operands_min = 1,
     .operands_max = INT_MAX,
     .options = import_options,
     .description =
         "Reads NDJSON files, one object per line (`-` is standard input), and applies them: first all "
         "authors, books and videos, then the readings of all files in the order of their times.\n\n"
         "  {\"type\":\"author\",\"id\":\"UUID\",\"name\":\"…\",\"plan_active\":true}\n"
         "  {\"type\":\"book\",\"id\":\"UUID\",\"author_id\":\"UUID\",\"title\":\"…\",\"subtitle\":\"…\","
         "\"created_at\":\"2026-06-15T12:00:00Z\"}\n"
         "  {\"type\":\"video\",\"id\":\"UUID\",\"author_id\":\"UUID\",\"book_id\":\"UUID or null\","
         "\"title\":\"…\",\"thumbnail_url\":\"…\",\n"
         "   \"posts\":[{\"platform\":\"youtube\",\"post_id\":\"…\",\"url\":\"…\","
         "\"posted_at\":\"2026-06-15T12:00:00Z\"}]}\n"
         "  {\"type\":\"reading\",\"platform\":\"youtube\",\"post_id\":\"…\","
         "\"observed_at\":\"2026-06-16T12:55:00Z\",\"views\":1200,\n"
         "   \"likes\":80,\"comments\":null,\"shares\":3,\"saves\":1}\n\n"
         "A reading with `\"baseline\":true` sets the views that a video had before viewtally first read it. "
         "These views are not counted as a gain and cause no events. A line changes only the fields that it "
         "contains and deletes nothing. Importing a file again changes nothing. A bad line is reported as "
         "FILE:LINE: reason, and the other lines are applied. You need not stop the server. To complete an "
         "interrupted import, run it again.",
     .partial = "a line or a reading was rejected",
     .examples = "viewtally import --dry-run export.ndjson\nzcat export.ndjson.gz | viewtally import -",
     .run = run},
    {0},
};

const struct cli_command cli_import = {
    .name = "import",
    .summary = "import authors, books, videos and readings",
    .actions = actions,
};
