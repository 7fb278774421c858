/* viewtally secrets: init, rotate, check. What a key file is, is vault/seal.h's. */
#include "cli/cli.h"
#include "vault/token_vault.h"

#include <stdio.h>

enum { WHY_BYTES = 1024 };

static const char *configured(const struct cli *cli)
{
    const char *path = cli->config.secrets.key_file;
    return *path ? path : NULL;
}

static enum cli_exit init(struct cli *cli, int argc, char **argv)
{
    char why[WHY_BYTES];
    int count;
    if (!cli_parse(argc, argv, NULL, 0, 1, &count))
        return CLI_USAGE;
    const char *file = configured(cli), *path = count ? argv[1] : file;
    if (!path)
        return cli_fail(CLI_USAGE, "secrets init: where to? Name a file, or set [secrets] key_file");
    enum err err = seal_create_file(path, why, sizeof why);
    if (err)
        return cli_fail(err == ERR_EXISTS ? CLI_PART : CLI_COULD_NOT, "secrets init: %s", why);
    printf("%s holds a new key. Keep a copy of it, but not beside the backups of the database.\n", path);
    if (!file || strcmp(file, path) != 0)
        printf("The configuration does not name it yet: [secrets] key_file = %s\n", path);
    return CLI_DONE;
}

/* What the file itself is to blame for is the configuration's. */
static enum cli_exit exit_of(enum err err)
{
    switch ((int)err) {
    case ERR_NOT_FOUND:
    case ERR_INVALID: return CLI_USAGE;
    case ERR_CORRUPT: return CLI_PART;
    default: return CLI_COULD_NOT;
    }
}

static enum cli_exit rotate(struct cli *cli, int argc, char **argv)
{
    char why[WHY_BYTES];
    struct rotated done;
    int count;
    if (!cli_parse(argc, argv, NULL, 0, 0, &count))
        return CLI_USAGE;
    if (!configured(cli))
        return cli_fail(CLI_USAGE, "secrets rotate: [secrets] key_file names no file");
    struct store *store = cli_open_store(cli);
    if (!store)
        return CLI_COULD_NOT;
    enum err err = secrets_rotate(&cli->config, store, &done, why, sizeof why);
    store_close(store);
    if (err)
        return cli_fail(exit_of(err),
                        "secrets rotate: %s. Every account that could be opened still can; run it again",
                        why);
    printf("The new key is %08x; %lld account%s sealed anew, and the old key is out of the file.\n"
           "Copies of the old file open old backups of the database: keep one as long as those.\n",
           done.key_id, (long long)done.resealed, done.resealed == 1 ? " was" : "s were");
    return CLI_DONE;
}

static void print_keys(const struct seal_keys *keys)
{
    uint32_t ids[SEAL_KEYS_MAX];
    size_t count;
    seal_ids(keys, ids, &count);
    for (size_t i = 0; i < count; i++)
        printf("key %08x  %s\n", ids[i], i ? "opens" : "seals and opens");
}

static enum cli_exit check(struct cli *cli, int argc, char **argv)
{
    char why[WHY_BYTES];
    struct seal_keys *keys;
    int64_t rows = 0;
    int count;
    if (!cli_parse(argc, argv, NULL, 0, 0, &count))
        return CLI_USAGE;
    enum err err = seal_open(&keys, configured(cli), why, sizeof why);
    if (err)
        return cli_fail(exit_of(err), "secrets check: %s", why);
    print_keys(keys);
    seal_close(keys);
    struct store *store = cli_open_store(cli);
    if (!store)
        return CLI_COULD_NOT;
    err = secrets_look(&cli->config, store, true, &rows, why, sizeof why);
    store_close(store);
    if (err)
        return cli_fail(exit_of(err), "secrets check: %s", why);
    printf("%lld account%s, all of them can be opened\n", (long long)rows, rows == 1 ? "" : "s");
    return CLI_DONE;
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    static const char *const names[] = {"init", "rotate", "check", NULL};
    static enum cli_exit (*const runs[])(struct cli *, int, char **) = {init, rotate, check};
    return cli_dispatch(cli, argc, argv, names, runs);
}

const struct cli_command cli_secrets = {
    .name = "secrets",
    .synopsis = "init [FILE] | rotate | check",
    .summary = "make, change and check the key that seals the platforms' tokens",
    .help =
        "The tokens of the authors' accounts at the platforms stand in the database sealed with a key of the "
        "file\n"
        "[secrets] key_file. Without that file they are lost: copy it, but keep it apart from the backups of "
        "the\n"
        "database, for who has both has the tokens.\n\n"
        "  init    makes the file with a new key, readable by its owner only; never overwrites one\n"
        "  rotate  puts a new key into it, seals every account anew and takes the old key out. Servers may "
        "run\n"
        "          meanwhile. When it is cut off, everything stays readable; run it again\n"
        "  check   opens every account; exit status 1 when one cannot be opened, 2 when the file is to blame",
    .run = run,
};
