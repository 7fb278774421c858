/* viewtally app: add, list, remove, rotate-secret. The subcommand set-webhook is in app_webhook.c. */
#include "base/check.h"
#include "base/json.h"
#include "base/plural.h"
#include "base/vec.h"
#include "cli/app_webhook.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "cli/shown_secret.h"
#include "cli/table.h"
#include "oauth/codes.h"
#include "oauth/redirect.h"
#include "store/write.h"

#include <sodium.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 200, URL_MAX_BYTES = 2000 };

static void append_uris(struct buf *b, const struct str *uris, size_t count)
{
    JSON_KEY(b, "redirect_uris");
    json_open(b, '[');
    for (size_t i = 0; i < count; i++)
        json_str(b, uris[i]);
    json_close(b, ']');
}

/* Writes the members of an app and leaves the JSON object open. If `secret` is NULL, omits client_secret. */
static void begin_json(struct buf *b, const struct app_record *app, const struct key_text *secret)
{
    json_open(b, '{');
    JSON_STR(b, "client_id", app->client_id);
    if (secret)
        JSON_STR(b, "client_secret",
                 app->confidential ? str_make(secret->p, secret->len) : str_make(NULL, 0));
    JSON_STR(b, "name", app->name);
    JSON_STR(b, "home_url", app->home_url);
    JSON_STR(b, "webhook_url", app->webhook_url);
    JSON_BOOL(b, "confidential", app->confidential);
    JSON_TIME(b, "created_at", app->created_at);
}

static void generate_secret(struct app_record *app, struct key_text *secret)
{
    key_generate(SECRET_PREFIX, secret);
    key_hash(str_make(secret->p, secret->len), app->secret_hash);
    app->confidential = true;
}

/* ---- add ---- */

struct new_app {
    struct app_record app;
    struct key_text secret; /* the client_secret; only a confidential app has one */
    struct new_app_webhook webhook;
    bool is_json;
    size_t uri_count;
    struct str uris[REDIRECTS_MAX];
};

static bool add_uri(struct new_app *n, const char *text)
{
    struct str uri = str_from_cstr(text);
    const char *reason = redirect_check(uri);
    if (reason) {
        (void)cli_fail(CLI_USAGE, "the redirect URI \"%s\" %s", text, reason);
        return false;
    }
    if (n->uri_count == REDIRECTS_MAX) {
        (void)cli_fail(CLI_USAGE, "an app has at most %d redirect URIs", REDIRECTS_MAX);
        return false;
    }
    n->uris[n->uri_count++] = uri;
    return true;
}

/* Returns true for an https URL with a host. The consent page links to it, so no other scheme is accepted. */
static bool is_home_url(struct str url)
{
    return url.len <= URL_MAX_BYTES && !redirect_check(url) && redirect_kind_of(url) == REDIRECT_WEB;
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

static void append_added(struct buf *out, const void *ctx)
{
    const struct new_app *n = ctx;
    if (n->is_json) {
        begin_json(out, &n->app, &n->secret);
        append_uris(out, n->uris, n->uri_count);
        if (n->webhook.url.p)
            JSON_STR(out, "webhook_secret", str_from_cstr(n->webhook.text));
        json_close(out, '}');
        buf_append_char(out, '\n');
        return;
    }
    buf_printf(out, "client_id      %s\n", n->app.client_id.p);
    if (n->app.confidential)
        buf_printf(out, "client_secret  %s\n", n->secret.p);
    if (n->webhook.url.p)
        buf_printf(out, "webhook_secret %s\n", n->webhook.text);
}

static enum err insert_app(struct store *store, struct arena *arena, void *ctx)
{
    struct new_app *n = ctx;
    enum err err = store_insert_app(store, &n->app);
    for (size_t i = 0; !err && i < n->uri_count; i++)
        err = store_insert_redirect(store, n->app.row, n->uris[i]);
    return err || !n->webhook.url.p ? err : app_webhook_store(store, arena, &n->app, &n->webhook);
}

static enum err remove_added(struct store *store, struct arena *arena, void *ctx)
{
    const struct new_app *n = ctx;
    (void)arena;
    return store_remove_app(store, n->app.row, clock_wall_ms());
}

static const struct shown_secret added_app = {
    .create = insert_app,
    .append = append_added,
    .undo = remove_added,
    .undone = "the new app was removed",
    .by_hand = "find the new app with viewtally app list and remove it with viewtally app remove",
};

/* Adds the redirect URIs of the option and those that are operands: `--redirect-uri A B` names two URIs. */
static bool add_uris(struct new_app *n, const struct cli_arguments *arguments)
{
    for (int i = 0; i < arguments->repeated_count; i++)
        if (!add_uri(n, arguments->repeated[i]))
            return false;
    for (int i = 0; i < arguments->operand_count; i++)
        if (!add_uri(n, arguments->operands[i]))
            return false;
    return true;
}

static enum cli_exit add(struct cli *cli, const struct cli_arguments *arguments)
{
    const struct str name = str_from_cstr(cli_value(arguments, "name"));
    const struct str home = str_from_cstr(cli_value(arguments, "home-url"));
    struct key_text id;
    struct new_app n = {.is_json = cli_flag(arguments, "json")};
    if (!is_name(name))
        return cli_fail(
            CLI_USAGE,
            "--name must be 1 to %d bytes of UTF-8 without control characters, and not only spaces",
            NAME_MAX_BYTES);
    if (home.p && !is_home_url(home))
        return cli_fail(
            CLI_USAGE, "--home-url must be an https URL with a host, of at most %d bytes, without a fragment",
            URL_MAX_BYTES);
    if (!add_uris(&n, arguments) || !app_webhook_init(cli, cli_value(arguments, "webhook-url"), &n.webhook))
        return CLI_USAGE;
    client_id_generate(&id);
    n.app = (struct app_record){.client_id = str_make(id.p, id.len),
                                .name = name,
                                .home_url = home,
                                .webhook_url = n.webhook.url,
                                .created_at = clock_wall_ms(),
                                .removed_at = TIME_NONE};
    if (cli_flag(arguments, "confidential"))
        generate_secret(&n.app, &n.secret);
    enum cli_exit code = shown_secret_create(cli, &added_app, &n) ? CLI_COULD_NOT : CLI_DONE;
    sodium_memzero(&n.secret, sizeof n.secret);
    sodium_memzero(&n.webhook, sizeof n.webhook);
    return code;
}

/* ---- list ---- */

struct app_listing {
    struct arena *arena;
    VEC(struct app_record) apps;
    struct str *uris; /* redirect URIs of the current app */
    size_t uri_count;
    struct table table;
};

/* Collects the apps before their redirect URIs are read, because the store reads one list at a time. */
static bool collect_app(void *ctx, const struct app_record *app)
{
    struct app_listing *l = ctx;
    struct app_record *copy = VEC_ADD(&l->apps);
    *copy = *app;
    copy->client_id = arena_copy(l->arena, app->client_id);
    copy->name = arena_copy(l->arena, app->name);
    if (app->home_url.p)
        copy->home_url = arena_copy(l->arena, app->home_url);
    if (app->webhook_url.p)
        copy->webhook_url = arena_copy(l->arena, app->webhook_url);
    return true;
}

static bool collect_uri(void *ctx, struct str uri)
{
    struct app_listing *l = ctx;
    l->uris[l->uri_count++] = arena_copy(l->arena, uri);
    return l->uri_count < REDIRECTS_MAX;
}

static void append_json(struct app_listing *l, const struct app_record *app, int64_t live_keys)
{
    struct buf *b = &l->table.json;
    begin_json(b, app, NULL);
    JSON_TIME_OR_NULL(b, "removed_at", app->removed_at != TIME_NONE, app->removed_at);
    JSON_I64(b, "live_keys", live_keys);
    append_uris(b, l->uris, l->uri_count);
    json_close(b, '}');
}

static void add_row(struct app_listing *l, const struct app_record *app, int64_t live_keys)
{
    struct table *t = &l->table;
    table_add_text(t, app->client_id);
    table_add_text(t, app->confidential ? STR("confidential") : STR("public"));
    table_add_text(t, app->removed_at != TIME_NONE ? STR("removed") : STR("active"));
    table_add_i64(t, live_keys);
    table_add_text(t, app->name);
    for (size_t i = 0; i < l->uri_count; i++) {
        buf_append(&t->cells, i ? STR(" ") : STR(""));
        cli_append_text(&t->cells, l->uris[i]);
    }
    table_end_cell(t);
}

static enum err list_app(struct app_listing *l, struct store *store, const struct app_record *app)
{
    int64_t live_keys = 0;
    l->uri_count = 0;
    enum err err = store_list_redirects(store, app->row, collect_uri, l);
    if (err)
        return err;
    err = store_count_app_keys(store, app->row, &live_keys);
    if (err)
        return err;
    (l->table.is_json ? append_json : add_row)(l, app, live_keys);
    return OK;
}

static enum err list_apps(struct store *store, struct arena *arena, void *ctx)
{
    struct app_listing *l = ctx;
    l->arena = arena;
    l->uris = arena_alloc(arena, REDIRECTS_MAX * sizeof *l->uris);
    enum err err = store_list_apps(store, collect_app, l);
    for (size_t i = 0; !err && i < l->apps.count; i++)
        err = list_app(l, store, &l->apps.items[i]);
    return err;
}

static enum cli_exit list(struct cli *cli, const struct cli_arguments *arguments)
{
    static const char *const headings[] = {"CLIENT ID", "TYPE",          "STATE", "#LIVE KEYS",
                                           "NAME",      "REDIRECT URIS", NULL};
    struct app_listing l = {.arena = NULL};
    table_init(&l.table, headings, cli_flag(arguments, "json"));
    enum err err = cli_read(cli, list_apps, &l);
    VEC_FREE(&l.apps);
    if (!err)
        return table_print(&l.table);
    table_fini(&l.table);
    return CLI_COULD_NOT;
}

/* ---- remove ---- */

struct removal {
    struct str client_id;
    bool keeps_keys;
    int revoked;
    int64_t live;
};

static enum err remove_app(struct store *store, struct arena *arena, void *ctx)
{
    struct removal *m = ctx;
    struct app_record app;
    const int64_t now = clock_wall_ms();
    enum err err = store_find_app(store, arena, m->client_id, &app);
    if (err)
        return err;
    err = store_remove_app(store, app.row, now);
    if (err)
        return err;
    const struct actor by = cli_operator();
    if (!m->keeps_keys)
        err = store_revoke_app_keys(store, app.row, 0, now, &by, &m->revoked);
    return err ? err : store_count_app_keys(store, app.row, &m->live);
}

static enum cli_exit remove_command(struct cli *cli, const struct cli_arguments *arguments)
{
    struct removal m = {.client_id = str_from_cstr(arguments->operands[0]),
                        .keeps_keys = cli_flag(arguments, "keep-keys")};
    if (m.keeps_keys && cli_flag(arguments, "revoke-keys"))
        return cli_fail(CLI_USAGE, "--revoke-keys and --keep-keys cannot be used together");
    enum err err = cli_transaction(cli, remove_app, &m);
    if (err)
        return err == ERR_NOT_FOUND ? cli_fail(CLI_PART, "no app has this client_id (see viewtally app list)")
                                    : CLI_COULD_NOT;
    printf("Removed %s: authors can no longer connect it. ", arguments->operands[0]);
    if (m.keeps_keys)
        printf("%lld key%s live until %s.\n", (long long)m.live, plural(m.live, " stays", "s stay"),
               plural(m.live, "the author revokes it", "their authors revoke them"));
    else
        printf("Revoked %d live key%s.\n", m.revoked, plural(m.revoked, "", "s"));
    return cli_flush();
}

/* ---- rotate-secret ---- */

struct secret_rotation {
    struct app_record app;
    int64_t row;
    uint8_t old_hash[KEY_HASH_LEN];
    struct key_text secret;
    bool is_json;
    bool is_removed; /* the app was removed; nothing was changed */
};

static void append_secret(struct buf *out, const void *ctx)
{
    const struct secret_rotation *r = ctx;
    const struct str secret = str_make(r->secret.p, r->secret.len);
    if (r->is_json) {
        json_open(out, '{');
        JSON_STR(out, "client_id", r->app.client_id);
        JSON_STR(out, "client_secret", secret);
        json_close(out, '}');
    } else {
        buf_append(out, secret);
    }
    buf_append_char(out, '\n');
}

static enum err set_secret(struct store *store, struct arena *arena, void *ctx)
{
    struct secret_rotation *r = ctx;
    struct app_record app;
    enum err err = store_find_app(store, arena, r->app.client_id, &app);
    if (err)
        return err;
    r->is_removed = app.removed_at != TIME_NONE;
    if (r->is_removed)
        return ERR_NOT_FOUND;
    r->row = app.row;
    memcpy(r->old_hash, app.secret_hash, sizeof r->old_hash);
    return app.confidential ? store_set_app_secret(store, app.row, r->app.secret_hash) : ERR_INVALID;
}

/* Restores the old secret, unless another rotation has replaced the new one. */
static enum err restore_secret(struct store *store, struct arena *arena, void *ctx)
{
    const struct secret_rotation *r = ctx;
    struct app_record app;
    enum err err = store_find_app(store, arena, r->app.client_id, &app);
    if (err || memcmp(app.secret_hash, r->app.secret_hash, sizeof app.secret_hash) != 0)
        return err;
    return store_set_app_secret(store, r->row, r->old_hash);
}

static const struct shown_secret rotated_secret = {
    .create = set_secret,
    .append = append_secret,
    .undo = restore_secret,
    .undone = "the old secret is valid again",
    .by_hand = "the old secret is invalid; rotate again with viewtally app rotate-secret",
};

static enum cli_exit rotate_secret(struct cli *cli, const struct cli_arguments *arguments)
{
    struct secret_rotation r = {.app.client_id = str_from_cstr(arguments->operands[0]),
                                .is_json = cli_flag(arguments, "json")};
    generate_secret(&r.app, &r.secret);
    enum err err = shown_secret_create(cli, &rotated_secret, &r);
    enum cli_exit code = err ? CLI_COULD_NOT : CLI_DONE;
    if (err == ERR_NOT_FOUND)
        code = cli_fail(CLI_PART, r.is_removed ? "the app was removed, so it can have no secret"
                                               : "no app has this client_id (see viewtally app list)");
    else if (err == ERR_INVALID)
        code = cli_fail(CLI_PART, "a public app has no secret");
    sodium_memzero(&r.secret, sizeof r.secret);
    return code;
}

/* ---- the command ---- */

static const struct cli_option add_options[] = {
    {.name = "name", .argument = "NAME", .help = "The name that authors see.", .is_required = true},
    {.name = "redirect-uri",
     .argument = "URI",
     .help =
         "A redirect URI: `https://…`; for a program on the author's computer `http://127.0.0.1/…` or "
         "`http://[::1]/…`; for a mobile app `com.example.app:/…`. Requests must contain exactly this URI; "
         "only the port of 127.0.0.1 and [::1] may differ. Repeat the option for more URIs.",
     .is_required = true,
     .is_repeatable = true},
    {.name = "confidential",
     .help = "Also create a client_secret. Only for an app that runs on a server and can keep it secret."},
    {.name = "home-url", .argument = "URL", .help = "The app's website (https), shown to authors."},
    {.name = "webhook-url",
     .argument = "URL",
     .help = "Send the events of each author who connects the app to URL (see docs/webhooks.md). The consent "
             "page "
             "shows the URL. Prints the webhook_secret, with which the app verifies the messages."},
    {.name = "json", .help = "Print the app as JSON."},
    {0},
};

static const struct cli_option webhook_options[] = {
    {.name = "remove", .help = "Remove the webhook. The app keeps its keys."},
    {.name = "json", .help = "Print client_id, webhook_url and webhook_secret as JSON."},
    {0},
};

static const struct cli_option list_options[] = {
    {.name = "json", .help = "Print a JSON array, with all fields."},
    {0},
};

static const struct cli_option remove_options[] = {
    {.name = "revoke-keys", .help = "Revoke the app's keys (the default)."},
    {.name = "keep-keys", .help = "Leave the app's keys live until their authors revoke them."},
    {0},
};

static const struct cli_option rotate_options[] = {
    {.name = "json", .help = "Print client_id and client_secret as JSON."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "add",
     .operands = "[URI…]",
     .operands_max = REDIRECTS_MAX,
     .options = add_options,
     .summary = "Registers an app and prints its client_id and, if it is confidential, its client_secret.",
     .description = "The client_secret is shown only once, because only its hash is stored.",
     .examples =
         "viewtally app add --name Zapier --redirect-uri https://zapier.example/callback --confidential",
     .run = add},
    {.name = "set-webhook",
     .operands = "CLIENT_ID [URL]",
     .operands_min = 1,
     .operands_max = 2,
     .options = webhook_options,
     .summary = "Sets or removes the webhook of an app, or changes its secret. Prints the new "
                "webhook_secret, if any.",
     .description = "Authors must connect the app again before a new URL receives their events. With the "
                    "same URL, only the secret changes; for a day, messages are signed with both the old "
                    "and the new secret.",
     .partial = "no app has this client_id, or the app was removed",
     .examples = "viewtally app set-webhook app_5WQzTnBqk2sX9dRfLm7YcA https://planner.example/hook\n"
                 "viewtally app set-webhook app_5WQzTnBqk2sX9dRfLm7YcA --remove",
     .run = app_set_webhook},
    {.name = "list",
     .options = list_options,
     .summary = "Lists all apps with the number of their live keys.",
     .examples = "viewtally app list",
     .run = list},
    {.name = "remove",
     .operands = "CLIENT_ID",
     .operands_min = 1,
     .operands_max = 1,
     .options = remove_options,
     .summary = "Removes an app, so that authors can no longer connect it.",
     .partial = "no app has this client_id",
     .examples = "viewtally app remove app_5WQzTnBqk2sX9dRfLm7YcA",
     .run = remove_command},
    {.name = "rotate-secret",
     .operands = "CLIENT_ID",
     .operands_min = 1,
     .operands_max = 1,
     .options = rotate_options,
     .summary = "Creates and prints a new client_secret. The old one becomes invalid immediately.",
     .partial = "no app has this client_id, the app was removed, or it is public and has no secret",
     .examples = "viewtally app rotate-secret app_5WQzTnBqk2sX9dRfLm7YcA >client-secret",
     .run = rotate_secret},
    {0},
};

const struct cli_command cli_app = {
    .name = "app",
    .summary = "register, list and remove the apps that authors can connect",
    .actions = actions,
};
