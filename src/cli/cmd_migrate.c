/* viewtally migrate: creates the database or migrates it to this binary's schema, after a backup, and
 * finalizes an import that was killed. */
#include "base/json.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "cli/server_migrate.h"
#include "import/finalizing.h"
#include "store/replace.h"
#include "store/store_config.h"
#include "store/upgrade.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { PROGRESS_TERMINAL_MS = 500, PROGRESS_FILE_MS = 10000 };

struct migrate_display {
    const char *path;
    bool backs_up, is_json, is_terminal;
    int64_t shown_ms; /* elapsed time at the last progress line */
};

/* ---- what would be done ---- */

static void print_plan(const char *path, const struct migration_plan *plan, bool backs_up)
{
    char size[UPGRADE_TEXT_MAX], duration[UPGRADE_TEXT_MAX], space[UPGRADE_TEXT_MAX], free[UPGRADE_TEXT_MAX];
    printf("%s: schema version %" PRId64 ", %" PRId64 " video%s, %s\n", path, plan->version, plan->videos,
           plural(plan->videos, "", "s"), upgrade_format_bytes(plan->database_bytes, size));
    printf("%d migration%s to schema version %d, about %s%s; needs %s of disk space, %s free\n",
           plan->pending, plural(plan->pending, "", "s"), schema_migration_count,
           upgrade_format_ms(migration_plan_ms(plan, backs_up), duration), backs_up ? " with a backup" : "",
           upgrade_format_bytes(migration_plan_bytes(plan, backs_up), space),
           upgrade_format_bytes(plan->free_bytes, free));
    if (plan->is_additive)
        printf("The previous release can use the database afterwards, and servers may keep running\n");
    else
        printf("The previous release cannot use the database afterwards; stop all servers first\n");
}

static void print_pending(const struct migration_plan *plan)
{
    char duration[UPGRADE_TEXT_MAX];
    for (int i = 0; i < schema_migration_count; i++) {
        const struct schema_migration *m = &schema_migrations[i];
        if (!migration_plan_includes(plan, m))
            continue;
        printf("  migration %d %s: %s, about %s\n", m->version, m->name,
               m->is_additive ? "additive" : "not additive",
               upgrade_format_ms(migration_plan_ms_of(plan, m), duration));
    }
}

/* Writes the common members of all results and leaves the JSON object open. */
static void begin_json(struct buf *b, const char *path, const char *state, int64_t version)
{
    buf_init(b, 1 << 20);
    json_open(b, '{');
    JSON_STR(b, "database", str_from_cstr(path));
    JSON_STR(b, "state", str_from_cstr(state));
    JSON_I64(b, "schema_version", version);
    JSON_I64(b, "program_version", schema_migration_count);
}

static enum cli_exit end_json(struct buf *b)
{
    json_close(b, '}');
    buf_append_char(b, '\n');
    return cli_print(b);
}

static void append_pending_json(struct buf *b, const struct migration_plan *plan)
{
    JSON_KEY(b, "migrations");
    json_open(b, '[');
    for (int i = 0; plan->version && plan->pending && i < schema_migration_count; i++) {
        const struct schema_migration *m = &schema_migrations[i];
        if (!migration_plan_includes(plan, m))
            continue;
        json_open(b, '{');
        JSON_I64(b, "version", m->version);
        JSON_STR(b, "name", str_from_cstr(m->name));
        JSON_BOOL(b, "additive", m->is_additive);
        JSON_I64(b, "estimate_ms", migration_plan_ms_of(plan, m));
        json_close(b, '}');
    }
    json_close(b, ']');
}

static enum cli_exit print_plan_json(const char *path, const struct migration_plan *plan, bool backs_up)
{
    const char *state = plan->version == 0                       ? "missing"
                        : plan->pending                          ? "pending"
                        : plan->version > schema_migration_count ? "newer"
                                                                 : "up_to_date";
    const bool has_plan = plan->version && plan->pending;
    struct buf b;
    begin_json(&b, path, state, plan->version);
    JSON_I64(&b, "videos", plan->videos);
    JSON_I64(&b, "database_bytes", plan->database_bytes);
    append_pending_json(&b, plan);
    JSON_BOOL(&b, "additive", plan->is_additive);
    JSON_I64(&b, "estimate_ms", has_plan ? migration_plan_ms(plan, backs_up) : 0);
    JSON_I64(&b, "needed_bytes", has_plan ? migration_plan_bytes(plan, backs_up) : 0);
    JSON_I64(&b, "free_bytes", plan->free_bytes);
    return end_json(&b);
}

static void print_up_to_date(const char *path, int64_t version)
{
    if (version > schema_migration_count)
        printf("%s: schema version %" PRId64 " of a newer release, which this release can use\n", path,
               version);
    else
        printf("%s: up to date\n", path);
}

static void print_check(const char *path, const struct migration_plan *plan, bool backs_up)
{
    if (plan->version == 0) {
        printf("%s: would be created\n", path);
    } else if (!plan->pending) {
        print_up_to_date(path, plan->version);
    } else {
        print_plan(path, plan, backs_up);
        print_pending(plan);
    }
}

static enum cli_exit check(struct cli *cli, bool backs_up, bool is_json)
{
    const char *path = cli->config.store.path;
    struct migration_plan plan = {.version = 0};
    struct error error;
    /* A missing database has no file to lock, unless a restore is renaming it. */
    if ((access(path, F_OK) == 0 || database_replace_was_interrupted(path)) && !cli_lock_database(cli, false))
        return CLI_COULD_NOT;
    if (migration_plan_read(path, true, &plan, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (plan.version && !plan.pending && !cli_check_store(cli))
        return CLI_COULD_NOT;
    if (!is_json)
        print_check(path, &plan, backs_up);
    if (is_json ? print_plan_json(path, &plan, backs_up) : cli_flush())
        return CLI_COULD_NOT;
    if (plan.version == 0)
        return CLI_PART;
    if (!plan.pending)
        return CLI_DONE;
    if (migration_plan_bytes(&plan, backs_up) > plan.free_bytes)
        return cli_fail(CLI_COULD_NOT, "%s: the disk has too little free space", path);
    return CLI_PART;
}

/* ---- migrating and printing messages ---- */

/* Prints a progress line. `event->migration` is NULL while the backup is made. */
static void print_progress(struct migrate_display *d, const struct upgrade_event *event)
{
    const struct schema_migration *m = event->migration;
    char elapsed[UPGRADE_TEXT_MAX], estimate[UPGRADE_TEXT_MAX], step[64] = "backup";
    if (event->elapsed_ms - d->shown_ms < (d->is_terminal ? PROGRESS_TERMINAL_MS : PROGRESS_FILE_MS))
        return;
    d->shown_ms = event->elapsed_ms;
    if (m)
        (void)snprintf(step, sizeof step, "migration %d %s", m->version, m->name);
    (void)fprintf(
        stderr, "%s%s: %s of about %s%s", d->is_terminal ? "\r\033[K" : "", step,
        upgrade_format_ms(event->elapsed_ms, elapsed),
        upgrade_format_ms(m ? migration_plan_ms_of(event->plan, m) : event->plan->backup_ms, estimate),
        d->is_terminal ? "" : "\n");
    (void)fflush(stderr);
}

static void end_progress(struct migrate_display *d)
{
    if (d->is_terminal && d->shown_ms)
        (void)fputs("\r\033[K", stderr);
    d->shown_ms = 0;
}

/* Shows only the progress, on standard error: with --json, standard output contains only the result. */
static void on_event_json(struct migrate_display *d, const struct upgrade_event *event)
{
    if (event->stage == UPGRADE_WAITING)
        cli_note("waiting for another process that migrates the database");
    else if (event->stage == UPGRADE_BACKING_UP || event->stage == UPGRADE_RUNNING)
        print_progress(d, event);
    else
        end_progress(d);
}

static void on_event(void *ctx, const struct upgrade_event *event)
{
    struct migrate_display *d = ctx;
    char elapsed[UPGRADE_TEXT_MAX];
    if (d->is_json) {
        on_event_json(d, event);
        return;
    }
    switch (event->stage) {
    case UPGRADE_WAITING: printf("waiting for another process that migrates the database\n"); break;
    case UPGRADE_PLANNED: print_plan(d->path, event->plan, d->backs_up); break;
    case UPGRADE_BACKING_UP: print_progress(d, event); break;
    case UPGRADE_BACKED_UP:
        end_progress(d);
        printf("backup: %s (verified, %s)\n", event->backup, upgrade_format_ms(event->elapsed_ms, elapsed));
        break;
    case UPGRADE_STARTING: break;
    case UPGRADE_RUNNING: print_progress(d, event); break;
    case UPGRADE_APPLIED:
        end_progress(d);
        printf("migration %d %s: %s\n", event->migration->version, event->migration->name,
               upgrade_format_ms(event->elapsed_ms, elapsed));
        break;
    }
    (void)fflush(stdout);
}

/* Sets `*videos` to the number of finalized videos. */
static enum cli_exit finalize_import(const struct cli *cli, int64_t *videos)
{
    const struct step_rules rules = step_rules_from_config(&cli->config);
    const struct store_options options = store_options_from_config(&cli->config, STORE_WRITE);
    struct finalizing_result done;
    struct error error;
    if (finalizing_run_all(&options, &rules, &done, &error))
        return cli_fail(CLI_COULD_NOT, "%s: %s", store_config_name(&cli->config), error.text);
    *videos = done.videos;
    return CLI_DONE;
}

static enum cli_exit print_migrated(const char *path, const struct upgrade_result *result, int64_t videos)
{
    if (result->applied)
        printf("%s: %d migration%s applied\n", path, result->applied, plural(result->applied, "", "s"));
    else
        print_up_to_date(path, result->version);
    if (videos)
        printf("%s: finalized %lld video%s of an interrupted import\n", path, (long long)videos,
               plural(videos, "", "s"));
    return cli_flush();
}

static enum cli_exit print_migrated_json(const char *path, const struct upgrade_result *result,
                                         int64_t videos)
{
    const bool is_newer = result->version > schema_migration_count;
    const char *state = result->version == 0 ? "created"
                        : result->applied    ? "migrated"
                        : is_newer           ? "newer"
                                             : "up_to_date";
    struct buf b;
    begin_json(&b, path, state, is_newer ? result->version : schema_migration_count);
    JSON_I64(&b, "applied", result->applied);
    JSON_STR(&b, "backup", str_from_cstr(*result->backup ? result->backup : NULL));
    JSON_I64(&b, "finalized_videos", videos);
    return end_json(&b);
}

static enum cli_exit migrate(struct cli *cli, bool backs_up, bool is_json)
{
    const char *path = cli->config.store.path;
    struct migrate_display display = {
        .path = path, .backs_up = backs_up, .is_json = is_json, .is_terminal = isatty(STDERR_FILENO) == 1};
    const struct upgrade_options options = {.mode = backs_up ? UPGRADE_COMMAND : UPGRADE_WITHOUT_BACKUP,
                                            .creates = true,
                                            .observer = on_event,
                                            .ctx = &display};
    struct upgrade_result result;
    struct error error;
    int64_t videos = 0;
    if (!cli_lock_database(cli, true))
        return CLI_COULD_NOT;
    if (upgrade_database(&cli->lock, path, &options, &result, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    if (!cli_check_store(cli))
        return CLI_COULD_NOT;
    const enum cli_exit finalized = finalize_import(cli, &videos);
    const enum cli_exit printed = (is_json ? print_migrated_json : print_migrated)(path, &result, videos);
    return finalized ? finalized : printed;
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const bool backs_up = !cli_flag(arguments, "no-backup"), is_json = cli_flag(arguments, "json");
    if (!store_config_is_file(&cli->config))
        return cli_flag(arguments, "check") ? server_migrate_check(cli, is_json)
                                            : server_migrate(cli, is_json);
    const enum cli_exit code = cli_require_creatable(cli);
    if (code)
        return code;
    return cli_flag(arguments, "check") ? check(cli, backs_up, is_json) : migrate(cli, backs_up, is_json);
}

static const struct cli_option migrate_options[] = {
    {.name = "check",
     .help =
         "Change nothing. Print the pending migrations, how long they take and how much disk space they "
         "need; for PostgreSQL, only their number. Exit status 0: none is pending; 1: some are pending, or "
         "the database does not exist; 3: they cannot be applied."},
    {.name = "no-backup", .help = "Make no backup. Use this only if you have just made one."},
    {.name = "json", .help = "Print the result as JSON."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = migrate_options,
     .description =
         "Creates the database (in PostgreSQL, its tables) if it does not exist and applies all "
         "migrations that it lacks. With a database file, `demo`, `serve --create` and `import --create` "
         "also create it; other commands, except `restore` and `move`, fail if it is missing, because its "
         "volume might not be mounted. A database of a newer version that this version cannot use is "
         "rejected and left unchanged.\n\n"
         "If migrations are pending, the database file is first copied to DATABASE.schema-N, where N is "
         "its schema version, and the copy is verified. Delete the copy when you no longer need it. The "
         "server and other commands apply short migrations of a database file themselves. A PostgreSQL "
         "database is migrated only by this command, which does not copy it: make a backup first. If the "
         "command is interrupted or killed, run it again.",
     .partial = "with --check, migrations are pending, or the database does not exist",
     .examples = "viewtally migrate --check\nviewtally migrate",
     .run = run},
    {0},
};

const struct cli_command cli_migrate = {
    .name = "migrate",
    .summary = "create the database or migrate it to this version",
    .actions = actions,
};
