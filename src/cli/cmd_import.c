/* viewtally import: messages, progress bar and dry run around import/import.h. */
#include "cli/cmd_import.h"

#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/import_report.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "import/import.h"
#include "store/database_files.h"
#include "store/move.h"
#include "store/store_config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BAR_WIDTH = 30,
    BAR_EVERY_US = 100 * 1000,
    LINE_EVERY_US = 1000 * 1000,
    EXIT_BY_SIGNAL = 128, /* as a shell reports it */
};

struct import_request {
    const char *const *files;
    int file_count;
    bool dry_run, creates, ignores_unknown, shows_progress, is_json, allows_erased, new_event_ids;
};

/* ---- progress bar ---- */

enum display_kind { DISPLAY_NONE, DISPLAY_BAR, DISPLAY_LINES };

struct display {
    enum display_kind kind;
    bool is_drawn;    /* the bar is on the current line of the terminal */
    int64_t drawn_us; /* time of the last redraw or line */
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

static int percent_of(const struct import_progress *p)
{
    return (int)(p->done >= p->total ? 100 : 100 * p->done / p->total);
}

static void draw_bar(const struct import_progress *p)
{
    char bar[BAR_WIDTH + 1];
    int full = (int)(p->done >= p->total ? BAR_WIDTH : BAR_WIDTH * p->done / p->total);
    memset(bar, '-', BAR_WIDTH);
    memset(bar, '#', (size_t)full);
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, " [%s] %3d %%", bar, percent_of(p));
}

static void draw(struct display *d, const struct import_progress *p, int64_t now_us)
{
    static const char *const names[] = {
        [IMPORT_STAGING] = "reading",       [IMPORT_ENTITIES] = "authors, books, videos",
        [IMPORT_SORTING] = "sorting",       [IMPORT_APPLYING] = "applying readings",
        [IMPORT_FINALIZING] = "finalizing",
    };
    const bool is_bar = d->kind == DISPLAY_BAR;
    (void)fprintf(stderr, is_bar ? "\r\033[K%-22s" : "%s:", names[p->phase]);
    if (p->total > 0 && is_bar)
        draw_bar(p);
    else if (p->total > 0)
        (void)fprintf(stderr, " %d %%", percent_of(p));
    else
        (void)fprintf(stderr, " %lld", (long long)p->done);
    if (p->phase == IMPORT_APPLYING && now_us > d->phase_us)
        (void)fprintf(stderr, "  %lld readings/s", (long long)(p->done * 1000000 / (now_us - d->phase_us)));
    if (!is_bar)
        (void)fputc('\n', stderr);
    d->is_drawn = is_bar;
    d->drawn_us = now_us;
}

/* Draws the bar or prints a line at regular intervals. Also prints a line when a phase begins, so that a
 * short import shows its phases, too. */
static void on_progress(void *ctx, const struct import_progress *p)
{
    struct display *d = ctx;
    const int64_t now_us = clock_work_us();
    const bool is_new_phase = p->phase != d->phase;
    if (is_new_phase) {
        d->phase = p->phase;
        d->phase_us = now_us;
    }
    if (now_us - d->drawn_us >= (d->kind == DISPLAY_BAR ? BAR_EVERY_US : LINE_EVERY_US) ||
        (is_new_phase && d->kind == DISPLAY_LINES))
        draw(d, p, now_us);
}

/* ---- dry run ---- */

/* The files of the copy of a dry run. A global, because a signal handler has no other context. */
enum { COPY_FILES = 4 };
static char copy_files[COPY_FILES][PATH_MAX + 8];

/* Creates the file of the copy. Replaces the XXXXXX in `path`. Returns the descriptor, or -1 with errno set.
 * Blocks signals, so that on_signal() knows the name of every file. */
static int create_copy(char *path)
{
    static const char *const tails[COPY_FILES] = {"", "-wal", "-shm", "-journal"};
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    const int fd = mkstemp(path);
    for (int i = 0; i < COPY_FILES && fd >= 0; i++)
        (void)snprintf(copy_files[i], sizeof copy_files[i], "%s%s", path, tails[i]);
    (void)sigprocmask(SIG_SETMASK, &before, NULL); /* does not change errno: it cannot fail */
    return fd;
}

/* Async-signal-safe. Does nothing if there is no copy. */
static void remove_copy(void)
{
    for (int i = 0; i < COPY_FILES; i++)
        (void)unlink(copy_files[i]);
}

static void on_signal(int number)
{
    remove_copy();
    (void)raise(number);            /* SA_RESETHAND has restored the default action */
    _exit(EXIT_BY_SIGNAL + number); /* only process 1 of a container, which the default action does not end */
}

/* Removes the copy if a signal ends the process, because it is hidden and may be as large as the database. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
    struct sigaction before;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* nohup ignores SIGHUP */
            (void)sigaction(numbers[i], &action, NULL);
}

/* Copies the database, which may be on a server, into the empty file `path`. If `creates` is true and the
 * database file is missing or empty, leaves `path` empty, because the real import would create the
 * database. */
static enum err copy_database(const struct cli *cli, bool creates, const char *path, struct error *error)
{
    const struct store_options from = store_options_from_config(&cli->config, STORE_READ);
    struct stat st;
    if (!store_config_is_file(&cli->config))
        return move_back_up(&from, path, NULL, error);
    const bool is_missing = stat(from.path, &st) != 0 || st.st_size == 0;
    return creates && is_missing ? OK : store_copy(from.path, path, error);
}

static enum err open_copy(const struct cli *cli, bool creates, const char *path, struct store **out,
                          struct error *error)
{
    int applied;
    const struct store_options options = {.path = path, .mode = STORE_WRITE};
    enum err err = copy_database(cli, creates, path, error);
    if (!err)
        err = creates ? store_create(path, &applied, error) : store_migrate(path, &applied, error);
    return err ? err : store_open(out, &options, error);
}

/* Opens a copy of the database in the directory `dir`. A dry run makes a complete import into this copy. The
 * copy is unlinked as soon as it is open, so that the system deletes it even if the process is killed. */
static struct store *open_for_dry_run(const struct cli *cli, bool creates, const char *dir)
{
    char path[PATH_MAX];
    struct store *store = NULL;
    struct error error;
    int n = snprintf(path, sizeof path, "%s/.viewtally-dry-run-XXXXXX", dir);
    catch_signals();
    int fd = n < 0 || (size_t)n >= sizeof path ? -1 : create_copy(path);
    if (fd < 0) {
        (void)cli_fail(CLI_COULD_NOT, "%s: cannot create a copy of the database there: %s", dir,
                       strerror(errno));
        return NULL;
    }
    (void)close(fd);
    if (open_copy(cli, creates, path, &store, &error))
        (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    remove_copy();
    return store;
}

/* ---- running the import ---- */

static enum display_kind display_kind_of(const struct import_request *r)
{
    if (isatty(STDERR_FILENO) == 1)
        return DISPLAY_BAR;
    return r->shows_progress ? DISPLAY_LINES : DISPLAY_NONE;
}

/* Returns true if the import may have changed the database before it failed. */
static bool has_applied(const struct import_summary *summary)
{
    int64_t rows = summary->steps.videos_changed;
    for (int k = 0; k < RECORD_KINDS; k++)
        rows += summary->upserts[k].created + summary->upserts[k].changed;
    return rows > 0;
}

static enum cli_exit import_into(struct store *store, const struct import_request *r,
                                 struct import_options *options)
{
    struct import_summary summary;
    struct display display = {.kind = display_kind_of(r), .phase_us = clock_work_us()};
    options->ctx = &display;
    options->on_bad_line = on_bad_line;
    options->on_progress = display.kind == DISPLAY_NONE ? NULL : on_progress;
    enum err err = import_run(store, options, &summary);
    clear_bar(&display);
    if (err)
        return cli_fail(CLI_COULD_NOT, "the import stopped: %s%s", summary.why,
                        !r->dry_run && has_applied(&summary) ? "; import the same files again to complete it"
                                                             : "");
    const enum cli_exit code = import_report_print(&summary, r->files, r->dry_run, r->is_json);
    if (code)
        return code;
    return import_report_has_errors(&summary) ? CLI_PART : CLI_DONE;
}

static enum cli_exit import_files(struct cli *cli, const struct import_request *r)
{
    char copy[DATABASE_FILE_PATH_MAX];
    const char *dir = database_directory(copy, cli->config.store.path);
    const enum cli_exit unset = r->creates ? cli_require_creatable(cli) : CLI_DONE;
    if (unset)
        return unset;
    if (!r->dry_run && r->creates && !cli_migrate_store(cli, true))
        return CLI_COULD_NOT;
    /* A dry run that would create the database has no file to lock. */
    const bool has_database = !r->dry_run || !r->creates || access(cli->config.store.path, F_OK) == 0;
    if (has_database && !cli_lock_database(cli, false))
        return CLI_COULD_NOT;
    struct store *store = r->dry_run ? open_for_dry_run(cli, r->creates, dir) : cli_open_store(cli);
    if (!store)
        return CLI_COULD_NOT;
    struct import_options options = {
        .files = r->files,
        .file_count = r->file_count,
        .temp_dir = dir,
        .is_private = r->dry_run,
        .rules = step_rules_from_config(&cli->config),
        .unknown_fields = r->ignores_unknown ? UNKNOWN_FIELDS_IGNORED : UNKNOWN_FIELDS_REJECTED,
        .accepts_older = true,
        .accepts_exports = true,
        .allows_erased = r->allows_erased,
        .new_event_ids = r->new_event_ids,
        .now_ms = TIME_NONE,
        .by = cli_operator(),
    };
    enum cli_exit code = import_into(store, r, &options);
    if (r->dry_run) /* SQLite would log that the copy was unlinked */
        log_set(LOG_ERROR, cli->config.log.format);
    store_close(store);
    return code;
}

enum cli_exit cli_import_file(struct cli *cli, const char *path)
{
    const struct import_request request = {.files = &path, .file_count = 1};
    return import_files(cli, &request);
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const struct import_request request = {
        .files = (const char *const *)arguments->operands,
        .file_count = arguments->operand_count,
        .dry_run = cli_flag(arguments, "dry-run"),
        .creates = cli_flag(arguments, "create"),
        .ignores_unknown = cli_flag(arguments, "ignore-unknown"),
        .shows_progress = cli_flag(arguments, "progress"),
        .is_json = cli_flag(arguments, "json"),
        .allows_erased = cli_flag(arguments, "allow-erased"),
        .new_event_ids = cli_flag(arguments, "new-event-ids"),
    };
    return import_files(cli, &request);
}

static const struct cli_option import_options[] = {
    {.name = "dry-run",
     .help =
         "Print what would change, but change nothing. Imports into a copy of the database in a temporary "
         "file beside it; if the database is on a server, the file is in the directory of [store] path."},
    {.name = "create",
     .help = "Create the database if it does not exist; by default a missing database is an error."},
    {.name = "ignore-unknown",
     .help = "Apply lines with fields that the format does not have, without these fields. By default such a "
             "line is bad, because the field may be mistyped."},
    {.name = "allow-erased",
     .help = "Also import an export of an author that was erased. By default it is rejected."},
    {.name = "new-event-ids",
     .help = "Give the events of exports new ids. Use this if an event of another author in the database "
             "has one of their ids, or if their ids are too high because a clock was wrong. Clients then "
             "receive these events once more."},
    {.name = "progress",
     .help = "Print the progress to standard error every second. On a terminal a bar is always shown."},
    {.name = "json", .help = "Print the summary as JSON."},
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
         "contains and deletes nothing. Importing the file again immediately changes nothing: its lines are "
         "counted as unchanged or, if a reading is older than the newest reading of the post, as older. A "
         "bad "
         "line is reported as FILE:LINE: reason, and the other lines are applied. You need not stop the "
         "server. To complete an interrupted import, run it again.\n\n"
         "A file of `viewtally author export` can only be imported if the database lacks the author. It is "
         "imported completely or, if one of its lines is bad, not at all.",
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
