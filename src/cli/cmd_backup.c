/* viewtally backup FILE and viewtally backup now. The other subcommands are in cmd_backup_files.c. */
#include "cli/cmd_backup.h"

#include "backup/backup_file.h"
#include "backup/backup_run.h"
#include "base/nearest_word.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "cli/std_stream.h"
#include "net/ping.h"
#include "store/database_files.h"
#include "store/move.h"
#include "store/store_config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- backup FILE ---- */

/* Returns true if the target is the database or one of its companion files, even if the target is a link to
 * it. */
static bool is_of_database(const char *target, const char *database)
{
    char path[DATABASE_FILE_PATH_MAX];
    struct stat target_stat, file_stat;
    if (stat(target, &target_stat) != 0)
        return false;
    for (int i = 0; i < DATABASE_FILES; i++)
        if (database_file_path(path, database, database_file_endings[i]) && stat(path, &file_stat) == 0 &&
            file_stat.st_dev == target_stat.st_dev && file_stat.st_ino == target_stat.st_ino)
            return true;
    return false;
}

/* Rejects a target that looks like a mistyped subcommand, so that no file of this name is created. */
static enum cli_exit check_is_no_subcommand(const char *target)
{
    static const char *const subcommands[] = {"now", "list", "verify", "prune"};
    struct nearest_word nearest = nearest_word_of(str_from_cstr(target));
    if (strpbrk(target, "./") || access(target, F_OK) == 0)
        return CLI_DONE;
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
        nearest_word_compare(&nearest, subcommands[i]);
    if (!nearest.best)
        return CLI_DONE;
    return cli_fail(CLI_USAGE,
                    "unknown subcommand \"%s\" (did you mean %s?); for a file of this name, use ./%s", target,
                    nearest.best, target);
}

static enum cli_exit back_up_to_output(struct cli *cli)
{
    char path[FILE_PATH_MAX];
    struct error error;
    if (isatty(STDOUT_FILENO))
        return cli_fail(CLI_USAGE, "standard output is a terminal: redirect it to a file or a pipe");
    if (!cli_lock_database(cli, false))
        return CLI_COULD_NOT;
    enum cli_exit code = std_stream_create_file(cli, path);
    if (code)
        return code;
    const struct store_options from = store_options_from_config(&cli->config, STORE_READ);
    const enum err err = store_config_is_file(&cli->config) ? store_back_up(from.path, path, NULL, &error)
                                                            : move_back_up(&from, path, NULL, &error);
    if (err == OK)
        return std_stream_print_file(path);
    (void)unlink(path);
    return cli_fail(CLI_COULD_NOT, "%s", error.text);
}

static enum cli_exit run_backup(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *target = arguments->operands[0];
    char resolved[FILE_PATH_MAX];
    struct backup_draft draft;
    struct error error;
    const struct store_options from = store_options_from_config(&cli->config, STORE_READ);
    if (strcmp(target, "-") == 0)
        return back_up_to_output(cli);
    if (store_config_is_file(&cli->config) && is_of_database(target, cli->config.store.path))
        return cli_fail(CLI_USAGE, "%s belongs to the database itself: choose another file", target);
    const enum cli_exit code = check_is_no_subcommand(target);
    if (code)
        return code;
    const enum err err = file_target_resolve(target, resolved, &error);
    if (err)
        return cli_fail(err == ERR_INVALID ? CLI_USAGE : CLI_COULD_NOT, "%s", error.text);
    if (!cli_lock_database(cli, false))
        return CLI_COULD_NOT;
    backup_draft_delete_abandoned(resolved);
    if (backup_draft_make(&draft, &from, resolved, NULL, &error) ||
        backup_draft_publish(&draft, true, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    printf("%s: complete and verified\n", target);
    return CLI_DONE;
}

/* ---- backup now ---- */

static enum cli_exit run_now(struct cli *cli, const struct cli_arguments *arguments)
{
    struct backup_report report;
    const struct backup_options options = {.config = &cli->config};
    (void)arguments;
    if (!cli_has_backup_directory(cli))
        return CLI_USAGE;
    if (!cli_migrate_store(cli, false))
        return CLI_COULD_NOT;
    if (backup_run(&options, &report))
        return cli_fail(CLI_COULD_NOT, "%s", report.why);
    printf("%s/%s: complete and verified, %lld bytes in %lld ms; %lld old backup%s deleted\n",
           cli->config.backup.directory, report.file, (long long)report.bytes, (long long)report.duration_ms,
           (long long)report.pruned, plural(report.pruned, "", "s"));
    if (*report.warning)
        return cli_fail(CLI_PART, "%s", report.warning);
    if (!ping_send_blocking("backup", cli->config.backup.ping_url))
        return cli_fail(CLI_PART, "the request to [backup] ping_url failed (see the log line above)");
    return CLI_DONE;
}

bool cli_has_backup_directory(const struct cli *cli)
{
    if (*cli->config.backup.directory)
        return true;
    (void)cli_fail(CLI_USAGE, "[backup] directory is not set");
    return false;
}

static const struct cli_action actions[] = {
    {.name = "now",
     .summary = "Makes a scheduled backup now.",
     .description = "Makes a backup as the server does at each interval ([backup] every): copies and "
                    "verifies the database into [backup] directory, deletes old backups, records the "
                    "result, and requests [backup] ping_url. Use it from a timer of your own, for example. "
                    "Only the newest backup of an hour is kept, so the next backup in the same hour deletes "
                    "this one: use backup FILE before an upgrade.",
     .partial = "the backup was made, but an old one could not be deleted, or the request to ping_url failed",
     .examples = "viewtally backup now",
     .run = run_now},
    {.name = "list",
     .options = backup_list_options,
     .summary = "Lists the scheduled backups, oldest first.",
     .description = "Reads only [backup] directory, so it works without the database. The id identifies the "
                    "database that was copied; it changes with each restore.",
     .examples = "viewtally backup list",
     .run = backup_list_files},
    {.name = "verify",
     .operands = "[FILE…]",
     .operands_max = INT_MAX,
     .summary = "Checks every page of backups.",
     .description = "Without FILE, checks all scheduled backups of [backup] directory. Changes nothing.",
     .partial = "at least one file is damaged or not a backup, or the directory contains no backup",
     .examples = "viewtally backup verify\nviewtally backup verify /mnt/offsite/viewtally.db",
     .run = backup_verify_files},
    {.name = "prune",
     .options = backup_prune_options,
     .summary = "Deletes old backups, as the server does after each scheduled backup.",
     .description =
         "Deletes the backups in [backup] directory that [backup] keep_hourly, keep_daily and keep_weekly do "
         "not keep. The newest backup and the backups of other databases are always kept.\n\n"
         "--before-files deletes the databases that `viewtally restore` has replaced (DATABASE.before-TIME), "
         "and nothing else. They are the only copy of what happened between the backup and the restore, so "
         "no other command deletes them. It needs a database file: if the database is on a server, delete "
         "the "
         "files viewtally.before-TIME.db of restores yourself.",
     .examples = "viewtally backup prune --dry-run\nviewtally backup prune --before-files",
     .run = backup_prune_files},
    {.operands = "FILE",
     .operands_min = 1,
     .operands_max = 1,
     .summary = "Copies the database to a file.",
     .description = "Copies a consistent snapshot of the database, verifies every page of the copy, and then "
                    "renames the copy to FILE. An existing FILE is replaced; if it is a symbolic link, the "
                    "file it leads to is replaced. The server and imports may keep running. If FILE is -, "
                    "writes the verified copy to standard output.",
     .examples = "viewtally backup /var/backups/viewtally.db\n"
                 "viewtally backup - | zstd | ssh backup.example 'cat >viewtally.db.zst'",
     .run = run_backup},
    {0},
};

const struct cli_command cli_backup = {
    .name = "backup",
    .summary = "copy the database while the server runs; list, verify and delete backups",
    .actions = actions,
};
