/* viewtally platform: list, remove, capabilities. Each other subcommand has a file of its own. */
#include "cli/cmd_platform.h"

#include "base/check.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/named_author.h"
#include "cli/output.h"
#include "cli/table.h"
#include "platforms/capabilities.h"
#include "store/write.h"
#include "vault/token_vault.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGE_ROWS = 200 };

bool platform_parse_id(const char *text, int64_t *row)
{
    unsigned long long n;
    if (str_to_u64(str_from_cstr(text), INT64_MAX, &n) && n) {
        *row = (int64_t)n;
        return true;
    }
    (void)cli_fail(CLI_USAGE, "ACCOUNT must be the number of an account (see viewtally platform list)");
    return false;
}

/* ---- list ---- */

static struct str api_name(int api)
{
    return str_from_cstr(api >= 0 && api < PLATFORM_APIS ? platform_desc((enum platform_api)api)->name : "?");
}

/* Calls add() for each permission that the author has not granted. */
static void list_missing_permissions(const struct credential *c,
                                     void (*add)(struct buf *b, const char *scope), struct buf *b)
{
    if (c->api < 0 || c->api >= PLATFORM_APIS)
        return;
    const struct platform_permission *p = platform_desc((enum platform_api)c->api)->permissions;
    for (; p && p->scope; p++)
        if (platform_permission_is_missing(p, c->scopes))
            add(b, p->scope);
}

static void append_json_scope(struct buf *b, const char *scope)
{
    json_str(b, str_from_cstr(scope));
}

static void append_scope(struct buf *b, const char *scope)
{
    buf_printf(b, " %s", scope);
}

static void append_json(struct buf *b, const struct credential *c, const struct uuid *author)
{
    json_open(b, '{');
    JSON_I64(b, "id", c->row);
    JSON_UUID(b, "author_id", author);
    JSON_STR(b, "platform", api_name(c->api));
    JSON_STR(b, "account_id", c->account_id);
    JSON_STR(b, "name", c->account_name);
    JSON_STR(b, "state",
             c->state == CREDENTIAL_RECONNECT_REQUIRED ? STR("reconnect_required") : STR("connected"));
    JSON_STR(b, "scopes", c->scopes);
    JSON_KEY(b, "missing_permissions");
    json_open(b, '[');
    list_missing_permissions(c, append_json_scope, b);
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

struct account_listing {
    struct store *store;
    struct arena *arena;
    const char *author;    /* an id or a sign-in name; NULL: all authors */
    struct uuid author_id; /* set if `author` is set */
    struct table table;
    size_t count;
    struct credential rows[PAGE_ROWS]; /* collected, because the store reads one list at a time */
};

static struct str copy(struct arena *a, struct str s)
{
    return s.p ? arena_copy(a, s) : s;
}

static bool collect_account(void *ctx, const struct credential *c)
{
    struct account_listing *l = ctx;
    struct credential *row = &l->rows[l->count++];
    *row = *c;
    row->account_id = copy(l->arena, c->account_id);
    row->account_name = copy(l->arena, c->account_name);
    row->scopes = copy(l->arena, c->scopes);
    row->last_error = copy(l->arena, c->last_error);
    return l->count < PAGE_ROWS;
}

static void append_notes(struct buf *b, const struct credential *c)
{
    const size_t start = b->len;
    if (c->last_error.p && (c->failures || c->state != CREDENTIAL_CONNECTED)) {
        buf_append(b, STR("last error: "));
        cli_append_text(b, c->last_error);
    }
    const size_t before = b->len;
    buf_printf(b, "%snot granted:", before > start ? "; " : "");
    const size_t after = b->len;
    list_missing_permissions(c, append_scope, b);
    if (b->len == after)
        b->len = before;
    if (c->is_personal)
        buf_printf(b, "%spersonal account: no analytics", b->len > start ? "; " : "");
}

static void add_row(struct account_listing *l, const struct credential *c, const struct uuid *author)
{
    struct table *t = &l->table;
    if (t->is_json) {
        append_json(&t->json, c, author);
        return;
    }
    table_add_i64(t, c->row);
    table_add_uuid(t, author);
    table_add_text(t, api_name(c->api));
    table_add_text(t,
                   c->state == CREDENTIAL_RECONNECT_REQUIRED ? STR("reconnect required") : STR("connected"));
    table_add_text(t, c->account_id);
    table_add_text(t, c->account_name);
    append_notes(&t->cells, c);
    table_end_cell(t);
}

static enum err add_page(struct account_listing *l)
{
    struct author author = {.row = 0};
    for (size_t i = 0; i < l->count; i++) {
        enum err err = store_get_author(l->store, l->arena, l->rows[i].author_row, &author);
        if (err)
            return err;
        add_row(l, &l->rows[i], &author.id);
    }
    return OK;
}

/* Adds each account while it is read, because the id of the author is already known. */
static bool add_account_of_author(void *ctx, const struct credential *c)
{
    struct account_listing *l = ctx;
    add_row(l, c, &l->author_id);
    return true;
}

static enum err list_of_author(struct account_listing *l)
{
    struct author author;
    enum err err = named_author_find(l->store, l->arena, l->author, &author);
    if (err)
        return err;
    l->author_id = author.id;
    return store_list_author_credentials(l->store, author.row, add_account_of_author, l);
}

static enum err list_accounts(struct store *store, struct arena *arena, void *ctx)
{
    struct account_listing *l = ctx;
    l->store = store;
    l->arena = arena;
    if (l->author)
        return list_of_author(l);
    for (int64_t last = 0;; last = l->rows[l->count - 1].row) {
        l->count = 0;
        enum err err = store_list_credentials(store, last, PAGE_ROWS, collect_account, l);
        if (!err)
            err = add_page(l);
        if (err || !l->count)
            return err;
        arena_reset(arena);
    }
}

static enum cli_exit list_and_print(struct cli *cli, struct account_listing *l, bool is_json)
{
    static const char *const headings[] = {"#ACCOUNT",    "AUTHOR", "API",   "STATE",
                                           "PLATFORM ID", "NAME",   "NOTES", NULL};
    table_init(&l->table, headings, is_json);
    enum err err = cli_read(cli, list_accounts, l);
    if (!err)
        return table_print(&l->table);
    table_fini(&l->table);
    return err == ERR_NOT_FOUND ? named_author_print_not_found() : CLI_COULD_NOT;
}

static enum cli_exit list(struct cli *cli, const struct cli_arguments *arguments)
{
    struct account_listing *l = xcalloc(1, sizeof *l);
    l->author = cli_value(arguments, "author");
    enum cli_exit code = list_and_print(cli, l, cli_flag(arguments, "json"));
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

static enum cli_exit remove_command(struct cli *cli, const struct cli_arguments *arguments)
{
    int64_t row;
    if (!platform_parse_id(arguments->operands[0], &row))
        return CLI_USAGE;
    enum err err = cli_transaction(cli, remove_account, &row);
    if (err == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "no account has this number (see viewtally platform list)");
    if (err)
        return CLI_COULD_NOT;
    printf(
        "Removed account %lld and its tokens. The author can also revoke the app's access at the platform.\n",
        (long long)row);
    return CLI_DONE;
}

/* ---- capabilities ---- */

static enum cli_exit capabilities(struct cli *cli, const struct cli_arguments *arguments)
{
    struct buf out;
    (void)cli;
    buf_init(&out, 1 << 16);
    (cli_flag(arguments, "json") ? capabilities_print_json : capabilities_print)(&out);
    return cli_print(&out);
}

/* ---- the command ---- */

static const struct cli_option connect_options[] = {
    {.name = "author",
     .argument = "AUTHOR",
     .help = "The author who owns the account: an id or a sign-in name.",
     .is_required = true},
    {.name = "platform",
     .argument = "NAME",
     .help = "One of:" PLATFORM_NAMES ", or instagram-facebook.",
     .is_required = true},
    {.name = "account",
     .argument = "ID",
     .help = "The account's id at the platform: the open_id, or the id of the channel, user or page.",
     .is_required = true},
    {.name = "login",
     .argument = "LOGIN",
     .help = "Only for instagram: the login that issued the tokens, instagram (the default) or facebook. "
             "`--platform instagram --login facebook` is the same as `--platform instagram-facebook`."},
    {.name = "name", .argument = "NAME", .help = "The account's name, shown to the author."},
    {.name = "json", .help = "Print the account's number as JSON."},
    {0},
};

static const struct cli_option list_options[] = {
    {.name = "author",
     .argument = "AUTHOR",
     .help = "Only the accounts of this author: an id or a sign-in name."},
    {.name = "json", .help = "Print a JSON array, with all fields."},
    {0},
};

static const struct cli_option probe_options[] = {
    {.name = "record",
     .argument = "FILE",
     .help = "Write the responses without tokens, names and real ids to FILE-01, FILE-02 and so on, in the "
             "format of the project's tests."},
    {0},
};

static const struct cli_option status_options[] = {
    {.name = "json", .help = "Print JSON."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "connect",
     .options = connect_options,
     .summary = "Stores an account with tokens from standard input and prints its number.",
     .description =
         "Standard input must be a JSON object with access_token and optionally refresh_token, expires_in "
         "and refresh_expires_in (in seconds) and scope. Connecting an account again replaces its "
         "tokens. Authors can also connect accounts themselves on their pages.",
     .partial = "no author has this id or sign-in name, or the account belongs to another author",
     .examples = "viewtally platform connect --author 00000000-0000-4000-8000-000000000001 --platform tiktok "
                 "--account OPEN_ID <tokens.json",
     .run = platform_connect},
    {.name = "list",
     .options = list_options,
     .summary = "Lists the accounts, without their tokens.",
     .partial = "no author has this id or sign-in name",
     .examples = "viewtally platform list\n"
                 "viewtally platform list --author 00000000-0000-4000-8000-000000000001 --json",
     .run = list},
    {.name = "test",
     .operands = "ACCOUNT",
     .operands_min = 1,
     .operands_max = 1,
     .summary = "Makes one call with the account's tokens and explains the result.",
     .description =
         "Reads one of the author's posts if there is one. Expired tokens are refreshed first. Exit "
         "status 2: the operator must act. Exit status 3: the result is unknown; try again later.",
     .partial = "the author must act, for example reconnect the account; or the platform does not find the "
                "post",
     .examples = "viewtally platform test 7",
     .run = platform_test},
    {.name = "probe",
     .operands = "ACCOUNT",
     .operands_min = 1,
     .operands_max = 1,
     .options = probe_options,
     .summary = "Makes every call that a refresh could make for the account and shows the responses.",
     .description =
         "Covers all forms of the request and all kinds of posts. Prints each request and response, how the "
         "response was interpreted and what a refresh would change, but changes no counts. Run it after "
         "you connect your first account. For the exit statuses see viewtally platform test --help.",
     .partial = "the author must act, for example reconnect the account",
     .examples = "viewtally platform probe 7\n"
                 "viewtally platform probe 7 --record probe",
     .run = platform_probe},
    {.name = "remove",
     .operands = "ACCOUNT",
     .operands_min = 1,
     .operands_max = 1,
     .summary = "Removes an account and its tokens.",
     .partial = "no account has this number",
     .examples = "viewtally platform remove 7",
     .run = remove_command},
    {.name = "status",
     .options = status_options,
     .summary =
         "Shows for each API the number of accounts, the last successful call, the remaining quota and "
         "how long calls are paused. Also shows the calls of the last run.",
     .examples = "viewtally platform status",
     .run = platform_status},
    {.name = "capabilities",
     .options = status_options,
     .summary = "Prints a table of the counts that each API provides.",
     .examples = "viewtally platform capabilities",
     .run = capabilities},
    {0},
};

const struct cli_command cli_platform = {
    .name = "platform",
    .summary = "connect, test and list the authors' accounts at platforms",
    .actions = actions,
};
