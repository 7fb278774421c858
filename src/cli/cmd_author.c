/* viewtally author: add, list, set-plan. The subcommands about signing in are in cmd_author_login.c. */
#include "auth/api_key.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/uuid.h"
#include "cli/arguments.h"
#include "cli/cmd_author_login.h"
#include "cli/database.h"
#include "cli/output.h"
#include "cli/table.h"
#include "store/write.h"

enum { NAME_MAX_BYTES = 2000 };

static void append_json(struct buf *b, const struct author *a)
{
    json_open(b, '{');
    JSON_UUID(b, "id", &a->id);
    JSON_STR(b, "name", a->name);
    JSON_BOOL(b, "plan_active", a->plan_active);
    JSON_TIME(b, "created_at", a->created_at);
    JSON_I64(b, "books_count", a->books_count);
    JSON_I64(b, "videos_count", a->videos_count);
    JSON_TIME_OR_NULL(b, "views_refreshed_at", a->views_refreshed_at != TIME_NONE, a->views_refreshed_at);
    json_close(b, '}');
}

/* ---- add ---- */

static enum err insert(struct store *store, struct arena *arena, void *ctx)
{
    struct author *author = ctx, existing;
    enum err err = store_find_author(store, arena, &author->id, &existing);
    if (err == ERR_NOT_FOUND)
        return store_insert_author(store, author);
    return err ? err : ERR_EXISTS;
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
    if (!author.name.len || author.name.len > NAME_MAX_BYTES || !str_is_utf8(author.name))
        return cli_fail(CLI_USAGE, "--name must be 1 to %d bytes of UTF-8", NAME_MAX_BYTES);
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

/* ---- set-plan ---- */

struct plan_change {
    struct uuid author;
    bool active;
};

static enum err update_plan(struct store *store, struct arena *arena, void *ctx)
{
    const struct plan_change *plan = ctx;
    struct author author;
    enum err err = store_find_author(store, arena, &plan->author, &author);
    author.plan_active = plan->active;
    return err ? err : store_update_author(store, &author);
}

static enum cli_exit set_plan(struct cli *cli, const struct cli_arguments *arguments)
{
    const char *plan = arguments->operands[1];
    struct plan_change change = {.active = strcmp(plan, "active") == 0};
    if (!cli_parse_uuid("AUTHOR", arguments->operands[0], &change.author))
        return CLI_USAGE;
    if (!change.active && strcmp(plan, "inactive") != 0)
        return cli_fail(CLI_USAGE, "the plan must be active or inactive");
    enum err err = cli_transaction(cli, update_plan, &change);
    if (err == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "no author has this id (see viewtally author list)");
    return err ? CLI_COULD_NOT : CLI_DONE;
}

/* ---- the command ---- */

static const struct cli_option add_options[] = {
    {.name = "name", .argument = "NAME", .help = "The author's name.", .is_required = true},
    {.name = "id", .argument = "UUID", .help = "The author's id; by default a random one."},
    {.name = "json", .help = "Print the author as JSON."},
    {0},
};

static const struct cli_option list_options[] = {
    {.name = "json", .help = "Print a JSON array, with all fields."},
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
    {.name = "list",
     .options = list_options,
     .summary = "Lists all authors with the number of their books and videos.",
     .run = list},
    {.name = "set-plan",
     .operands = "AUTHOR active|inactive",
     .operands_min = 2,
     .operands_max = 2,
     .summary = "Activates or deactivates an author's plan.",
     .description = "While the plan is inactive, requests with the author's API keys are rejected with 403. "
                    "The keys themselves stay valid.",
     .partial = "no author has this id",
     .run = set_plan},
    {.name = "invite",
     .operands = "AUTHOR",
     .operands_min = 1,
     .operands_max = 1,
     .options = invite_options,
     .summary = "Creates an invitation: prints a link with which the author can set a password.",
     .description =
         "Use it for the first sign-in and if the author has forgotten the password. The link can be "
         "used once and expires after 24 hours. Earlier links become invalid.",
     .partial = "no author has this id, or another author uses this sign-in name",
     .run = author_invite},
    {.name = "set-login",
     .operands = "AUTHOR NAME",
     .operands_min = 2,
     .operands_max = 2,
     .summary = "Sets the sign-in name without a password.",
     .description = "Use it if a reverse proxy signs authors in ([account] auth_header).",
     .partial = "no author has this id, or another author uses this sign-in name",
     .run = author_set_login},
    {.name = "sign-out",
     .operands = "AUTHOR",
     .operands_min = 1,
     .operands_max = 1,
     .summary = "Ends all sessions of an author and revokes an unused invitation.",
     .partial = "no author has this id",
     .run = author_sign_out},
    {0},
};

const struct cli_command cli_author = {
    .name = "author",
    .summary = "add and list authors, set their plans, and invite them to sign in",
    .actions = actions,
};
