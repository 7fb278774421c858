/* viewtally demo: a database to try things out with, and the requests to try. */
#include "base/clock.h"
#include "cli/cmd_author_login.h"
#include "cli/key_create.h"
#include "store/accounts.h"
#include "store/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { NAME_SHOWN = 120 };

/* The author to show: the one with the most videos. */
struct choice {
    bool any;
    struct uuid id;
    int64_t row, videos;
    bool signs_in; /* has a password already: no further link is made, which would let others set a new one */
    char name[NAME_SHOWN + 1];
};

static bool on_author(void *ctx, const struct author *a)
{
    struct choice *c = ctx;
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
    struct choice *c = ctx;
    struct viewer viewer;
    enum err e = store_list_authors(store, on_author, c);
    if (e || !c->any)
        return e;
    e = store_get_viewer(store, arena, c->row, &viewer);
    c->signs_in = !e && viewer.password.p;
    return e;
}

static enum cli_exit find_author(struct cli *cli, struct choice *c)
{
    *c = (struct choice){.any = false};
    return cli_read(cli, choose, c) ? CLI_COULD_NOT : CLI_DONE;
}

/* The key of an earlier run. False: there is none, or it is not one of ours. */
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

static enum cli_exit make_key(struct cli *cli, const struct choice *c, const char *path,
                              struct key_text *text)
{
    struct api_key key;
    enum cli_exit code = key_create(cli, &c->id, STR("demonstration"), &key, text);
    return code || !path ? code : write_key(path, text);
}

static void print_tour(const struct cli *cli, const struct choice *c, const struct key_text *key)
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

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    const char *key_file = NULL;
    int count;
    struct choice choice;
    struct key_text key;
    const struct cli_option options[] = {{"key-file", &key_file, NULL}, {0}};
    if (!cli_parse(argc, argv, options, 0, 1, &count))
        return CLI_USAGE;
    if (!cli_migrate_store(cli, true))
        return CLI_COULD_NOT;
    enum cli_exit code = find_author(cli, &choice);
    if (code == CLI_DONE && !choice.any && count == 0)
        return cli_fail(CLI_USAGE,
                        "demo: the database is empty: name an import file (see viewtally demo --help)");
    if (code == CLI_DONE && choice.any && count > 0)
        (void)fprintf(stderr, "viewtally: the database holds authors already: %s is not imported\n", argv[1]);
    if (code == CLI_DONE && !choice.any) {
        code = cli_import.run(cli, 2, (char *[]){argv[0], argv[1], NULL});
        if (code == CLI_DONE)
            code = find_author(cli, &choice);
    }
    if (code == CLI_DONE && !choice.any)
        return cli_fail(CLI_PART, "demo: %s holds no author", argv[1]);
    if (code == CLI_DONE && !read_key(key_file, &cli->config, &key))
        code = make_key(cli, &choice, key_file, &key);
    if (code != CLI_DONE)
        return code;
    print_tour(cli, &choice, &key);
    if (choice.signs_in)
        return CLI_DONE;
    printf("\nThe author's own pages, and a password for them (good once, for a day):\n\n  ");
    return author_print_link(cli, &choice.id);
}

const struct cli_command cli_demo = {
    .name = "demo",
    .synopsis = "[FILE] [--key-file PATH]",
    .summary = "fill an empty database with FILE and print requests to try",
    .help =
        "Imports FILE (see viewtally import --help) when the database holds no author yet, makes an API "
        "key for the\n"
        "author with the most videos, and prints curl lines to copy and, until the author has a password, a "
        "link to\n"
        "the author's pages. Run again, it imports nothing.\n\n"
        "  --key-file PATH   keep the key there (readable by you only) and show the same one next time;\n"
        "                    without it every run makes a new key",
    .run = run,
};
