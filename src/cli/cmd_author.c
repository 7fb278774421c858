/* viewtally author: add, list, show, rename, set-plan. The other subcommands are in cmd_author_*.c and
 * cmd_erase.c. */
#include "auth/api_key.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/uuid.h"
#include "cli/arguments.h"
#include "cli/cmd_author_export.h"
#include "cli/cmd_author_login.h"
#include "cli/cmd_erase.h"
#include "cli/database.h"
#include "cli/named_author.h"
#include "cli/operator.h"
#include "cli/output.h"
#include "cli/table.h"
#include "store/accounts.h"
#include "store/erase.h"
#include "store/platform_credentials.h"
#include "store/write.h"

enum { NAME_MAX_BYTES = 2000 };

/* Writes the members of an author and leaves the JSON object open. */
static void begin_json(struct buf *b, const struct author *a)
{
    json_open(b, '{');
    JSON_UUID(b, "id", &a->id);
    JSON_STR(b, "name", a->name);
    JSON_BOOL(b, "plan_active", a->plan_active);
    JSON_TIME(b, "created_at", a->created_at);
    JSON_I64(b, "books_count", a->books_count);
    JSON_I64(b, "videos_count", a->videos_count);
    JSON_TIME_OR_NULL(b, "views_refreshed_at", a->views_refreshed_at != TIME_NONE, a->views_refreshed_at);
}

static void append_json(struct buf *b, const struct author *a)
{
    begin_json(b, a);
    json_close(b, '}');
}

static bool check_name(const char *what, struct str name)
{
    if (name.len && name.len <= NAME_MAX_BYTES && str_is_utf8(name))
        return true;
    (void)cli_fail(CLI_USAGE, "%s must be 1 to %d bytes of UTF-8", what, NAME_MAX_BYTES);
    return false;
}

static enum cli_exit explain(enum err err)
{
    return err == ERR_NOT_FOUND ? named_author_print_not_found() : CLI_COULD_NOT;
}

/* ---- add ---- */

static enum err insert(struct store *store, struct arena *arena, void *ctx)
{
    struct author *author = ctx, existing;
    enum err err = store_find_author(store, arena, &author->id, &existing);
    if (err != ERR_NOT_FOUND)
        return err ? err : ERR_EXISTS;
    err = store_delete_tombstone(store, &author->id);
    return err ? err : store_insert_author(store, author);
}

static enum cli_exit print_added(const struct author *author, bool is_json)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    if (is_json)
        append_json(&out, author);
    else
        cli_append_uuid(&out, &author->id);
    buf_append_char(&out, '\n');
    return cli_print(&out);
}

static enum cli_exit add(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *id = cli_value(arguments, "id");
    struct author author = {.id = uuid_generate(),
                            .name = str_from_cstr(cli_value(arguments, "name")),
                            .plan_active = true,
                            .created_at = clock_wall_ms(),
                            .views_refreshed_at = TIME_NONE};
    if (!check_name("--name", author.name))
        return CLI_USAGE;
    if (id && !cli_parse_uuid("--id", id, &author.id))
        return CLI_USAGE;
    enum err err = cli_transaction(cli, insert, &author);
    if (err == ERR_EXISTS)
        return cli_fail(CLI_PART, "an author with this id already exists");
    return err ? CLI_COULD_NOT : print_added(&author, cli_flag(arguments, "json"));
}

/* ---- list ---- */

static bool add_row(void *ctx, const struct author *a)
{
    struct table *t = ctx;
    if (t->is_json) {
        append_json(&t->json, a);
        return true;
    }
    table_add_uuid(t, &a->id);
    table_add_text(t, a->plan_active ? STR("active") : STR("inactive"));
    table_add_i64(t, a->books_count);
    table_add_i64(t, a->videos_count);
    table_add_text(t, a->name);
    return true;
}

static enum err list_authors(struct store *store, struct arena *arena, void *ctx)
{
    (void)arena;
    return store_list_authors(store, add_row, ctx);
}

static enum cli_exit list(struct cli *cli, const struct cli_arguments *arguments)
{
    static const char *const headings[] = {"ID", "PLAN", "#BOOKS", "#VIDEOS", "NAME", NULL};
    struct table table;
    table_init(&table, headings, cli_flag(arguments, "json"));
    if (!cli_read(cli, list_authors, &table))
        return table_print(&table);
    table_fini(&table);
    return CLI_COULD_NOT;
}

/* ---- show ---- */

struct author_details {
    const char *named; /* an id or a sign-in name */
    bool is_json;
    struct buf out;
    int64_t live_keys, revoked_keys, accounts;
};

static bool count_key(void *ctx, const struct api_key *key)
{
    struct author_details *d = ctx;
    if (key->revoked_at == TIME_NONE)
        d->live_keys++;
    else
        d->revoked_keys++;
    return true;
}

static bool count_account(void *ctx, const struct credential *account)
{
    struct author_details *d = ctx;
    (void)account;
    d->accounts++;
    return true;
}

static void append_details_json(struct author_details *d, const struct author *a, const struct viewer *viewer)
{
    struct buf *b = &d->out;
    begin_json(b, a);
    JSON_STR(b, "login", viewer->login);
    JSON_BOOL(b, "has_password", viewer->password.p != NULL);
    JSON_I64(b, "live_keys", d->live_keys);
    JSON_I64(b, "revoked_keys", d->revoked_keys);
    JSON_I64(b, "platform_accounts", d->accounts);
    json_close(b, '}');
    buf_append_char(b, '\n');
}

static void append_line(struct buf *b, const char *heading, struct str text)
{
    buf_printf(b, "%-20s", heading);
    cli_append_text(b, text);
    buf_append_char(b, '\n');
}

static void append_details(struct author_details *d, const struct author *a, const struct viewer *viewer)
{
    struct buf *b = &d->out;
    buf_append(b, STR("id                  "));
    cli_append_uuid(b, &a->id);
    buf_append_char(b, '\n');
    append_line(b, "name", a->name);
    append_line(b, "plan", a->plan_active ? STR("active") : STR("inactive"));
    append_line(b, "sign-in name", viewer->login.p ? viewer->login : STR("none"));
    append_line(b, "password", viewer->password.p ? STR("set") : STR("not set"));
    buf_append(b, STR("created             "));
    cli_append_time(b, a->created_at);
    buf_append(b, STR("\nviews refreshed     "));
    if (a->views_refreshed_at == TIME_NONE)
        buf_append(b, STR("never"));
    else
        cli_append_time(b, a->views_refreshed_at);
    buf_printf(b, "\nbooks               %lld\nvideos              %lld\n", (long long)a->books_count,
               (long long)a->videos_count);
    buf_printf(b, "API keys            %lld live, %lld revoked\nplatform accounts   %lld\n",
               (long long)d->live_keys, (long long)d->revoked_keys, (long long)d->accounts);
}

static enum err read_details(struct store *store, struct arena *arena, void *ctx)
{
    struct author_details *d = ctx;
    struct viewer viewer;
    struct author author;
    enum err err = named_author_find(store, arena, d->named, &author);
    if (!err)
        err = store_get_viewer(store, arena, author.row, &viewer);
    if (!err)
        err = store_list_keys(store, author.row, count_key, d);
    if (!err)
        err = store_list_author_credentials(store, author.row, count_account, d);
    if (!err)
        (d->is_json ? append_details_json : append_details)(d, &author, &viewer);
    return err;
}

static enum cli_exit show(struct cli *cli, const struct cli_arguments *arguments)
{
    struct author_details d = {.named = arguments->operands[0], .is_json = cli_flag(arguments, "json")};
    buf_init(&d.out, 64 * 1024);
    enum err err = cli_read(cli, read_details, &d);
    if (!err)
        return cli_print(&d.out);
    buf_fini(&d.out);
    return explain(err);
}

/* ---- rename, set-plan ---- */

struct author_change {
    const char *named; /* an id or a sign-in name */
    struct str name;   /* p == NULL: unchanged */
    const char *plan;  /* "active" or "inactive"; NULL: unchanged */
    struct buf report; /* printed after the commit */
};

static enum err update_author(struct store *store, struct arena *arena, void *ctx)
{
    struct author_change *c = ctx;
    struct author author;
    enum err err = named_author_find(store, arena, c->named, &author);
    if (err)
        return err;
    cli_append_text(&c->report, author.name);
    if (c->name.p) {
        author.name = c->name;
        buf_append(&c->report, STR(" is now called "));
        cli_append_text(&c->report, c->name);
    }
    if (c->plan) {
        author.plan_active = strcmp(c->plan, "active") == 0;
        buf_printf(&c->report, ": the plan is now %s", c->plan);
    }
    buf_append(&c->report, STR(".\n"));
    const struct actor by = cli_operator();
    return store_update_author(store, &author, clock_wall_ms(), &by);
}

static enum cli_exit change_author(struct cli *cli, struct author_change *c)
{
    buf_init(&c->report, 64 * 1024);
    enum err err = cli_transaction(cli, update_author, c);
    if (!err)
        return cli_print(&c->report);
    buf_fini(&c->report);
    return explain(err);
}

static enum cli_exit rename_author(struct cli *cli, const struct cli_arguments *arguments)
{
    struct author_change change = {.named = arguments->operands[0],
                                   .name = str_from_cstr(arguments->operands[1])};
    if (!check_name("NAME", change.name))
        return CLI_USAGE;
    return change_author(cli, &change);
}

static enum cli_exit set_plan(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *plan = arguments->operands[1];
    struct author_change change = {.named = arguments->operands[0], .plan = plan};
    if (strcmp(plan, "active") != 0 && strcmp(plan, "inactive") != 0)
        return cli_fail(CLI_USAGE, "the plan must be active or inactive");
    return change_author(cli, &change);
}

/* ---- the command ---- */

static const struct cli_option add_options[] = {
    {.name = "name", .argument = "NAME", .help = "The author's name.", .is_required = true},
    {.name = "id", .argument = "UUID", .help = "The author's id; by default a random one."},
    {.name = "json", .help = "Print the author as JSON."},
    {0},
};

static const struct cli_option erase_options[] = {
    {.name = "dry-run", .help = "Print what would be deleted, but change nothing."},
    {0},
};

static const struct cli_option list_options[] = {
    {.name = "json", .help = "Print a JSON array, with all fields."},
    {0},
};

static const struct cli_option import_options[] = {
    {.name = "dry-run", .help = "Check the file and print what would change, but change nothing."},
    {.name = "links",
     .argument = "PATH",
     .help = "Write the sign-in links to this new file (CSV, mode 0600); by default to standard output."},
    {.name = "new-links",
     .help = "Also replace links that are still valid. By default, an author who has a valid link gets no "
             "new one."},
    {.name = "no-links", .help = "Create no sign-in links."},
    {.name = "json", .help = "Print the numbers and the links as JSON."},
    {0},
};

static const struct cli_option show_options[] = {
    {.name = "json", .help = "Print the author as JSON."},
    {0},
};

static const struct cli_option invite_options[] = {
    {.name = "login",
     .argument = "NAME",
     .help = "The sign-in name for the author; by default the author chooses one."},
    {.name = "json", .help = "Print the link and its expiry time as JSON."},
    {0},
};

static const struct cli_action actions[] = {
    {.name = "add",
     .options = add_options,
     .summary = "Creates an author and prints the author's id.",
     .partial = "an author with this id already exists",
     .examples = "viewtally author add --name 'Ada Lovelace'",
     .run = add},
    {.name = "import",
     .operands = "FILE",
     .operands_min = 1,
     .operands_max = 1,
     .options = import_options,
     .summary = "Sets up many authors with their plans, sign-in names and sign-in links from one file.",
     .description =
         "FILE is CSV with a heading, or NDJSON with one object per line; `-` is standard input. The fields "
         "are name, plan (active or inactive; by default active), login (the sign-in name) and id. A new "
         "author "
         "needs a name; an existing one needs only the fields that identify or change the author.\n\n"
         "  name,login,plan\n"
         "  Ada Lovelace,ada@example.com,active\n"
         "  \"Grace Hopper\",grace@example.com,inactive\n\n"
         "An author is identified by id, else by login, else by name. Authors that do not exist are created, "
         "others are changed if they differ, so importing a file again changes nothing. A field that is "
         "missing or empty is left unchanged. Each author who has no password and no valid link gets a "
         "sign-in link, which can be used once and expires after 24 hours. If a line is bad, it is reported "
         "as FILE:LINE: reason and nothing is changed.",
     .partial = "a line is bad, or the file of --links already exists; nothing was changed",
     .examples = "viewtally author import authors.csv --dry-run\n"
                 "viewtally author import authors.csv --links links.csv",
     .run = author_import},
    {.name = "export",
     .operands = "AUTHOR FILE",
     .operands_min = 2,
     .operands_max = 2,
     .summary = "Writes everything that the API shows of an author to a file, which viewtally import reads.",
     .description =
         "AUTHOR is an id or a sign-in name. FILE is a new file (mode 0600); `-` is standard output. It "
         "contains the author's books, videos, posts, counts, statistics, milestones, events and API keys, "
         "as of one moment. You need not stop the server.\n\n"
         "After `viewtally import FILE` into another database, all requests with the author's keys get the "
         "same responses as before. Therefore the file contains the hashes of the keys, but not the keys. "
         "Not exported: sign-in name and password, sessions, tokens of platform accounts, webhooks, the "
         "audit log. docs/data-in.md describes the format.",
     .partial = "no author has this id or sign-in name, or the file already exists",
     .examples = "viewtally author export ada@example.com ada.ndjson\n"
                 "viewtally author export ada@example.com - | gzip >ada.ndjson.gz",
     .run = author_export},
    {.name = "erase",
     .operands = "AUTHOR",
     .operands_min = 1,
     .operands_max = 1,
     .options = erase_options,
     .summary = "Deletes an author with everything that belongs to the author.",
     .description =
         "AUTHOR is an id or a sign-in name. Deletes the author's books, videos, counts, statistics, "
         "events, keys, connected apps, platform accounts, webhooks, sign-in name, sessions and audit log "
         "in one transaction and overwrites them in the database file (in PostgreSQL, a later vacuum removes "
         "them). Then deletes what Redis stores about the keys. Requests with the keys are rejected as "
         "invalid_api_key. While a refresh or an import "
         "is running, the command fails and changes nothing. The deletion cannot be undone; --dry-run "
         "prints what would be deleted.\n\n"
         "A tombstone remains, which is a hash of the author's id. Because of the tombstone, a restore of "
         "an older backup erases the author again, and an import rejects the author. To create the author "
         "again, use viewtally author add --id, or viewtally import --allow-erased with an export; both "
         "delete the tombstone.\n\n"
         "If the command was interrupted, repeat it with the id of the author.",
     .partial = "no author has this id or sign-in name, or Redis is unavailable",
     .examples = "viewtally author erase 00000000-0000-4000-8000-000000000001 --dry-run",
     .run = author_erase},
    {.name = "list",
     .options = list_options,
     .summary = "Lists all authors with the number of their books and videos.",
     .examples = "viewtally author list\n"
                 "viewtally author list --json | jq -r '.[].id'",
     .run = list},
    {.name = "show",
     .operands = "AUTHOR",
     .operands_min = 1,
     .operands_max = 1,
     .options = show_options,
     .summary = "Shows an author's sign-in name, and how many keys and platform accounts the author has.",
     .partial = "no author has this id or sign-in name",
     .examples = "viewtally author show ada@example.com --json",
     .run = show},
    {.name = "rename",
     .operands = "AUTHOR NAME",
     .operands_min = 2,
     .operands_max = 2,
     .summary = "Changes an author's name.",
     .partial = "no author has this id or sign-in name",
     .examples = "viewtally author rename ada@example.com 'Ada King'",
     .run = rename_author},
    {.name = "set-plan",
     .operands = "AUTHOR active|inactive",
     .operands_min = 2,
     .operands_max = 2,
     .summary = "Activates or deactivates an author's plan.",
     .description = "While the plan is inactive, requests with the author's API keys are rejected with 403. "
                    "The keys themselves stay valid.",
     .partial = "no author has this id or sign-in name",
     .examples = "viewtally author set-plan ada@example.com inactive",
     .run = set_plan},
    {.name = "invite",
     .operands = "AUTHOR",
     .operands_min = 1,
     .operands_max = 1,
     .options = invite_options,
     .summary = "Creates an invitation: prints a link with which the author can set a password.",
     .description =
         "Use it for the first sign-in and if the author has forgotten the password. The link can be "
         "used once and expires after 24 hours. It also becomes invalid if you create another link, or if "
         "the author changes the password.",
     .partial = "no author has this id or sign-in name, or another author uses this sign-in name",
     .examples = "viewtally author invite 00000000-0000-4000-8000-000000000001 --login ada@example.com",
     .run = author_invite},
    {.name = "set-login",
     .operands = "AUTHOR NAME",
     .operands_min = 2,
     .operands_max = 2,
     .summary = "Sets the sign-in name without a password.",
     .description = "Use it if a reverse proxy signs authors in ([account] auth_header).",
     .partial = "no author has this id or sign-in name, or another author uses this sign-in name",
     .examples = "viewtally author set-login 00000000-0000-4000-8000-000000000001 ada@example.com",
     .run = author_set_login},
    {.name = "sign-out",
     .operands = "AUTHOR",
     .operands_min = 1,
     .operands_max = 1,
     .summary = "Ends all sessions of an author and revokes an unused invitation.",
     .partial = "no author has this id or sign-in name",
     .examples = "viewtally author sign-out 00000000-0000-4000-8000-000000000001",
     .run = author_sign_out},
    {0},
};

const struct cli_command cli_author = {
    .name = "author",
    .summary = "add, show, list, export and erase authors, set their plans, and invite them to sign in",
    .description = "AUTHOR is the author's id or sign-in name.",
    .actions = actions,
};
