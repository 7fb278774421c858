/* What commands share: options, messages, transactions, output. */
#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/cli.h"
#include "store/write.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>

enum { OPTIONS_MAX = 8, TEXT_MAX_BYTES = 1 << 20 };

enum cli_exit cli_fail(enum cli_exit code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)fputs("viewtally: ", stderr);
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
    va_end(ap);
    return code;
}

enum cli_exit cli_dispatch(struct cli *cli, int argc, char **argv, const char *const *names,
                           enum cli_exit (*const *runs)(struct cli *, int, char **))
{
    for (int i = 0; argc > 1 && names[i]; i++)
        if (strcmp(argv[1], names[i]) == 0)
            return runs[i](cli, argc - 1, argv + 1);
    return cli_fail(CLI_USAGE, "%s: %s is not one of its commands (see viewtally %s --help)", argv[0],
                    argc > 1 ? argv[1] : "nothing", argv[0]);
}

/* What getopt_long() has just refused. For a letter it may still stand before the argument that holds it. */
static void refuse_option(char **argv)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    (void)cli_fail(CLI_USAGE, "%s: %s is no option of it, or wants a value (see --help)", argv[0],
                   optopt >= ' ' ? letter : argv[optind - 1]);
}

bool cli_take_values(int *argc, char **argv, const char *name, const char **values, size_t max, size_t *count)
{
    size_t len = strlen(name);
    int kept = 1;
    *count = 0;
    for (int i = 1; i < *argc; i++) {
        const char *text = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "", *value = NULL;
        if (strncmp(text, name, len) == 0 && text[len] == '=')
            value = text + len + 1;
        else if (strcmp(text, name) == 0 && i + 1 < *argc)
            value = argv[++i];
        if (!value && strcmp(text, name) != 0) {
            argv[kept++] = argv[i];
            continue;
        }
        if (!value || *count == max) {
            (void)cli_fail(CLI_USAGE, "%s: --%s %s", argv[0], name,
                           value ? "was given too often" : "wants a value");
            return false;
        }
        values[(*count)++] = value;
    }
    *argc = kept;
    argv[kept] = NULL;
    return true;
}

bool cli_parse(int argc, char **argv, const struct cli_option *options, int min, int max, int *count)
{
    struct option list[OPTIONS_MAX + 1] = {{0}};
    int found;
    for (int n = 0; options && options[n].name; n++) {
        CHECK(n < OPTIONS_MAX);
        list[n] =
            (struct option){options[n].name, options[n].value ? required_argument : no_argument, NULL, n};
    }
    optind = 1;
    opterr = 0;
    while ((found = getopt_long(argc, argv, "", list, NULL)) != -1) {
        if (found == '?') {
            refuse_option(argv);
            return false;
        }
        if (options[found].value)
            *options[found].value = optarg;
        else
            *options[found].flag = true;
    }
    *count = argc - optind;
    if (*count < min || *count > max) {
        (void)cli_fail(CLI_USAGE, "%s: too %s operands (see --help)", argv[0], *count < min ? "few" : "many");
        return false;
    }
    memmove(argv + 1, argv + optind, (size_t)*count * sizeof *argv);
    return true;
}

bool cli_parse_uuid(const char *what, const char *text, struct uuid *out)
{
    if (text && uuid_parse(str_from_cstr(text), out))
        return true;
    (void)cli_fail(CLI_USAGE, "%s %s", what, text ? "is not a UUID" : "is missing");
    return false;
}

bool cli_lock_database(struct cli *cli, bool creates)
{
    struct error error;
    if (cli->lock.file.fd >= 0 ||
        database_lock_share(&cli->lock, cli->config.store.path, creates, &error) == OK)
        return true;
    (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    return false;
}

bool cli_migrate_store(struct cli *cli, bool creates)
{
    const char *path = cli->config.store.path;
    struct error error;
    int applied;
    if (!cli_lock_database(cli, creates))
        return false;
    enum err err = creates ? store_create(path, &applied, &error) : store_migrate(path, &applied, &error);
    if (err)
        (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    return !err;
}

struct store *cli_open_store(struct cli *cli)
{
    struct store *store = NULL;
    struct error error;
    struct store_options options = {.path = cli->config.store.path,
                                    .mode = STORE_WRITE,
                                    .busy_timeout_ms = (int)cli->config.store.busy_timeout_ms};
    if (!cli_migrate_store(cli, false))
        return NULL;
    if (store_open(&store, &options, &error))
        (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    return store;
}

static bool is_for_the_command(enum err e)
{
    return e == ERR_NOT_FOUND || e == ERR_EXISTS || e == ERR_INVALID;
}

enum err cli_read(struct cli *cli, cli_work *work, void *ctx)
{
    struct arena arena;
    struct store *store = cli_open_store(cli);
    if (!store)
        return ERR_IO;
    arena_init(&arena, 4096);
    enum err e = work(store, &arena, ctx);
    arena_fini(&arena);
    store_close(store);
    if (e && !is_for_the_command(e))
        (void)cli_fail(CLI_COULD_NOT, "the database says: %s", err_name(e));
    return e;
}

enum err cli_transaction(struct cli *cli, cli_work *work, void *ctx)
{
    struct arena arena;
    struct store *store = cli_open_store(cli);
    if (!store)
        return ERR_IO;
    arena_init(&arena, 4096);
    enum err e = store_begin(store);
    if (e == OK)
        e = work(store, &arena, ctx);
    if (e == OK)
        e = store_commit(store);
    if (e)
        store_rollback(store);
    arena_fini(&arena);
    store_close(store);
    if (e && !is_for_the_command(e))
        (void)cli_fail(CLI_COULD_NOT, "nothing was changed: the database says: %s", err_name(e));
    return e;
}

void cli_append_text(struct buf *out, struct str text)
{
    struct buf quoted;
    buf_init(&quoted, TEXT_MAX_BYTES);
    json_str(&quoted, text.p ? text : STR(""));
    if (quoted.len >= 2)
        buf_append(out, str_make(quoted.p + 1, quoted.len - 2));
    buf_fini(&quoted);
}

void cli_append_time(struct buf *out, int64_t t_ms)
{
    char text[TIME_TEXT_LEN];
    time_format(t_ms, text);
    buf_printf(out, "%.10s %.8s", text, text + 11);
}

enum cli_exit cli_print(struct buf *out)
{
    bool ok = !out->failed && (!out->len || fwrite(out->p, 1, out->len, stdout) == out->len);
    ok = ok && fflush(stdout) == 0;
    buf_fini(out);
    return ok ? CLI_DONE : cli_fail(CLI_COULD_NOT, "the output cannot be written");
}
