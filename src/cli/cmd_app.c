/* viewtally app: add, list, remove, rotate-secret. */
#include "oauth/codes.h"
#include "oauth/redirect.h"
#include "base/check.h"
#include "base/json.h"
#include "cli/cli.h"
#include "store/write.h"

#include <sodium.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 200, URL_MAX_BYTES = 2000, LIST_MAX_BYTES = 64 << 20 };

static void append_uris(struct buf *b, const struct str *uris, size_t count)
{
    json_key(b, STR("redirect_uris"));
    json_open(b, '[');
    for (size_t i = 0; i < count; i++)
        json_str(b, uris[i]);
    json_close(b, ']');
}

/* Without the closing bracket. `secret` NULL: not shown. */
static void begin_json(struct buf *b, const struct app_record *app, const struct key_text *secret)
{
    json_open(b, '{');
    JSON_STR(b, "client_id", app->client_id);
    if (secret)
        JSON_STR(b, "client_secret",
                 app->confidential ? str_make(secret->p, secret->len) : str_make(NULL, 0));
    JSON_STR(b, "name", app->name);
    JSON_STR(b, "home_url", app->home_url);
    JSON_BOOL(b, "confidential", app->confidential);
    JSON_TIME(b, "created_at", app->created_at);
}

static void new_secret(struct app_record *app, struct key_text *secret)
{
    key_generate(SECRET_PREFIX, secret);
    key_hash(str_make(secret->p, secret->len), app->secret_hash);
    app->confidential = true;
}

/* ---- add ---- */

struct new_app {
    struct app_record app;
    size_t uri_count;
    struct str uris[REDIRECTS_MAX];
};

static bool add_uri(struct new_app *n, const char *text)
{
    const char *why;
    struct str uri = str_from_cstr(text);
    if (!redirect_is_allowed(uri, &why)) {
        (void)cli_fail(CLI_USAGE, "app add: the redirect address \"%s\" %s", text, why);
        return false;
    }
    if (n->uri_count == REDIRECTS_MAX) {
        (void)cli_fail(CLI_USAGE, "app add: an app has at most %d redirect addresses", REDIRECTS_MAX);
        return false;
    }
    n->uris[n->uri_count++] = uri;
    return true;
}

/* An address that a page may link to. */
static bool is_home_url(struct str url)
{
    const char *why;
    return url.len <= URL_MAX_BYTES && redirect_is_allowed(url, &why) &&
           redirect_kind_of(url) == REDIRECT_WEB;
}

static bool is_name(struct str name)
{
    bool visible = false;
    for (size_t i = 0; i < name.len; i++) {
        if ((unsigned char)name.p[i] < ' ' || name.p[i] == 0x7F)
            return false;
        visible |= name.p[i] != ' ';
    }
    return visible && name.len <= NAME_MAX_BYTES && str_is_utf8(name);
}

static enum err insert_app(struct store *store, struct arena *arena, void *ctx)
{
    struct new_app *n = ctx;
    (void)arena;
    enum err e = store_insert_app(store, &n->app);
    for (size_t i = 0; e == OK && i < n->uri_count; i++)
        e = store_insert_redirect(store, n->app.row, n->uris[i]);
    return e;
}

static enum cli_exit print_added(const struct new_app *n, const struct key_text *secret, bool json)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    if (json) {
        begin_json(&out, &n->app, secret);
        append_uris(&out, n->uris, n->uri_count);
        json_close(&out, '}');
        buf_append_char(&out, '\n');
        return cli_print(&out);
    }
    buf_printf(&out, "client_id      %s\n", n->app.client_id.p);
    if (n->app.confidential)
        buf_printf(&out, "client_secret  %s\n", secret->p);
    return cli_print(&out);
}

static enum cli_exit add(struct cli *cli, int argc, char **argv)
{
    const char *name = NULL, *home = NULL;
    bool confidential = false, json = false;
    const char *uris[REDIRECTS_MAX];
    size_t uri_count;
    struct key_text id, secret = {.len = 0};
    struct new_app n = {.uri_count = 0};
    int count;
    const struct cli_option options[] = {
        {"name", &name, NULL},
        {"home-url", &home, NULL},
        {"confidential", NULL, &confidential},
        {"json", NULL, &json},
        {0},
    };
    if (!cli_take_values(&argc, argv, "redirect-uri", uris, REDIRECTS_MAX, &uri_count) ||
        !cli_parse(argc, argv, options, 0, REDIRECTS_MAX, &count))
        return CLI_USAGE;
    if (!is_name(str_from_cstr(name)))
        return cli_fail(CLI_USAGE, "app add: --name wants 1 to %d bytes of UTF-8 on one line",
                        NAME_MAX_BYTES);
    if (home && !is_home_url(str_from_cstr(home)))
        return cli_fail(CLI_USAGE, "app add: --home-url wants an https address");
    for (size_t i = 0; i < uri_count; i++)
        if (!add_uri(&n, uris[i]))
            return CLI_USAGE;
    /* `--redirect-uri A B`: what stands behind it is meant as more of them. */
    for (int i = 1; i <= count; i++)
        if (!uri_count || !add_uri(&n, argv[i]))
            return uri_count ? CLI_USAGE : cli_fail(CLI_USAGE, "app add: --redirect-uri is missing");
    if (!n.uri_count)
        return cli_fail(CLI_USAGE, "app add: --redirect-uri is missing");
    client_id_generate(&id);
    n.app = (struct app_record){.client_id = str_make(id.p, id.len),
                                .name = str_from_cstr(name),
                                .home_url = str_from_cstr(home),
                                .created_at = clock_wall_ms(),
                                .removed_at = TIME_NONE};
    if (confidential)
        new_secret(&n.app, &secret);
    enum cli_exit code = cli_transaction(cli, insert_app, &n) ? CLI_COULD_NOT : CLI_DONE;
    if (code == CLI_DONE)
        code = print_added(&n, &secret, json);
    sodium_memzero(&secret, sizeof secret);
    return code;
}

/* ---- list ---- */

struct listing {
    struct arena *arena;
    size_t count, cap;
    struct app_record *apps;
    struct str *uris; /* of the app at hand */
    size_t uri_count;
    struct buf out;
    bool json;
};

/* Kept first: nothing else can be asked while the list is read. */
static bool keep_app(void *ctx, const struct app_record *app)
{
    struct listing *l = ctx;
    if (l->count == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->apps = xrealloc(l->apps, l->cap * sizeof *l->apps);
    }
    struct app_record *kept = &l->apps[l->count++];
    *kept = *app;
    kept->client_id = arena_copy(l->arena, app->client_id);
    kept->name = arena_copy(l->arena, app->name);
    if (app->home_url.p)
        kept->home_url = arena_copy(l->arena, app->home_url);
    return true;
}

static bool keep_uri(void *ctx, struct str uri)
{
    struct listing *l = ctx;
    l->uris[l->uri_count++] = arena_copy(l->arena, uri);
    return l->uri_count < REDIRECTS_MAX;
}

static void append_app(struct listing *l, const struct app_record *app, int64_t keys)
{
    bool removed = app->removed_at != TIME_NONE;
    if (l->json) {
        begin_json(&l->out, app, NULL);
        JSON_TIME_OR_NULL(&l->out, "removed_at", removed, app->removed_at);
        JSON_I64(&l->out, "live_keys", keys);
        append_uris(&l->out, l->uris, l->uri_count);
        json_close(&l->out, '}');
        return;
    }
    buf_printf(&l->out, "%s  %-12s  %-7s  %6lld live keys  ", app->client_id.p,
               app->confidential ? "confidential" : "public", removed ? "removed" : "active",
               (long long)keys);
    cli_append_text(&l->out, app->name);
    for (size_t i = 0; i < l->uri_count; i++)
        buf_printf(&l->out, "\n    %s", l->uris[i].p);
    buf_append_char(&l->out, '\n');
}

static enum err list_apps(struct store *store, struct arena *arena, void *ctx)
{
    struct listing *l = ctx;
    int64_t keys = 0;
    l->arena = arena;
    l->uris = arena_alloc(arena, REDIRECTS_MAX * sizeof *l->uris);
    enum err e = store_list_apps(store, keep_app, l);
    for (size_t i = 0; e == OK && i < l->count; i++) {
        l->uri_count = 0;
        e = store_list_redirects(store, l->apps[i].row, keep_uri, l);
        if (e == OK)
            e = store_count_app_keys(store, l->apps[i].row, &keys);
        if (e == OK)
            append_app(l, &l->apps[i], keys);
    }
    return e;
}

static enum cli_exit list(struct cli *cli, int argc, char **argv)
{
    struct listing l = {.json = false};
    int count;
    const struct cli_option options[] = {{"json", NULL, &l.json}, {0}};
    if (!cli_parse(argc, argv, options, 0, 0, &count))
        return CLI_USAGE;
    buf_init(&l.out, LIST_MAX_BYTES);
    if (l.json)
        json_open(&l.out, '[');
    enum err e = cli_read(cli, list_apps, &l);
    free(l.apps);
    if (e) {
        buf_fini(&l.out);
        return CLI_COULD_NOT;
    }
    if (l.json)
        buf_append(&l.out, STR("]\n"));
    return cli_print(&l.out);
}

/* ---- remove ---- */

struct removal {
    struct str client_id;
    bool keep;
    int revoked;
    int64_t live;
};

static enum err remove_app(struct store *store, struct arena *arena, void *ctx)
{
    struct removal *m = ctx;
    struct app_record app;
    int64_t now = clock_wall_ms();
    enum err e = store_find_app(store, arena, m->client_id, &app);
    if (e == OK)
        e = store_remove_app(store, app.row, now);
    if (e == OK && !m->keep)
        e = store_revoke_app_keys(store, app.row, 0, now, &m->revoked);
    return e ? e : store_count_app_keys(store, app.row, &m->live);
}

static enum cli_exit remove_command(struct cli *cli, int argc, char **argv)
{
    bool revoke = false;
    struct removal m = {.keep = false};
    struct buf out;
    int count;
    const struct cli_option options[] = {{"revoke-keys", NULL, &revoke}, {"keep-keys", NULL, &m.keep}, {0}};
    if (!cli_parse(argc, argv, options, 1, 1, &count))
        return CLI_USAGE;
    if (revoke && m.keep)
        return cli_fail(CLI_USAGE, "app remove: either --revoke-keys or --keep-keys");
    m.client_id = str_from_cstr(argv[1]);
    enum err e = cli_transaction(cli, remove_app, &m);
    if (e)
        return e == ERR_NOT_FOUND ? cli_fail(CLI_PART, "app remove: there is no app with this client_id")
                                  : CLI_COULD_NOT;
    buf_init(&out, 4096);
    buf_printf(&out, "%s is removed: nobody can connect it any more. ", argv[1]);
    if (m.keep)
        buf_printf(&out, "Its keys were kept: %lld work until their authors revoke them.\n",
                   (long long)m.live);
    else
        buf_printf(&out, "Its keys were revoked: %d that worked.\n", m.revoked);
    return cli_print(&out);
}

/* ---- rotate-secret ---- */

static enum err set_secret(struct store *store, struct arena *arena, void *ctx)
{
    struct app_record *fresh = ctx, app;
    enum err e = store_find_app(store, arena, fresh->client_id, &app);
    if (e)
        return e;
    return app.confidential ? store_set_app_secret(store, app.row, fresh->secret_hash) : ERR_INVALID;
}

static enum cli_exit rotate(struct cli *cli, int argc, char **argv)
{
    bool json = false;
    int count;
    struct key_text secret;
    struct app_record app = {.row = 0};
    struct buf out;
    const struct cli_option options[] = {{"json", NULL, &json}, {0}};
    if (!cli_parse(argc, argv, options, 1, 1, &count))
        return CLI_USAGE;
    app.client_id = str_from_cstr(argv[1]);
    new_secret(&app, &secret);
    enum err e = cli_transaction(cli, set_secret, &app);
    if (e == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "app rotate-secret: there is no app with this client_id");
    if (e == ERR_INVALID)
        return cli_fail(CLI_PART, "app rotate-secret: this is a public app: it has no secret");
    if (e)
        return CLI_COULD_NOT;
    buf_init(&out, 4096);
    if (json) {
        json_open(&out, '{');
        JSON_STR(&out, "client_id", app.client_id);
        JSON_STR(&out, "client_secret", str_make(secret.p, secret.len));
        json_close(&out, '}');
    } else {
        buf_append(&out, str_make(secret.p, secret.len));
    }
    buf_append_char(&out, '\n');
    sodium_memzero(&secret, sizeof secret);
    return cli_print(&out);
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    static const char *const names[] = {"add", "list", "remove", "rotate-secret", NULL};
    static enum cli_exit (*const runs[])(struct cli *, int, char **) = {add, list, remove_command, rotate};
    return cli_dispatch(cli, argc, argv, names, runs);
}

const struct cli_command cli_app = {
    .name = "app",
    .synopsis =
        "add --name NAME --redirect-uri URI… [--confidential] [--home-url URL] [--json]\n"
        "           | list [--json] | remove ID [--revoke-keys|--keep-keys] | rotate-secret ID [--json]",
    .summary = "register, list and remove the apps that authors can connect",
    .help =
        "  add             prints the client_id and, for a confidential app (one that runs on a server and "
        "can\n"
        "                  keep a secret), the client_secret. It is shown this once: only its hash is kept.\n"
        "                  A redirect address is https://…, or of a program on the author's own computer\n"
        "                  http://127.0.0.1/… or http://[::1]/… (any port fits), or of an app on a phone\n"
        "                  com.example.app:/…; it has to fit exactly. Several: --redirect-uri again\n"
        "  list            all apps, with how many keys they hold that work\n"
        "  remove          nobody can connect it any more. Its keys stop working (--revoke-keys, the "
        "default)\n"
        "                  or stay (--keep-keys)\n"
        "  rotate-secret   prints a new client_secret; the old one stops working at once",
    .run = run,
};
