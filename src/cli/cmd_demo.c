/* viewtally demo: fills an empty database and prints requests to try. */
#include "base/clock.h"
#include "base/file_write.h"
#include "base/plural.h"
#include "cli/arguments.h"
#include "cli/cmd_import.h"
#include "cli/database.h"
#include "cli/invite_link.h"
#include "cli/key_create.h"
#include "cli/output.h"
#include "cli/shown_secret.h"
#include "store/store_config.h"
#include "store/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_SHOWN = 120, TOUR_MAX = 1 << 20 };

/* ---- the check that the database is empty ---- */

static bool on_any_author(void *ctx, const struct author *author)
{
    bool *any = ctx;
    (void)author;
    *any = true;
    return false;
}

/* Checks that the database has no authors. Opens it only for reading, so that a database with other data is
 * not even migrated. */
static enum cli_exit check_is_empty(struct cli *cli)
{
    const char *path = cli->config.store.path;
    const struct store_options reads = store_options_from_config(&cli->config, STORE_READ);
    struct store *store;
    struct error error;
    struct stat st;
    bool any = false;
    if (store_config_is_file(&cli->config) && (stat(path, &st) != 0 || st.st_size == 0))
        return CLI_DONE;
    if (!cli_lock_database(cli, false))
        return CLI_COULD_NOT;
    if (store_open(&store, &reads, &error))
        return cli_fail(CLI_COULD_NOT, "%s", error.text);
    const enum err err = store_list_authors(store, on_any_author, &any);
    store_close(store);
    if (err)
        return cli_fail(CLI_COULD_NOT, "database error: %s", err_name(err));
    return any ? cli_fail(CLI_PART,
                          "%s already has authors, and nothing was changed: use another database ([store] "
                          "path or url) for the demonstration, or create a key with viewtally key create",
                          store_config_name(&cli->config))
               : CLI_DONE;
}

/* ---- creating the key file ---- */

/* Creates the key file and deletes it again, because the key is created only after the import. */
static enum cli_exit check_key_file(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return cli_fail(CLI_PART,
                        "%s already exists, and nothing was changed: delete it or name another file", path);
    if (!file_close(fd, fd >= 0) || unlink(path) != 0)
        return cli_fail(CLI_COULD_NOT,
                        "cannot create the key file %s, and nothing was changed: %s: name a new file in a "
                        "directory that exists and that you can write",
                        path, strerror(errno));
    return CLI_DONE;
}

static enum cli_exit check_files(const char *input, const char *key_file)
{
    if (strcmp(input, "-") != 0 && access(input, R_OK) != 0)
        return cli_fail(CLI_COULD_NOT, "%s: %s", input, strerror(errno));
    return key_file ? check_key_file(key_file) : CLI_DONE;
}

static bool write_key(const char *path, const struct key_text *key)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool written = fd >= 0 && file_write_all(fd, key->p, key->len) && file_write_all(fd, "\n", 1);
    const bool ok = file_close(fd, written);
    if (!ok)
        (void)cli_fail(CLI_COULD_NOT, "no key was created: %s: %s", path, strerror(errno));
    if (fd >= 0 && !ok)
        (void)unlink(path);
    return ok;
}

/* ---- printing the tour ---- */

/* The data of the tour, which shows the author with the most videos. */
struct demo {
    const struct cli *cli;
    const char *key_file; /* may be NULL */
    bool has_key_file;    /* key_file was created */
    bool any;
    struct uuid author_id;
    int64_t author_row, videos;
    char name[NAME_SHOWN + 1];
    struct new_key new_key;
};

static bool on_author(void *ctx, const struct author *a)
{
    struct demo *d = ctx;
    if (d->any && a->videos_count <= d->videos)
        return true;
    d->any = true;
    d->author_id = a->id;
    d->author_row = a->row;
    d->videos = a->videos_count;
    (void)snprintf(d->name, sizeof d->name, "%.*s", (int)a->name.len, a->name.p);
    return true;
}

static void append_curl_commands(struct buf *b, const char *base_url)
{
    static const char *const paths[] = {"/account", "/videos?limit=2", "/stats?group_by=book",
                                        "/events?limit=5"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        buf_printf(b, "  curl -H \"Authorization: Bearer $KEY\" '%s%s'\n", base_url, paths[i]);
    buf_printf(b, "  curl %s/openapi.json\n", base_url);
}

static void append_invitation(struct buf *b, const struct demo *d, const struct invite_link *invitation)
{
    const char *config = d->cli->config_path;
    buf_append(b, STR("\nA link to the author's pages, to set a password (valid once, until "));
    cli_append_time(b, invitation->expires_at);
    buf_printf(b, " UTC):\n\n  %.*s\n\nFor another link: viewtally author invite ", (int)invitation->link.len,
               invitation->link.p);
    cli_append_uuid(b, &d->author_id);
    buf_printf(b, "%s%s\n", config ? " --config " : "", config ? config : "");
}

static bool print_tour(const struct demo *d, const struct invite_link *invitation)
{
    struct buf b;
    buf_init(&b, TOUR_MAX);
    buf_append(&b, STR("An API key of "));
    cli_append_text(&b, str_from_cstr(d->name));
    buf_printf(&b, ", an author with %lld video%s:\n\n  KEY=%s\n\n", (long long)d->videos,
               plural(d->videos, "", "s"), d->new_key.text.p);
    append_curl_commands(&b, d->cli->config.server.base_url);
    append_invitation(&b, d, invitation);
    return shown_secret_print(&b);
}

static enum err start_tour(struct store *store, struct arena *arena, void *ctx)
{
    struct demo *d = ctx;
    struct invite_link invitation;
    enum err err = store_list_authors(store, on_author, d);
    if (err || !d->any)
        return err;
    d->new_key.key.author_row = d->author_row;
    err = new_key_insert(store, &d->new_key);
    if (!err)
        err = invite_link_insert(store, arena, &d->cli->config, d->author_row, (struct str){NULL, 0},
                                 &invitation);
    if (err)
        return err;
    if (d->key_file && !write_key(d->key_file, &d->new_key.text))
        return ERR_CANCELED;
    d->has_key_file = d->key_file != NULL;
    return print_tour(d, &invitation) ? OK : ERR_CANCELED;
}

static enum cli_exit give_tour(struct cli *cli, const char *input, const char *key_file)
{
    struct demo d = {.cli = cli, .key_file = key_file};
    if (!new_key_init(&d.new_key, &cli->config, STR("demonstration")))
        return CLI_USAGE;
    const enum err err = cli_transaction(cli, start_tour, &d);
    const enum cli_exit code = new_key_print_error(&d.new_key, err);
    new_key_wipe(&d.new_key);
    if (err == ERR_UNKNOWN_OUTCOME && d.has_key_file)
        cli_note("%s contains the key, which is valid if the change was made", key_file);
    else if (err && d.has_key_file)
        (void)unlink(key_file);
    return code || d.any ? code : cli_fail(CLI_PART, "%s contains no author", input);
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *input = arguments->operands[0], *key_file = cli_value(arguments, "key-file");
    enum cli_exit code = cli_require_creatable(cli);
    if (!code)
        code = check_files(input, key_file);
    if (!code)
        code = check_is_empty(cli);
    if (!code && !cli_migrate_store(cli, true))
        code = CLI_COULD_NOT;
    if (!code)
        code = cli_import_file(cli, input);
    return code ? code : give_tour(cli, input, key_file);
}

static const struct cli_option demo_options[] = {
    {.name = "key-file", .argument = "PATH", .help = "Also store the API key in this new file (mode 0600)."},
    {0},
};

static const struct cli_action actions[] = {
    {.operands = "FILE",
     .operands_min = 1,
     .operands_max = 1,
     .options = demo_options,
     .description =
         "Creates the database file if it does not exist (for PostgreSQL, run viewtally migrate first) and "
         "imports FILE (see viewtally import --help). Then "
         "creates an API key for the author with the most videos and prints the key, curl commands to copy, "
         "and a link to the author's pages. Use a separate database: a database that already has "
         "authors is rejected and left unchanged.",
     .partial = "the database has authors, FILE has a bad line or no author, or the key file already exists",
     .examples = "viewtally demo readings.ndjson --key-file demo.key",
     .run = run},
    {0},
};

const struct cli_command cli_demo = {
    .name = "demo",
    .summary = "fill an empty database with FILE and print requests to try",
    .actions = actions,
};
