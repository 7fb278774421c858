/* See restore_report.h. */
#include "cli/restore_report.h"

#include "base/check.h"
#include "platforms/platform.h"
#include "store/apps.h"
#include "store/platform_credentials.h"
#include "store/write.h"

#include <stdio.h>
#include <stdlib.h>

enum { REPORT_MAX_BYTES = 1 << 30, ACCOUNTS_AT_ONCE = 1000 };

/* Rows of one list are collected before the next query, because the store reads one list at a time. */
struct owner {
    int64_t row;
    struct uuid id;
    bool plan_active;
    char *name;
};

struct report {
    struct buf out;
    struct owner *owners;
    size_t count, cap;
    const struct owner *owner; /* whose keys are listed */
    int64_t last_account;
    int accounts;
};

static void append_uuid(struct buf *b, const struct uuid *id)
{
    char text[UUID_TEXT_LEN];
    uuid_format(id, text);
    buf_append(b, str_make(text, sizeof text));
}

static bool collect_owner(void *ctx, const struct author *a)
{
    struct report *r = ctx;
    if (r->count == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 64;
        r->owners = xrealloc(r->owners, r->cap * sizeof *r->owners);
    }
    struct owner *o = &r->owners[r->count++];
    *o = (struct owner){.row = a->row, .id = a->id, .plan_active = a->plan_active};
    o->name = xmalloc(a->name.len + 1);
    memcpy(o->name, a->name.p, a->name.len);
    o->name[a->name.len] = '\0';
    return true;
}

static bool append_key(void *ctx, const struct api_key *key)
{
    struct report *r = ctx;
    if (key->revoked_at != TIME_NONE)
        return true;
    buf_append(&r->out, STR("  key      "));
    append_uuid(&r->out, &key->id);
    buf_printf(&r->out, "  ...%.*s  of author ", KEY_SUFFIX_LEN, key->suffix);
    append_uuid(&r->out, &r->owner->id);
    buf_append(&r->out, STR("  "));
    cli_append_text(&r->out, key->name);
    buf_append_char(&r->out, '\n');
    return true;
}

static bool append_app(void *ctx, const struct app_record *app)
{
    struct report *r = ctx;
    if (app->removed_at != TIME_NONE)
        return true;
    buf_printf(&r->out, "  app      %.*s  %s  ", (int)app->client_id.len, app->client_id.p,
               app->confidential ? "confidential" : "public");
    cli_append_text(&r->out, app->name);
    buf_append_char(&r->out, '\n');
    return true;
}

static bool append_account(void *ctx, const struct credential *c)
{
    struct report *r = ctx;
    buf_printf(&r->out, "  account  %lld  %s  ", (long long)c->row,
               platform_desc((enum platform_api)c->api)->name);
    cli_append_text(&r->out, c->account_id);
    buf_append_char(&r->out, '\n');
    r->last_account = c->row;
    r->accounts++;
    return true;
}

static void append_plan(struct report *r, const struct owner *o)
{
    if (!o->plan_active)
        return;
    buf_append(&r->out, STR("  plan     of author "));
    append_uuid(&r->out, &o->id);
    buf_append(&r->out, STR("  "));
    cli_append_text(&r->out, str_from_cstr(o->name));
    buf_append_char(&r->out, '\n');
}

static enum err append_accounts(struct report *r, struct store *store)
{
    enum err e;
    do {
        r->accounts = 0;
        e = store_list_credentials(store, r->last_account, ACCOUNTS_AT_ONCE, append_account, r);
    } while (!e && r->accounts == ACCOUNTS_AT_ONCE);
    return e;
}

static enum err append_live(struct report *r, struct store *store)
{
    enum err e = store_list_authors(store, collect_owner, r);
    for (size_t i = 0; i < r->count && !e; i++) {
        r->owner = &r->owners[i];
        e = store_list_keys(store, r->owner->row, append_key, r);
    }
    for (size_t i = 0; i < r->count; i++)
        append_plan(r, &r->owners[i]);
    if (!e)
        e = store_list_apps(store, append_app, r);
    return e ? e : append_accounts(r, store);
}

static void append_carried(struct buf *b, const struct carry_result *carried)
{
    for (int i = 0; i < CARRY_KINDS; i++)
        if (carried->counts[i])
            buf_printf(b, "  carried over: %lld %s\n", (long long)carried->counts[i],
                       carry_name((enum carry_kind)i));
}

static void append_advice(struct buf *b, const struct carry_result *carried)
{
    buf_printf(
        b,
        "Not everything that was revoked after the backup could be carried over from the old database: "
        "%s.\nThese are valid now. End what had been ended since the backup (viewtally key revoke, author "
        "set-plan UUID inactive,\napp remove, app rotate-secret, platform remove). Passwords may be older "
        "ones: author invite sets a new one.\n",
        carried->why);
}

static enum cli_exit append_list(struct report *r, const char *path)
{
    struct store *store;
    struct error error;
    const struct store_options options = {.path = path, .mode = STORE_READ};
    if (store_open(&store, &options, &error))
        return cli_fail(CLI_COULD_NOT, "the restored database was not listed: %s", error.text);
    enum err e = append_live(r, store);
    store_close(store);
    return e ? cli_fail(CLI_COULD_NOT, "the restored database was not listed: %s", err_name(e)) : CLI_DONE;
}

enum cli_exit restore_report(const char *path, const struct carry_result *carried)
{
    struct report r = {.count = 0};
    enum cli_exit code = CLI_DONE;
    buf_init(&r.out, REPORT_MAX_BYTES);
    append_carried(&r.out, carried);
    if (!carried->is_complete) {
        append_advice(&r.out, carried);
        code = append_list(&r, path);
    }
    for (size_t i = 0; i < r.count; i++)
        free(r.owners[i].name);
    free(r.owners);
    enum cli_exit printed = cli_print(&r.out);
    return code ? code : printed;
}
