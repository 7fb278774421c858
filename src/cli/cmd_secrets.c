/* viewtally secrets: init, rotate, check. vault/seal.h describes the key file. */
#include "base/file_owner.h"
#include "base/json.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "cli/table.h"
#include "store/store_config.h"
#include "vault/token_vault.h"

#include <stdio.h>
#include <unistd.h>

static const char *configured_file(const struct cli *cli)
{
    const char *path = cli->config.secrets.key_file;
    return *path ? path : NULL;
}

#define WITHOUT_KEY_FILE                                                                                     \
    "[secrets] key_file is not set, so no tokens and no webhook secrets can be stored: create a key with "   \
    "viewtally secrets init FILE, and set [secrets] key_file = FILE"

/* Returns the path whose owner is the owner of a new key file `path`. This is [store] path, unless only the
 * working directory would determine its owner, which may be the home directory of any user: that user could
 * then read the key, and the server could not. */
static const char *owner_model(const struct cli *cli, const char *path)
{
    const char *database = cli->config.store.path;
    const bool is_database = store_config_is_file(&cli->config) && access(database, F_OK) == 0;
    return is_database || *database == '/' ? database : path;
}

static enum cli_exit init(struct cli *cli, const struct cli_arguments *arguments)
{
    struct error error;
    char owner[FILE_OWNER_TEXT_MAX];
    const char *file = configured_file(cli);
    const char *path = arguments->operand_count ? arguments->operands[0] : file;
    if (!path)
        return cli_fail(CLI_USAGE, "FILE is missing: name a file or set [secrets] key_file");
    enum err err = seal_create_key_file(path, owner_model(cli, path), &error);
    if (err)
        return cli_fail(err == ERR_EXISTS ? CLI_PART : CLI_COULD_NOT, "%s", error.text);
    file_owner_format(path, owner);
    printf("%s contains a new key (%s). Keep a copy of it, but apart from the backups of the database.\n",
           path, owner);
    if (!file || strcmp(file, path) != 0)
        printf("Set it in the configuration: [secrets] key_file = %s\n", path);
    return CLI_DONE;
}

static enum cli_exit exit_of(enum err err)
{
    switch ((int)err) {
    case ERR_NOT_FOUND:
    case ERR_INVALID: return CLI_USAGE;
    case ERR_CORRUPT: return CLI_PART;
    default: return CLI_COULD_NOT;
    }
}

/* Prints, for example, "3 accounts and 1 webhook". */
static void print_rows(const struct sealed_rows *rows)
{
    printf("%lld account%s", (long long)rows->accounts, plural(rows->accounts, "", "s"));
    if (rows->webhooks)
        printf(" and %lld webhook%s", (long long)rows->webhooks, plural(rows->webhooks, "", "s"));
}

static enum cli_exit fail_rotation(enum err err, const char *why)
{
    if (err == ERR_CORRUPT)
        return cli_fail(
            CLI_PART,
            "%s. The other tokens and secrets can still be decrypted. Remove the account (viewtally "
            "platform remove) or delete the webhook, then run this command again.",
            why);
    return cli_fail(exit_of(err),
                    "%s. Tokens and secrets that could be decrypted before can still be decrypted. Run this "
                    "command again.",
                    why);
}

static enum cli_exit rotate(struct cli *cli, const struct cli_arguments *arguments)
{
    struct error error;
    struct key_rotation_result done;
    (void)arguments;
    if (!configured_file(cli))
        return cli_fail(CLI_USAGE, WITHOUT_KEY_FILE);
    struct store *store = cli_open_store(cli);
    if (!store)
        return CLI_COULD_NOT;
    enum err err = key_rotation_run(&cli->config, store, &done, &error);
    store_close(store);
    if (err)
        return fail_rotation(err, error.text);
    printf("The new key is %08x; the old key was removed from the file. Resealed: ", done.key_id);
    print_rows(&done.resealed);
    printf(
        ".\nOld backups of the database need a copy of the old key file: keep it as long as you keep these "
        "backups.\n");
    return CLI_DONE;
}

enum { FAILURES_SHOWN = 20 };

struct key_file_report {
    uint32_t ids[SEAL_KEYS_MAX]; /* the first key encrypts; all keys decrypt */
    size_t count;
    struct sealed_rows rows;
    int64_t failures; /* number of rows that cannot be decrypted */
    bool lacks_key;   /* the key file lacks the key of one of these rows */
};

static enum cli_exit print_keys(const struct key_file_report *r)
{
    static const char *const headings[] = {"KEY", "USE", NULL};
    struct table t;
    table_init(&t, headings, false);
    for (size_t i = 0; i < r->count; i++) {
        buf_printf(&t.cells, "%08x", r->ids[i]);
        table_end_cell(&t);
        table_add_text(&t, i ? STR("decrypts") : STR("encrypts and decrypts"));
    }
    return table_print(&t);
}

static enum cli_exit print_json(const struct key_file_report *r)
{
    struct buf b;
    buf_init(&b, 64 * 1024);
    json_open(&b, '{');
    JSON_KEY(&b, "keys");
    json_open(&b, '[');
    for (size_t i = 0; i < r->count; i++) {
        char id[16];
        (void)snprintf(id, sizeof id, "%08x", r->ids[i]);
        json_open(&b, '{');
        JSON_STR(&b, "id", str_from_cstr(id));
        JSON_BOOL(&b, "encrypts", i == 0);
        json_close(&b, '}');
    }
    json_close(&b, ']');
    JSON_I64(&b, "accounts", r->rows.accounts);
    JSON_I64(&b, "webhooks", r->rows.webhooks);
    json_close(&b, '}');
    buf_append_char(&b, '\n');
    return cli_print(&b);
}

static void on_failure(void *ctx, const struct error *failure)
{
    struct key_file_report *r = ctx;
    r->lacks_key |= failure->code == ERR_NOT_FOUND;
    if (++r->failures <= FAILURES_SHOWN)
        cli_note("%s", failure->text);
}

static enum cli_exit fail_rows(const struct key_file_report *r)
{
    const enum cli_exit code = r->lacks_key ? CLI_USAGE : CLI_PART;
    const long long all = r->rows.accounts + r->rows.webhooks;
    return cli_fail(code, "accounts and webhooks that cannot be decrypted: %lld of %lld%s",
                    (long long)r->failures, all,
                    r->failures > FAILURES_SHOWN ? "; only the first are listed" : "");
}

static enum cli_exit check(struct cli *cli, const struct cli_arguments *arguments)
{
    struct error error;
    struct seal_keys *keys;
    struct key_file_report report = {.count = 0};
    const bool is_json = cli_flag(arguments, "json");
    enum err err = seal_keys_open(&keys, configured_file(cli), &error);
    if (err)
        return cli_fail(exit_of(err), "%s", error.text);
    seal_list_key_ids(keys, report.ids, &report.count);
    seal_keys_close(keys);
    if (!is_json && configured_file(cli) && print_keys(&report))
        return CLI_COULD_NOT;
    struct store *store = cli_open_store(cli);
    if (!store)
        return CLI_COULD_NOT;
    err = vault_list_failures(&cli->config, store, &report.rows, on_failure, &report, &error);
    store_close(store);
    if (err)
        return cli_fail(exit_of(err), "%s", error.text);
    if (report.failures)
        return fail_rows(&report);
    if (is_json)
        return print_json(&report);
    if (!configured_file(cli)) {
        printf("No account and no webhook needs a key. %s.\n", WITHOUT_KEY_FILE);
        return cli_flush();
    }
    print_rows(&report.rows);
    printf(", all can be decrypted\n");
    return cli_flush();
}

static const struct cli_option check_options[] = {
    {.name = "json", .help = "Print the ids of the keys, and the numbers of accounts and webhooks, as JSON."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "init",
     .operands = "[FILE]",
     .operands_max = 1,
     .summary = "Creates the key file with a new key. Only its owner can read the file.",
     .description =
         "FILE is by default [secrets] key_file. An existing file is never overwritten. If root runs this "
         "command, the file belongs to the owner of the database or of its directory, so that the server can "
         "read it. If the database is on a server or missing, and [store] path is relative, the file belongs "
         "to the owner of its own directory.",
     .partial = "the file already exists",
     .examples = "viewtally secrets init /etc/viewtally/secrets.key",
     .run = init},
    {.name = "rotate",
     .summary =
         "Adds a new key to the file, reseals all tokens and webhook secrets, and removes the old key.",
     .description =
         "You need not stop servers, unless systemd passes the key file to them (LoadCredential=). If the "
         "command is interrupted, all tokens and secrets can still be "
         "decrypted; run it again.",
     .partial = "the tokens of an account or the secret of a webhook cannot be decrypted",
     .examples = "viewtally secrets rotate",
     .run = rotate},
    {.name = "check",
     .options = check_options,
     .summary = "Checks that all tokens of accounts and all secrets of webhooks can be decrypted.",
     .description = "Prints why an account or webhook cannot be decrypted, for at most the first 20. Exit "
                    "status 2: the key file is missing or invalid, or lacks a key.",
     .partial = "the tokens of an account or the secret of a webhook cannot be decrypted",
     .examples = "viewtally secrets check",
     .run = check},
    {0},
};

const struct cli_command cli_secrets = {
    .name = "secrets",
    .summary = "create, rotate and check the key that encrypts the platform tokens",
    .description =
        "The tokens of the authors' platform accounts and the secrets of webhooks are stored in the database "
        "sealed (encrypted) with a key. The key is in the file [secrets] key_file. Without this file the "
        "tokens and secrets are lost, so back it up, but not together with the database: anyone who has both "
        "can read them.",
    .actions = actions,
};
