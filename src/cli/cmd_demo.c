/* viewtally demo: fills an empty database and prints requests to try. */
#include "base/clock.h"
#include "cli/cmd_author_login.h"
#include "cli/arguments.h"
#include "cli/cmd_import.h"
#include "cli/database.h"
#include "cli/key_create.h"
#include "cli/output.h"
#include "store/accounts.h"
#include "store/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { NAME_SHOWN = 120 };

/* The author of the demonstration: the one with the most videos. */
struct demo_author {
    bool any;
    struct uuid id;
    int64_t row, videos;
    bool has_password; /* if true, no invitation is printed, because anyone with the link could replace the
                          password */
    char name[NAME_SHOWN + 1];
};

static bool on_author(void *ctx, const struct author *a)
{
    struct demo_author *c = ctx;
    if (c->any && a->videos_count <= c->videos)
        return true;
    c->any = true;
    c->id = a->id;
    c->row = a->row;
    c->videos = a->videos_count;
    (void)snprintf(c->name, sizeof c->name, "%.*s", (int)a->name.len, a->name.p);
    return true;
}

static enum err choose(struct store *store, struct arena *arena, void *ctx)
{
    struct demo_author *c = ctx;
    struct viewer viewer;
    enum err e = store_list_authors(store, on_author, c);
    if (e || !c->any)
        return e;
    e = store_get_viewer(store, arena, c->row, &viewer);
    c->has_password = !e && viewer.password.p;
    return e;
}

static enum cli_exit find_author(struct cli *cli, struct demo_author *c)
{
    *c = (struct demo_author){.any = false};
    return cli_read(cli, choose, c) ? CLI_COULD_NOT : CLI_DONE;
}

/* Reads the API key that an earlier `viewtally demo` stored in the file `path`. Returns false if the file is
 * missing or the key is malformed. */
static bool read_key(const char *path, const struct config *config, struct key_text *key)
{
    FILE *f = path ? fopen(path, "re") : NULL;
    if (!f)
        return false;
    key->len = fread(key->p, 1, KEY_TEXT_MAX, f);
    (void)fclose(f);
    struct str line;
    (void)str_cut(str_make(key->p, key->len), '\n', &line);
    key->len = line.len;
    key->p[key->len] = '\0';
    return key_is_well_formed(str_from_cstr(config->keys.prefix), line);
}

static enum cli_exit write_key(const char *path, const struct key_text *key)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, key->p, key->len) == (ssize_t)key->len && write(fd, "\n", 1) == 1;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    return ok ? CLI_DONE : cli_fail(CLI_COULD_NOT, "%s: %s", path, strerror(errno));
}

static enum cli_exit make_key(struct cli *cli, const struct demo_author *c, const char *path,
                              struct key_text *text)
{
    struct api_key key;
    enum cli_exit code = key_create(cli, &c->id, STR("demonstration"), &key, text);
    return code || !path ? code : write_key(path, text);
}

static void print_tour(const struct cli *cli, const struct demo_author *c, const struct key_text *key)
{
    const char *base = cli->config.server.base_url;
    struct buf name;
    buf_init(&name, 1 << 20);
    cli_append_text(&name, str_from_cstr(c->name));
    printf("An API key of %.*s, an author with %lld video%s:\n\n  KEY=%s\n\n", (int)name.len, name.p,
           (long long)c->videos, c->videos == 1 ? "" : "s", key->p);
    buf_fini(&name);
    printf("  curl -H \"Authorization: Bearer $KEY\" %s/account\n", base);
    printf("  curl -H \"Authorization: Bearer $KEY\" '%s/videos?limit=2'\n", base);
    printf("  curl -H \"Authorization: Bearer $KEY\" '%s/stats?group_by=book'\n", base);
    printf("  curl -H \"Authorization: Bearer $KEY\" '%s/events?limit=5'\n", base);
    printf("  curl %s/openapi.json\n", base);
}

/* Imports `path` if the database has no author. */
static enum cli_exit fill_database(struct cli *cli, const char *path, struct demo_author *author)
{
    enum cli_exit code = find_author(cli, author);
    if (code)
        return code;
    if (author->any) {
        if (path)
            cli_note("the database already has authors: %s is not imported", path);
        return CLI_DONE;
    }
    if (!path)
        return cli_fail(CLI_USAGE, "the database is empty: name an import file (see viewtally demo --help)");
    code = cli_import_file(cli, path);
    if (!code)
        code = find_author(cli, author);
    return code || author->any ? code : cli_fail(CLI_PART, "%s contains no author", path);
}

static enum cli_exit run(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *key_file = cli_value(arguments, "key-file");
    struct demo_author author;
    struct key_text key;
    if (!cli_migrate_store(cli, true))
        return CLI_COULD_NOT;
    enum cli_exit code =
        fill_database(cli, arguments->operand_count ? arguments->operands[0] : NULL, &author);
    if (!code && !read_key(key_file, &cli->config, &key))
        code = make_key(cli, &author, key_file, &key);
    if (code)
        return code;
    print_tour(cli, &author, &key);
    if (author.has_password)
        return CLI_DONE;
    printf("\nA link to the author's pages, to set a password (valid once, for 24 hours):\n\n  ");
    return author_print_link(cli, &author.id);
}

static const struct cli_option demo_options[] = {
    {.name = "key-file",
     .argument = "PATH",
     .help = "Store the API key in this file (mode 0600) and reuse it in later runs. By default every run "
             "creates a new key."},
    {0},
};

static const struct cli_action actions[] = {
    {.operands = "[FILE]",
     .operands_max = 1,
     .options = demo_options,
     .description =
         "Creates the database if it does not exist. If it has no author yet, imports FILE (see viewtally "
         "import --help). Then creates an API key for the author with the most videos and prints curl "
         "commands to copy. If the author has no password, also prints a link to the author's pages.",
     .partial = "FILE has a bad line or contains no author",
     .examples = "viewtally demo examples/demo.ndjson --key-file demo.key",
     .run = run},
    {0},
};

const struct cli_command cli_demo = {
    .name = "demo",
    .summary = "fill an empty database with FILE and print requests to try",
    .actions = actions,
};
