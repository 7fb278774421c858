/* viewtally platform: connect, list, test, remove, status, capabilities. */
#include "cli/cmd_platform.h"

#include "base/check.h"
#include "base/json.h"
#include "platforms/capabilities.h"
#include "vault/token_vault.h"
#include "store/write.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIST_MAX_BYTES = 64 << 20, PAGE_ROWS = 200 };

bool platform_parse_id(const char *command, const char *text, int64_t *row)
{
    unsigned long long n;
    if (str_to_u64(str_from_cstr(text), INT64_MAX, &n) && n) {
        *row = (int64_t)n;
        return true;
    }
    (void)cli_fail(CLI_USAGE, "platform %s: wants the number of an account (viewtally platform list)",
                   command);
    return false;
}

/* ---- list ---- */

static struct str state_name(const struct credential *c)
{
    return c->state == CREDENTIAL_RECONNECT_REQUIRED ? STR("sign_in") : STR("fine");
}

static struct str api_name(int api)
{
    return str_from_cstr(api >= 0 && api < PLATFORM_APIS ? platform_desc((enum platform_api)api)->name : "?");
}

static void append_missing_permissions(struct buf *b, const struct credential *c, bool json)
{
    const struct platform_permission *p = platform_desc((enum platform_api)c->api)->permissions;
    size_t count = 0;
    for (; p && p->scope; p++) {
        struct str scope = str_from_cstr(p->scope);
        if (!platform_permission_is_missing(p, c->scopes))
            continue;
        if (json)
            json_str(b, scope);
        else
            buf_printf(b, "%s%s", count ? ", " : "  not granted: ", p->scope);
        count++;
    }
}

void platform_append_json(struct buf *b, const struct credential *c, const struct uuid *author)
{
    json_open(b, '{');
    JSON_I64(b, "id", c->row);
    if (author)
        JSON_UUID(b, "author_id", author);
    JSON_STR(b, "platform", api_name(c->api));
    JSON_STR(b, "account_id", c->account_id);
    JSON_STR(b, "name", c->account_name);
    JSON_STR(b, "state", state_name(c));
    JSON_STR(b, "scopes", c->scopes);
    json_key(b, STR("missing_permissions"));
    json_open(b, '[');
    if (c->api >= 0 && c->api < PLATFORM_APIS)
        append_missing_permissions(b, c, true);
    json_close(b, ']');
    JSON_BOOL(b, "is_personal", c->is_personal);
    JSON_TIME(b, "obtained_at", c->obtained_at);
    JSON_TIME_OR_NULL(b, "access_expires_at", c->access_expires_at != TIME_NONE, c->access_expires_at);
    JSON_TIME_OR_NULL(b, "refresh_expires_at", c->refresh_expires_at != TIME_NONE, c->refresh_expires_at);
    JSON_BOOL(b, "can_refresh", c->refresh_sealed.p != NULL);
    JSON_I64(b, "failures", c->failures);
    JSON_STR(b, "last_error", c->last_error);
    JSON_TIME_OR_NULL(b, "last_error_at", c->last_error_at != TIME_NONE, c->last_error_at);
    JSON_TIME_OR_NULL(b, "last_ok_at", c->last_ok_at != TIME_NONE, c->last_ok_at);
    json_close(b, '}');
}

struct listing {
    struct store *store;
    struct arena *arena;
    const struct uuid *only; /* NULL: everybody's */
    bool json;
    struct buf out;
    size_t count;
    struct credential rows[PAGE_ROWS]; /* kept: nothing else can be asked while they are read */
};

static struct str keep(struct arena *a, struct str s)
{
    return s.p ? arena_copy(a, s) : s;
}

static bool keep_account(void *ctx, const struct credential *c)
{
    struct listing *l = ctx;
    struct credential *kept = &l->rows[l->count++];
    *kept = *c;
    kept->account_id = keep(l->arena, c->account_id);
    kept->account_name = keep(l->arena, c->account_name);
    kept->scopes = keep(l->arena, c->scopes);
    kept->last_error = keep(l->arena, c->last_error);
    return l->count < PAGE_ROWS;
}

static void append_account(struct listing *l, const struct credential *c, const struct uuid *author)
{
    char id[UUID_TEXT_LEN];
    if (l->json) {
        platform_append_json(&l->out, c, author);
        return;
    }
    uuid_format(author, id);
    buf_printf(&l->out, "%6lld  %.*s  %-18.*s  %-7.*s  ", (long long)c->row, (int)sizeof id, id,
               (int)api_name(c->api).len, api_name(c->api).p, (int)state_name(c).len, state_name(c).p);
    cli_append_text(&l->out, c->account_id);
    if (c->account_name.p) {
        buf_append(&l->out, STR("  "));
        cli_append_text(&l->out, c->account_name);
    }
    if (c->last_error.p && (c->failures || c->state != CREDENTIAL_CONNECTED)) {
        buf_append(&l->out, STR("  last error: "));
        cli_append_text(&l->out, c->last_error);
    }
    if (c->api >= 0 && c->api < PLATFORM_APIS)
        append_missing_permissions(&l->out, c, false);
    if (c->is_personal)
        buf_append(&l->out, STR("  personal account: no analytics"));
    buf_append_char(&l->out, '\n');
}

static enum err append_page(struct listing *l)
{
    enum err err = OK;
    struct author author = {.row = 0};
    for (size_t i = 0; i < l->count && !err; i++) {
        err = store_get_author(l->store, l->arena, l->rows[i].author_row, &author);
        if (!err)
            append_account(l, &l->rows[i], &author.id);
    }
    return err;
}

static enum err list_accounts(struct store *store, struct arena *arena, void *ctx)
{
    struct listing *l = ctx;
    struct author author;
    enum err err = OK;
    l->store = store;
    l->arena = arena;
    if (l->only) {
        err = store_find_author(store, arena, l->only, &author);
        if (!err)
            err = store_list_author_credentials(store, author.row, keep_account, l);
        return err ? err : append_page(l);
    }
    for (int64_t last = 0; !err;) {
        l->count = 0;
        err = store_list_credentials(store, last, PAGE_ROWS, keep_account, l);
        if (!err)
            err = append_page(l);
        if (!l->count)
            break;
        last = l->rows[l->count - 1].row;
        arena_reset(arena);
    }
    return err;
}

static enum cli_exit list(struct cli *cli, int argc, char **argv)
{
    struct listing *l = xcalloc(1, sizeof *l);
    struct uuid id;
    const char *author = NULL;
    int count;
    enum cli_exit code = CLI_USAGE;
    const struct cli_option options[] = {{"author", &author, NULL}, {"json", NULL, &l->json}, {0}};
    if (!cli_parse(argc, argv, options, 0, 0, &count) ||
        (author && !cli_parse_uuid("platform list: --author", author, &id))) {
        free(l);
        return code;
    }
    l->only = author ? &id : NULL;
    buf_init(&l->out, LIST_MAX_BYTES);
    if (l->json)
        json_open(&l->out, '[');
    enum err err = cli_read(cli, list_accounts, l);
    if (l->json)
        buf_append(&l->out, STR("]\n"));
    if (err)
        buf_fini(&l->out);
    if (err == ERR_NOT_FOUND)
        code = cli_fail(CLI_PART, "platform list: there is no author with this id");
    else
        code = err ? CLI_COULD_NOT : cli_print(&l->out);
    free(l);
    return code;
}

/* ---- remove ---- */

static enum err remove_account(struct store *store, struct arena *arena, void *ctx)
{
    const int64_t *row = ctx;
    (void)arena;
    return store_delete_credential(store, *row, 0);
}

static enum cli_exit remove_command(struct cli *cli, int argc, char **argv)
{
    int64_t row;
    int count;
    if (!cli_parse(argc, argv, NULL, 1, 1, &count) || !platform_parse_id("remove", argv[1], &row))
        return CLI_USAGE;
    enum err err = cli_transaction(cli, remove_account, &row);
    if (err == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "platform remove: there is no account with this number");
    if (err)
        return CLI_COULD_NOT;
    printf("Account %lld is removed with its tokens. At the platform the author may take the app's access "
           "away too.\n",
           (long long)row);
    return CLI_DONE;
}

/* ---- capabilities ---- */

static enum cli_exit capabilities(struct cli *cli, int argc, char **argv)
{
    struct buf out;
    int count;
    (void)cli;
    if (!cli_parse(argc, argv, NULL, 0, 0, &count))
        return CLI_USAGE;
    buf_init(&out, 1 << 16);
    capabilities_print(&out);
    return cli_print(&out);
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    static const char *const names[] = {"connect", "list",   "test",         "probe",
                                        "remove",  "status", "capabilities", NULL};
    static enum cli_exit (*const runs[])(struct cli *, int, char **) = {
        platform_connect, list, platform_test, platform_probe, remove_command, platform_status, capabilities};
    return cli_dispatch(cli, argc, argv, names, runs);
}

const struct cli_command cli_platform = {
    .name = "platform",
    .synopsis =
        "connect --author UUID --platform NAME --account ID [--login LOGIN] [--name NAME] [--json]\n"
        "           | list [--author UUID] [--json] | test ID | probe ID [--record FILE] | remove ID\n"
        "           | status [--json] | capabilities",
    .summary = "the authors' accounts at the platforms: put tokens in, try them, see how they do",
    .help = "  connect       keeps an account with the tokens that come as JSON on standard input: "
            "access_token, and if\n"
            "                there are refresh_token, expires_in, refresh_expires_in (seconds) and scope. "
            "Prints the\n"
            "                account's number. NAME is one of:" PLATFORM_NAMES ". ID is the\n"
            "                platform's own (open_id, channel, user, page). Instagram with tokens of "
            "Facebook's login\n"
            "                is instagram-facebook, or instagram with --login facebook. The same account "
            "again takes\n"
            "                new tokens. Authors can do all this themselves, on their pages\n"
            "  list          all accounts, or one author's; never their tokens\n"
            "  test          asks the platform once, for one of the author's posts if there is one, "
            "refreshing the\n"
            "                tokens first when they are too old, and tells what it says. Exit status 0: all "
            "is well;\n"
            "                1: the author has to do something; 2: the operator; 3: it cannot be said now\n"
            "  probe         makes every call for one account that a refresh could make: all forms of the "
            "request, all "
            "kinds of\n"
            "                posts. Prints what was sent, what came back, how it was read and what it would "
            "change; "
            "stores\n"
            "                nothing. --record writes FILE-01, FILE-02 …: the responses without tokens, "
            "names and real "
            "ids,\n"
            "                as our tests read them. Run it after linking your first account. Exit status as "
            "of test\n"
            "  remove        forgets an account and its tokens\n"
            "  status        by API: accounts, the last answer, what is left of the quota, who is left alone "
            "for how\n"
            "                long; and what the last run asked and was told\n"
            "  capabilities  which counts each API can give, as a table",
    .run = run,
};
