/* viewtally move: copies all data into another database, which may be on a database server. */
#include "base/clock.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "store/database_lock.h"
#include "store/move.h"
#include "store/server_upgrade.h"
#include "store/store_config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROGRESS_EVERY_US = 1000 * 1000, LOCK_TIMEOUT_MS = 10000 };

struct move_display {
    bool is_terminal;
    int64_t shown_us; /* time at which the last progress line was printed */
};

static bool is_server(const char *place)
{
    const struct str s = str_from_cstr(place);
    return str_starts_with(s, STR("postgresql://")) || str_starts_with(s, STR("postgres://"));
}

static struct store_options options_of(const char *place, const char *password_file)
{
    struct store_options options = {.mode = STORE_WRITE, .busy_timeout_ms = LOCK_TIMEOUT_MS};
    if (is_server(place)) {
        options.url = place;
        options.password_file = password_file;
    } else {
        options.path = place;
    }
    return options;
}

/* ---- creating and locking the databases ---- */

static enum err create_on_server(const struct store_options *to, struct error *error)
{
    struct server_upgrade_result is;
    enum err err = server_upgrade_check(to->url, to->password_file, &is, error);
    if (!err && is.version == 0)
        err = server_upgrade(to->url, to->password_file, &is, error);
    return err;
}

static enum err create_file(const char *path, struct error *error)
{
    struct stat st;
    int count;
    return stat(path, &st) == 0 && st.st_size ? OK : store_create(path, &count, error);
}

/* Creates the target database of a move unless it exists. */
static enum err create(const struct store_options *to, struct error *error)
{
    return to->url ? create_on_server(to, error) : create_file(to->path, error);
}

/* Locks a database file: with an exclusive lock if the command writes to it, otherwise with a shared lock, so
 * that other processes may use it. */
static enum err lock(struct database_lock *l, const struct store_options *options, bool is_written,
                     struct error *error)
{
    if (options->url)
        return OK;
    return is_written ? database_lock_acquire_exclusive(l, options->path, error)
                      : database_lock_acquire_shared(l, options->path, false, error);
}

/* Warns the operator if another process, such as a server, uses the database file, because the copy does not
 * contain data that this process writes after the move. Does nothing for a database on a server, because the
 * processes that use it are unknown. */
static void warn_if_used(const struct store_options *from)
{
    struct database_lock l = {.file.fd = -1};
    struct error error;
    if (from->url || access(from->path, F_OK) != 0)
        return;
    if (database_lock_acquire_exclusive(&l, from->path, &error) == ERR_BUSY)
        cli_note(
            "another process, probably a server, uses %s: stop this process before the move ends, because "
            "the copy does not contain what it writes afterwards",
            from->path);
    database_lock_release(&l);
}

/* ---- messages ---- */

static bool on_progress(void *ctx, const struct move_progress *progress)
{
    struct move_display *d = ctx;
    const int64_t now_us = clock_work_us();
    if (now_us - d->shown_us < PROGRESS_EVERY_US)
        return true;
    d->shown_us = now_us;
    (void)fprintf(stderr, "%s%s %s: %lld row%s%s", d->is_terminal ? "\r\033[K" : "",
                  progress->is_comparing ? "comparing" : "copying", progress->table,
                  (long long)progress->rows, plural(progress->rows, "", "s"), d->is_terminal ? "" : "\n");
    (void)fflush(stderr);
    return true;
}

/* Prints an absolute path, because a server may run in another directory. */
static void print_path(const char *keys, const char *path)
{
    char resolved[PATH_MAX];
    printf("%s = %s\n", keys, realpath(path, resolved) ? resolved : path);
}

static void note_replaced(const struct move_result *result)
{
    if (result->replaced)
        cli_note(
            "%lld text%s, such as the name of a file in the spool, %s not valid UTF-8; in the copy, each "
            "invalid byte is replaced by U+FFFD",
            (long long)result->replaced, plural(result->replaced, "", "s"),
            plural(result->replaced, "is", "are"));
}

static enum cli_exit print_moved(const struct move_options *o, const struct move_result *result)
{
    printf("%lld row%s copied%s, and %lld row%s compared: the databases are equal\n",
           (long long)result->copied, plural(result->copied, "", "s"),
           result->resumed ? " (in addition to those that an interrupted move had copied)" : "",
           (long long)result->compared, plural(result->compared, "", "s"));
    printf("To use the copy, set this in the configuration, and restart the servers:\n[store]\n");
    if (!o->to.url)
        print_path("url =\npath", o->to.path);
    else
        printf("url = %s\n", o->to.url);
    if (o->to.url && o->to.password_file)
        print_path("password_file", o->to.password_file);
    return cli_flush();
}

static enum cli_exit print_equal(const struct move_result *result)
{
    printf("%lld row%s compared: the databases are equal\n", (long long)result->compared,
           plural(result->compared, "", "s"));
    return cli_flush();
}

/* ---- moving the data ---- */

/* Prints an error and returns false if the URL is invalid, for example because it contains a password. */
static bool is_usable(const char *option, const struct store_options *options)
{
    struct error error;
    if (!options->url || store_url_check(options->url, &error) == OK)
        return true;
    (void)cli_fail(CLI_USAGE, "--%s: %s", option, error.text);
    return false;
}

/* Each connection reads the password file again, so the file must not be a pipe, such as that of <(...). */
static bool is_readable_again(const char *password_file)
{
    struct stat st;
    if (!password_file || stat(password_file, &st) != 0 || S_ISREG(st.st_mode))
        return true; /* if the file does not exist, the first connection reports it */
    (void)cli_fail(CLI_USAGE,
                   "--password-file: %s is not a regular file, but the password is read from it several "
                   "times: write the password to a file that only you can read (chmod 600)",
                   password_file);
    return false;
}

static enum cli_exit move_locked(struct move_options *o, bool only_verifies, bool shows_progress)
{
    struct move_display display = {.is_terminal = isatty(STDERR_FILENO) == 1, .shown_us = clock_work_us()};
    struct move_result result = {.differs = false};
    struct error error;
    if (shows_progress || display.is_terminal)
        o->observer = on_progress;
    o->ctx = &display;
    o->create = only_verifies ? NULL : create;
    const enum err err = (only_verifies ? move_verify : move_store)(o, &result, &error);
    if (display.is_terminal)
        (void)fputs("\r\033[K", stderr);
    if (err)
        error_replace(&error, "[store] password_file", "--password-file");
    if (err)
        return cli_fail(result.differs && only_verifies ? CLI_PART : CLI_COULD_NOT, "%s%s", error.text,
                        err == ERR_IO && !only_verifies ? "; run the same command again: it continues" : "");
    note_replaced(&result);
    return only_verifies ? print_equal(&result) : print_moved(o, &result);
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *password_file = cli_value(arguments, "password-file");
    const bool only_verifies = cli_flag(arguments, "verify");
    struct move_options o = {.from = options_of(cli_value(arguments, "from"), password_file),
                             .to = options_of(cli_value(arguments, "to"), password_file)};
    struct database_lock from = {.file.fd = -1}, to = {.file.fd = -1};
    struct error error;
    enum cli_exit code;
    (void)cli;
    if (!is_usable("from", &o.from) || !is_usable("to", &o.to) || !is_readable_again(password_file))
        return CLI_USAGE;
    if (!only_verifies)
        warn_if_used(&o.from);
    if (lock(&from, &o.from, false, &error) || lock(&to, &o.to, !only_verifies, &error))
        code = cli_fail(CLI_COULD_NOT, "%s", error.text);
    else
        code = move_locked(&o, only_verifies, cli_flag(arguments, "progress"));
    database_lock_release(&to);
    database_lock_release(&from);
    return code;
}

static const struct cli_option move_options[] = {
    {.name = "from",
     .argument = "DATABASE",
     .is_required = true,
     .help = "The database that is copied. It is not changed."},
    {.name = "to",
     .argument = "DATABASE",
     .is_required = true,
     .help = "The database to copy to. It must be empty. An SQLite database that does not exist is "
             "created; a PostgreSQL database must exist, and its tables are created."},
    {.name = "password-file",
     .argument = "FILE",
     .help =
         "The password for postgresql:// URLs is the first line of FILE, which must be a regular file and "
         "not a pipe. By default, it is looked up in the file that the environment variable PGPASSFILE "
         "names, or in ~/.pgpass."},
    {.name = "verify", .help = "Copy nothing. Compare the databases."},
    {.name = "progress",
     .help = "Print the progress to standard error every second. On a terminal it is always shown."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = move_options,
     .description =
         "Copies all data between an SQLite database and a PostgreSQL database, in either direction, and "
         "then compares them row by row. DATABASE is the path of an SQLite database, or a postgresql:// "
         "URL without a password. The configuration is not used.\n\n"
         "While the command is running, servers can read the database that is copied, but their writes wait "
         "and then fail. Stop the servers before the command ends, because what they write afterwards is not "
         "in the copy. If the command is interrupted, run it again: it continues. Until it has succeeded, "
         "no other command opens the copy.\n\n"
         "Clients need not do anything: ids, keys, sessions and positions in the event feed stay the same. "
         "Leases and the record of scheduled backups are not copied.",
     .partial = "with --verify, the databases differ",
     .examples = "viewtally move --from /var/lib/viewtally/viewtally.db "
                 "--to postgresql://viewtally@db.example/viewtally "
                 "--password-file /etc/viewtally/postgres-password\n"
                 "viewtally move --from postgresql://viewtally@db.example/viewtally "
                 "--to /var/lib/viewtally/viewtally.db\n"
                 "viewtally move --verify --from /var/lib/viewtally/viewtally.db "
                 "--to postgresql://viewtally@db.example/viewtally",
     .run = run},
    {0},
};

const struct cli_command cli_move = {
    .name = "move",
    .summary = "copy all data into another database, from SQLite to PostgreSQL or back",
    .actions = actions,
};
