/* viewtally secrets: init, rotate, check. vault/seal.h describes the key file. */
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "vault/token_vault.h"

#include <stdio.h>

static const char *configured_file(const struct cli *cli)
{
    const char *path = cli->config.secrets.key_file;
    return *path ? path : NULL;
}

static enum cli_exit init(struct cli *cli, const struct cli_arguments *arguments)
{
    struct error error;
    const char *file = configured_file(cli);
    const char *path = arguments->operand_count ? arguments->operands[0] : file;
    if (!path)
        return cli_fail(CLI_USAGE, "FILE is missing: name a file or set [secrets] key_file");
    enum err err = seal_create_key_file(path, &error);
    if (err)
        return cli_fail(err == ERR_EXISTS ? CLI_PART : CLI_COULD_NOT, "%s", error.text);
    printf("%s contains a new key. Keep a copy of it, but apart from the backups of the database.\n", path);
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

static enum cli_exit rotate(struct cli *cli, const struct cli_arguments *arguments)
{
    struct error error;
    struct key_rotation_result done;
    (void)arguments;
    if (!configured_file(cli))
        return cli_fail(CLI_USAGE, "[secrets] key_file is not set");
    struct store *store = cli_open_store(cli);
    if (!store)
        return CLI_COULD_NOT;
    enum err err = key_rotation_run(&cli->config, store, &done, &error);
    store_close(store);
    if (err)
        return cli_fail(
            exit_of(err),
            "%s. Accounts that could be decrypted before can still be decrypted. Run this command again.",
            error.text);
    printf("The new key is %08x; %lld account%s resealed, and the old key was removed from the file.\n"
           "Old backups of the database need a copy of the old key file: keep one as long as those.\n",
           done.key_id, (long long)done.resealed, done.resealed == 1 ? " was" : "s were");
    return CLI_DONE;
}

static void print_keys(const struct seal_keys *keys)
{
    uint32_t ids[SEAL_KEYS_MAX];
    size_t count;
    seal_list_key_ids(keys, ids, &count);
    for (size_t i = 0; i < count; i++)
        printf("key %08x  %s\n", ids[i], i ? "decrypts" : "encrypts and decrypts");
}

static enum cli_exit check(struct cli *cli, const struct cli_arguments *arguments)
{
    struct error error;
    struct seal_keys *keys;
    int64_t rows = 0;
    (void)arguments;
    enum err err = seal_keys_open(&keys, configured_file(cli), &error);
    if (err)
        return cli_fail(exit_of(err), "%s", error.text);
    print_keys(keys);
    seal_keys_close(keys);
    struct store *store = cli_open_store(cli);
    if (!store)
        return CLI_COULD_NOT;
    err = vault_inspect(&cli->config, store, true, &rows, &error);
    store_close(store);
    if (err)
        return cli_fail(exit_of(err), "%s", error.text);
    printf("%lld account%s, all can be decrypted\n", (long long)rows, rows == 1 ? "" : "s");
    return CLI_DONE;
}

static const struct cli_action actions[] = {
    {.name = "init",
     .operands = "[FILE]",
     .operands_max = 1,
     .summary = "Creates the key file with a new key. Only its owner can read the file.",
     .description = "FILE is by default [secrets] key_file. An existing file is never overwritten.",
     .partial = "the file exists",
     .run = init},
    {.name = "rotate",
     .summary = "Adds a new key to the file, reseals all accounts and removes the old key.",
     .description =
         "You need not stop servers. If the command is interrupted, the tokens of all accounts can still be "
         "decrypted; run it again.",
     .partial = "an account cannot be decrypted",
     .run = rotate},
    {.name = "check",
     .summary = "Checks that the tokens of all accounts can be decrypted.",
     .description = "Exit status 2: the key file is missing or invalid.",
     .partial = "an account cannot be decrypted",
     .run = check},
    {0},
};

const struct cli_command cli_secrets = {
    .name = "secrets",
    .summary = "create, rotate and check the key that encrypts the platform tokens",
    .description =
        "The tokens of the authors' platform accounts are stored in the database sealed (encrypted) with a "
        "key. The key is in the file [secrets] key_file. Without this file the tokens are lost, so back it "
        "up, but not together with the database: anyone who has both can read the tokens.",
    .actions = actions,
};
