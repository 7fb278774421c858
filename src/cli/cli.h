/* The command line: one file per command, each with its row in cli.c's table. */
#ifndef VT_CLI_CLI_H
#define VT_CLI_CLI_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/uuid.h"
#include "config/config.h"
#include "store/database_lock.h"
#include "store/store.h"

/* What scripts can rely on. */
enum cli_exit {
    CLI_DONE = 0,
    CLI_PART = 1,      /* done in part, or found bad input */
    CLI_USAGE = 2,     /* wrong usage or configuration */
    CLI_COULD_NOT = 3, /* database, network */
};

struct cli {
    struct config config;
    const char *config_path;   /* NULL: none was given and ./config.ini is not there */
    struct database_lock lock; /* held until the process ends; see cli_lock_database() */
};

struct cli_command {
    const char *name;
    const char *synopsis; /* behind the name */
    const char *summary;  /* one line */
    const char *help;     /* what --help says below */
    /* argv[0] is the command's name. */
    enum cli_exit (*run)(struct cli *cli, int argc, char **argv);
};

extern const struct cli_command cli_app, cli_author, cli_backup, cli_check_config, cli_demo, cli_import,
    cli_key, cli_migrate, cli_platform, cli_refresh, cli_restore, cli_secrets, cli_status, cli_healthcheck;

/* main(): finds --config and --help, loads the configuration, runs the command. `serve` is the one command
 * that does not stand in this layer. */
int cli_main(int argc, char **argv, const struct cli_command *serve);

/* ---- for commands ---- */

/* A command with sub-commands runs the one that argv[1] names; `names` and `runs` are NULL-terminated and
 * parallel. */
enum cli_exit cli_dispatch(struct cli *cli, int argc, char **argv, const char *const *names,
                           enum cli_exit (*const *runs)(struct cli *, int, char **));

/* One long option. Exactly one of `value` and `flag` is set. */
struct cli_option {
    const char *name; /* without the dashes */
    const char **value;
    bool *flag;
};

/* Reads the options (ended by a NULL name; NULL: none) wherever they stand; what is left are the operands,
 * moved to argv[1] and on.
 * `*count` gets their number. On an unknown option, one without its value, or operands outside min … max it
 * prints why and how to get help, and returns false. */
MUST_USE bool cli_parse(int argc, char **argv, const struct cli_option *options, int min, int max,
                        int *count);

/* Takes an option that may be given several times (`--name VALUE`, `--name=VALUE`) out of argv; before
 * cli_parse(). False: one without its value, or more than `max`; it said so. */
MUST_USE bool cli_take_values(int *argc, char **argv, const char *name, const char **values, size_t max,
                              size_t *count);

/* A message to standard error: `viewtally: …`. Returns `code`. */
enum cli_exit cli_fail(enum cli_exit code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The operand or option `what` as a UUID; false: said so. */
MUST_USE bool cli_parse_uuid(const char *what, const char *text, struct uuid *out);

/* Holds the lock of the configured database (store/database_lock.h) until the process ends. Each command
 * calls it before it opens the database, directly or by a function below; a second call does nothing. With
 * `creates` the database need not exist yet. Returns false after printing the reason. */
MUST_USE bool cli_lock_database(struct cli *cli, bool creates);

/* Brings the configured database to this binary's schema. Only with `creates` is a missing database created:
 * otherwise a mistyped path or a volume that is not mounted would become an empty service. Returns false
 * after printing the reason. */
MUST_USE bool cli_migrate_store(struct cli *cli, bool creates);

/* Migrates and opens the configured database, which has to be there, for writing. NULL: said why. */
struct store *cli_open_store(struct cli *cli);

/* Runs `work` in one transaction of the configured database, committed when it returns OK. Returns its error,
 * or that of the database; ERR_NOT_FOUND, ERR_EXISTS and ERR_INVALID are the command's to explain, anything
 * else was said already (CLI_COULD_NOT). */
typedef enum err cli_work(struct store *store, struct arena *arena, void *ctx);
MUST_USE enum err cli_transaction(struct cli *cli, cli_work *work, void *ctx);
/* For work that only reads: no transaction, so no wait for a writer. Errors as of cli_transaction(). */
MUST_USE enum err cli_read(struct cli *cli, cli_work *work, void *ctx);

/* Text for a terminal: controls escaped, so that no stored name can move the cursor. */
void cli_append_text(struct buf *out, struct str text);

/* A time in UTC to the second, as "2026-07-10 12:55:03". */
void cli_append_time(struct buf *out, int64_t t_ms);

/* Writes to standard output and frees the buffer. CLI_COULD_NOT when it cannot be written. */
enum cli_exit cli_print(struct buf *out);

#endif
