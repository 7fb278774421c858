/* Prints the report. Collects the authors first and lists their keys afterwards, because the store reads one
 * list at a time. */
#include "cli/restore_report.h"

#include "base/json.h"
#include "base/vec.h"
#include "cli/output.h"
#include "platforms/platform.h"
#include "store/apps.h"
#include "store/platform_credentials.h"
#include "store/write.h"

enum { REPORT_MAX_BYTES = 1 << 30, ACCOUNTS_AT_ONCE = 1000 };

struct listed_author {
    int64_t row;
    struct uuid id;
    bool plan_active;
    struct str name;
};

struct report {
    struct buf *out;
    bool is_json;
    struct arena arena;
    VEC(struct listed_author) authors;
    const struct listed_author *author; /* the author whose keys are being listed */
    int64_t last_account;
    int accounts;
};

static bool collect_author(void *ctx, const struct author *a)
{
    struct report *r = ctx;
    *VEC_ADD(&r->authors) = (struct listed_author){
        .row = a->row, .id = a->id, .plan_active = a->plan_active, .name = arena_copy(&r->arena, a->name)};
    return true;
}

/* ---- what is valid now ---- */

static void append_key_json(const struct report *r, const struct api_key *key)
{
    struct buf *b = r->out;
    json_open(b, '{');
    JSON_STR(b, "type", STR("key"));
    JSON_UUID(b, "id", &key->id);
    JSON_STR(b, "suffix", str_make(key->suffix, KEY_SUFFIX_LEN));
    JSON_UUID(b, "author_id", &r->author->id);
    JSON_STR(b, "name", key->name);
    json_close(b, '}');
}

static void append_app_json(struct buf *b, const struct app_record *app)
{
    json_open(b, '{');
    JSON_STR(b, "type", STR("app"));
    JSON_STR(b, "client_id", app->client_id);
    JSON_BOOL(b, "confidential", app->confidential);
    JSON_STR(b, "name", app->name);
    json_close(b, '}');
}

static void append_account_json(struct buf *b, const struct credential *c)
{
    json_open(b, '{');
    JSON_STR(b, "type", STR("account"));
    JSON_I64(b, "id", c->row);
    JSON_STR(b, "api", str_from_cstr(platform_desc((enum platform_api)c->api)->name));
    JSON_STR(b, "account_id", c->account_id);
    json_close(b, '}');
}

static void append_plan_json(struct buf *b, const struct listed_author *a)
{
    json_open(b, '{');
    JSON_STR(b, "type", STR("plan"));
    JSON_UUID(b, "author_id", &a->id);
    JSON_STR(b, "author_name", a->name);
    json_close(b, '}');
}

static bool append_key(void *ctx, const struct api_key *key)
{
    struct report *r = ctx;
    if (key->revoked_at != TIME_NONE)
        return true;
    if (r->is_json) {
        append_key_json(r, key);
        return true;
    }
    buf_append(r->out, STR("  key      "));
    cli_append_uuid(r->out, &key->id);
    buf_printf(r->out, "  ...%.*s  of author ", KEY_SUFFIX_LEN, key->suffix);
    cli_append_uuid(r->out, &r->author->id);
    buf_append(r->out, STR("  "));
    cli_append_text(r->out, key->name);
    buf_append_char(r->out, '\n');
    return true;
}

static bool append_app(void *ctx, const struct app_record *app)
{
    struct report *r = ctx;
    if (app->removed_at != TIME_NONE)
        return true;
    if (r->is_json) {
        append_app_json(r->out, app);
        return true;
    }
    buf_printf(r->out, "  app      %.*s  %s  ", (int)app->client_id.len, app->client_id.p,
               app->confidential ? "confidential" : "public");
    cli_append_text(r->out, app->name);
    buf_append_char(r->out, '\n');
    return true;
}

static bool append_account(void *ctx, const struct credential *c)
{
    struct report *r = ctx;
    r->last_account = c->row;
    r->accounts++;
    if (r->is_json) {
        append_account_json(r->out, c);
        return true;
    }
    buf_printf(r->out, "  account  %lld  %s  ", (long long)c->row,
               platform_desc((enum platform_api)c->api)->name);
    cli_append_text(r->out, c->account_id);
    buf_append_char(r->out, '\n');
    return true;
}

static void append_plan(struct report *r, const struct listed_author *a)
{
    if (!a->plan_active)
        return;
    if (r->is_json) {
        append_plan_json(r->out, a);
        return;
    }
    buf_append(r->out, STR("  plan     of author "));
    cli_append_uuid(r->out, &a->id);
    buf_append(r->out, STR("  "));
    cli_append_text(r->out, a->name);
    buf_append_char(r->out, '\n');
}

static enum err append_accounts(struct report *r, struct store *store)
{
    enum err err;
    do {
        r->accounts = 0;
        err = store_list_credentials(store, r->last_account, ACCOUNTS_AT_ONCE, append_account, r);
    } while (!err && r->accounts == ACCOUNTS_AT_ONCE);
    return err;
}

static enum err append_live(struct report *r, struct store *store)
{
    enum err err = store_list_authors(store, collect_author, r);
    for (size_t i = 0; i < r->authors.count && !err; i++) {
        r->author = &r->authors.items[i];
        err = store_list_keys(store, r->author->row, append_key, r);
    }
    if (err)
        return err;
    for (size_t i = 0; i < r->authors.count; i++)
        append_plan(r, &r->authors.items[i]);
    err = store_list_apps(store, append_app, r);
    return err ? err : append_accounts(r, store);
}

static void append_carried(struct buf *b, const struct carry_result *carried)
{
    for (int i = 0; i < CARRY_KINDS; i++)
        if (carried->counts[i])
            buf_printf(b, "  carried over: %lld %s\n", (long long)carried->counts[i],
                       carry_kind_name((enum carry_kind)i, carried->counts[i]));
}

static void append_advice(struct buf *b, const struct carry_result *carried)
{
    buf_printf(
        b,
        "Some revocations after the backup could not be carried over from the old database: %s.\n"
        "Everything listed below is valid now. Revoke again what was revoked since the backup (viewtally key "
        "revoke,\nviewtally author set-plan UUID inactive, viewtally app remove, viewtally app "
        "rotate-secret, "
        "viewtally platform\nremove). Passwords may be those from the time of the backup; an author sets a "
        "new "
        "one with the link of viewtally author invite.\n",
        carried->why);
}

static enum cli_exit append_list(struct report *r, const struct store_options *options)
{
    struct store *store;
    struct error error;
    if (store_open(&store, options, &error))
        return cli_fail(CLI_COULD_NOT, "cannot list the contents of the restored database: %s", error.text);
    enum err err = append_live(r, store);
    store_close(store);
    return err ? cli_fail(CLI_COULD_NOT, "cannot list the contents of the restored database: %s",
                          err_name(err))
               : CLI_DONE;
}

static enum cli_exit append_valid(struct buf *out, bool is_json, const struct store_options *store)
{
    struct report r = {.out = out, .is_json = is_json};
    arena_init(&r.arena, 4096);
    const enum cli_exit code = append_list(&r, store);
    VEC_FREE(&r.authors);
    arena_fini(&r.arena);
    return code;
}

enum cli_exit restore_report_print(const struct store_options *store, const struct carry_result *carried)
{
    struct buf out;
    enum cli_exit code = CLI_DONE;
    buf_init(&out, REPORT_MAX_BYTES);
    append_carried(&out, carried);
    if (!carried->is_complete) {
        append_advice(&out, carried);
        code = append_valid(&out, false, store);
    }
    enum cli_exit printed = cli_print(&out);
    return code ? code : printed;
}

static enum cli_exit append_revocations_json(struct buf *b, const struct store_options *store,
                                             const struct carry_result *carried)
{
    JSON_KEY(b, "revocations");
    json_open(b, '{');
    JSON_BOOL(b, "complete", carried->is_complete);
    JSON_STR(b, "reason", str_from_cstr(carried->is_complete ? NULL : carried->why));
    JSON_KEY(b, "carried_over");
    json_open(b, '{');
    for (int i = 0; i < CARRY_KINDS; i++) {
        json_key(b, str_from_cstr(carry_kind_member((enum carry_kind)i)));
        json_i64(b, carried->counts[i]);
    }
    json_close(b, '}');
    JSON_KEY(b, "valid");
    json_open(b, '[');
    const enum cli_exit code = carried->is_complete ? CLI_DONE : append_valid(b, true, store);
    json_close(b, ']');
    json_close(b, '}');
    return code;
}

enum cli_exit restore_report_print_json(const struct restored *restored, const struct carry_result *carried)
{
    struct buf b;
    buf_init(&b, REPORT_MAX_BYTES);
    json_open(&b, '{');
    JSON_STR(&b, "database", str_from_cstr(restored->name));
    JSON_STR(&b, "restored_from", str_from_cstr(restored->from));
    JSON_STR(&b, "replaced_database", str_from_cstr(restored->replaced));
    JSON_KEY(&b, "replaced_files");
    json_open(&b, '[');
    for (int i = 0; i < restored->replaced_file_count; i++)
        json_str(&b, str_from_cstr(restored->replaced_files[i]));
    json_close(&b, ']');
    const enum cli_exit code = append_revocations_json(&b, &restored->store, carried);
    json_close(&b, '}');
    buf_append_char(&b, '\n');
    const enum cli_exit printed = cli_print(&b);
    return code ? code : printed;
}
