/* Sets the webhook of an app. The secret is shown once, because only its sealed form is stored. */
#include "cli/app_webhook.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/vec.h"
#include "cli/arguments.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "cli/shown_secret.h"
#include "net/address_policy.h"
#include "webhook/webhook_url.h"

#include <sodium.h>

enum { SEALED_LEN = WEBHOOK_SECRET_LEN + SEAL_OVERHEAD };

bool app_webhook_init(struct cli *cli, const char *url, struct new_app_webhook *out)
{
    struct address_policy policy;
    *out = (struct new_app_webhook){.url = str_from_cstr(url), .key_file = cli->config.secrets.key_file};
    if (!url)
        return true;
    const char *why = address_policy_init(&policy, str_from_cstr(cli->config.webhooks.allowed_networks))
                          ? webhook_url_check(out->url, &policy)
                          : "cannot be checked";
    if (why) {
        (void)cli_fail(CLI_USAGE, "the URL of the webhook %s", why);
        return false;
    }
    if (!*out->key_file) {
        (void)cli_fail(CLI_USAGE,
                       "a webhook needs a key file for its secret: create one with viewtally secrets init "
                       "FILE and set [secrets] key_file");
        return false;
    }
    randombytes_buf(out->secret, sizeof out->secret);
    webhook_secret_format(out->secret, out->text);
    return true;
}

static enum err seal(const struct new_app_webhook *w, const struct app_record *app, struct buf *out)
{
    struct error error;
    struct seal_keys *keys;
    const struct webhook_secret_place place = {.author_row = 0, .name = app->client_id};
    enum err err = seal_keys_open(&keys, w->key_file, &error);
    if (!err) {
        err = webhook_secret_seal(keys, &place, w->secret, out);
        seal_keys_close(keys);
        (void)error_set(&error, err, "cannot seal the secret: %s", err_name(err));
    }
    if (!err)
        return OK;
    (void)cli_fail(CLI_COULD_NOT, "%s", error.text);
    return ERR_CANCELED;
}

enum err app_webhook_store(struct store *store, struct arena *arena, const struct app_record *app,
                           const struct new_app_webhook *w)
{
    char room[SEALED_LEN];
    struct buf sealed = buf_on(room, sizeof room);
    struct app_webhook before, after = {.url = w->url, .old_secret_until = TIME_NONE};
    enum err err = store_get_app_webhook(store, arena, app->row, &before);
    if (!err && w->url.p)
        err = seal(w, app, &sealed);
    if (err)
        return err;
    if (w->url.p)
        after.secret = buf_str(&sealed);
    if (w->url.p && before.url.p && str_eq(before.url, w->url)) {
        after.old_secret = before.secret;
        after.old_secret_until = clock_wall_ms() + DAY_MS;
    }
    return store_set_app_webhook(store, app->row, &after);
}

/* ---- set-webhook ---- */

enum { ROWS_AT_ONCE = 500 };

struct app_endpoints {
    int64_t app_row, last_row;
    int count; /* number of endpoints on the current page of the listing */
    VEC(struct webhook_endpoint) found;
};

static bool on_endpoint(void *ctx, const struct webhook_endpoint *e)
{
    struct app_endpoints *a = ctx;
    a->last_row = e->row;
    a->count++;
    if (e->app_row == a->app_row && e->is_connected)
        *VEC_ADD(&a->found) = (struct webhook_endpoint){.author_row = e->author_row, .id = e->id};
    return true;
}

/* For each author who has connected the app, so that the app receives the author's events, adds an entry with
 * the origin of the new URL to the audit log. Call before the URL changes, because the change disconnects
 * these endpoints. */
static enum err note_change(struct store *store, int64_t app_row, struct str url)
{
    const int64_t now = clock_wall_ms();
    const struct actor by = cli_operator();
    struct app_endpoints a = {.app_row = app_row};
    enum err err;
    do {
        a.count = 0;
        err = store_list_webhooks(store, a.last_row, ROWS_AT_ONCE, on_endpoint, &a);
    } while (!err && a.count == ROWS_AT_ONCE);
    for (size_t i = 0; i < a.found.count && !err; i++) {
        struct webhook_endpoint *e = &a.found.items[i];
        e->url = url.p ? url : STR("removed");
        err = store_note_webhook(store, e, now, AUDIT_WEBHOOK_URL_CHANGED, &by);
    }
    VEC_FREE(&a.found);
    return err;
}

struct webhook_setting {
    struct str client_id;
    struct new_app_webhook webhook;
    bool is_json;
    bool is_removed; /* the app was removed; nothing was changed */
    int64_t app_row;
    struct app_webhook before; /* the replaced webhook; its texts are in `memory` */
    struct arena memory;
};

static enum err set_webhook(struct store *store, struct arena *arena, void *ctx)
{
    struct webhook_setting *s = ctx;
    struct app_record app;
    enum err err = store_find_app(store, arena, s->client_id, &app);
    s->is_removed = !err && app.removed_at != TIME_NONE;
    if (s->is_removed)
        err = ERR_NOT_FOUND;
    s->app_row = app.row;
    if (!err)
        err = store_get_app_webhook(store, &s->memory, app.row, &s->before);
    if (!err && s->before.url.p && !str_eq(s->before.url, s->webhook.url))
        err = note_change(store, app.row, s->webhook.url);
    return err ? err : app_webhook_store(store, arena, &app, &s->webhook);
}

static enum err restore_webhook(struct store *store, struct arena *arena, void *ctx)
{
    const struct webhook_setting *s = ctx;
    (void)arena;
    const enum err err = store_set_app_webhook(store, s->app_row, &s->before);
    const bool is_other = s->before.url.p && !str_eq(s->before.url, s->webhook.url);
    return err || !is_other ? err : note_change(store, s->app_row, s->before.url);
}

static void append_setting(struct buf *out, const void *ctx)
{
    const struct webhook_setting *s = ctx;
    const struct str secret = str_from_cstr(s->webhook.url.p ? s->webhook.text : NULL);
    if (s->is_json) {
        json_open(out, '{');
        JSON_STR(out, "client_id", s->client_id);
        JSON_STR(out, "webhook_url", s->webhook.url);
        JSON_STR(out, "webhook_secret", secret);
        json_close(out, '}');
        buf_append_char(out, '\n');
    } else if (secret.p) {
        buf_append(out, secret);
        buf_append_char(out, '\n');
    }
}

static const struct shown_secret changed_webhook = {
    .create = set_webhook,
    .append = append_setting,
    .undo = restore_webhook,
    .undone = "the earlier webhook is valid again",
    .by_hand = "the secret is lost; set the webhook again with viewtally app set-webhook",
};

enum cli_exit app_set_webhook(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *url = arguments->operand_count > 1 ? arguments->operands[1] : NULL;
    struct webhook_setting s = {.client_id = str_from_cstr(arguments->operands[0]),
                                .is_json = cli_flag(arguments, "json")};
    if (!url == !cli_flag(arguments, "remove"))
        return cli_fail(CLI_USAGE, "name the URL of the webhook, or use --remove");
    if (!app_webhook_init(cli, url, &s.webhook))
        return CLI_USAGE;
    arena_init(&s.memory, 4096);
    const enum err err = shown_secret_create(cli, &changed_webhook, &s);
    arena_fini(&s.memory);
    sodium_memzero(&s.webhook, sizeof s.webhook);
    if (err == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, s.is_removed ? "the app was removed, so it can have no webhook"
                                               : "no app has this client_id (see viewtally app list)");
    return err ? CLI_COULD_NOT : CLI_DONE;
}
