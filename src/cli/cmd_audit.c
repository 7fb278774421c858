/* viewtally audit: prints the audit log, newest entries first. */
#include "base/clock.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/named_author.h"
#include "cli/output.h"
#include "cli/table.h"
#include "store/audit.h"
#include "store/write.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000000 };

struct audit_listing {
    const char *author; /* an id or a sign-in name; NULL: all authors */
    int64_t since;
    int limit;
    struct table table;
};

static void append_json(struct buf *b, const struct audit_entry *e)
{
    json_open(b, '{');
    JSON_UUID(b, "author_id", &e->author);
    JSON_TIME(b, "at", e->at);
    JSON_STR(b, "action", e->action);
    JSON_STR(b, "actor", e->actor);
    JSON_STR(b, "actor_name", e->actor_name);
    JSON_STR(b, "address", e->address);
    JSON_STR(b, "subject", e->subject);
    JSON_STR(b, "details", e->details);
    json_close(b, '}');
}

/* Adds the cell of the actor, such as "operator root", and the cell of the address. */
static void add_actor(struct table *t, const struct audit_entry *e)
{
    cli_append_text(&t->cells, e->actor);
    if (e->actor_name.p) {
        buf_append_char(&t->cells, ' ');
        cli_append_text(&t->cells, e->actor_name);
    }
    table_end_cell(t);
    table_add_text(t, e->address.p ? e->address : STR("-"));
}

static bool add_row(void *ctx, const struct audit_entry *e)
{
    struct audit_listing *l = ctx;
    struct table *t = &l->table;
    if (t->is_json) {
        append_json(&t->json, e);
        return true;
    }
    table_add_time(t, e->at, "-");
    table_add_uuid(t, &e->author);
    table_add_text(t, e->action);
    add_actor(t, e);
    table_add_text(t, e->subject.p ? e->subject : STR("-"));
    table_add_text(t, e->details.p ? e->details : STR("-"));
    return true;
}

static enum err list_entries(struct store *store, struct arena *arena, void *ctx)
{
    struct audit_listing *l = ctx;
    struct author author;
    if (!l->author)
        return store_list_all_audit(store, l->since, l->limit, add_row, l);
    const enum err err = named_author_find(store, arena, l->author, &author);
    return err ? err : store_list_audit(store, author.row, l->since, l->limit, add_row, l);
}

/* Reads the options into `*l`. Returns false after printing an error. */
static bool read_options(const struct cli_arguments *arguments, struct audit_listing *l)
{
    const char *since = cli_value(arguments, "since"), *limit = cli_value(arguments, "limit");
    unsigned long long n = LIMIT_DEFAULT;
    int32_t date;
    l->author = cli_value(arguments, "author");
    l->since = clock_wall_ms() - AUDIT_DAYS * (int64_t)DAY_MS;
    if (since && !date_parse(str_from_cstr(since), &date)) {
        (void)cli_fail(CLI_USAGE, "--since must be a date such as 2026-07-01");
        return false;
    }
    if (since && date_start_ms(date) > l->since)
        l->since = date_start_ms(date);
    if (limit && (!str_to_u64(str_from_cstr(limit), LIMIT_MAX, &n) || !n)) {
        (void)cli_fail(CLI_USAGE, "--limit must be a number from 1 to %d", LIMIT_MAX);
        return false;
    }
    l->limit = (int)n;
    return true;
}

static enum cli_exit audit(struct cli *cli, const struct cli_arguments *arguments)
{
    static const char *const headings[] = {"TIME",    "AUTHOR",  "ACTION",  "ACTOR",
                                           "ADDRESS", "SUBJECT", "DETAILS", NULL};
    struct audit_listing l = {0};
    if (!read_options(arguments, &l))
        return CLI_USAGE;
    table_init(&l.table, headings, cli_flag(arguments, "json"));
    const enum err err = cli_read(cli, list_entries, &l);
    if (!err)
        return table_print(&l.table);
    table_fini(&l.table);
    return err == ERR_NOT_FOUND ? named_author_print_not_found() : CLI_COULD_NOT;
}

static const struct cli_option options[] = {
    {.name = "author",
     .argument = "AUTHOR",
     .help = "Print only the entries of this author (id or sign-in name)."},
    {.name = "since",
     .argument = "DATE",
     .help = "Print only entries of this UTC date, such as 2026-07-01, and later."},
    {.name = "limit", .argument = "N", .help = "Print at most the N newest entries; by default 100."},
    {.name = "json", .help = "Print a JSON array, with all fields."},
    {0},
};

static const struct cli_action actions[] = {
    {.options = options,
     .description =
         "An entry is written when one of the following happens: a key is created, first used or revoked "
         "(key.created, key.first_used, key.revoked); an app is connected or disconnected (app.connected, "
         "app.disconnected); an author signs in (author.signed_in) or sets a password (author.password_set); "
         "a plan changes (plan.changed); a video "
         "or book is removed (video.removed, book.removed); views are corrected (reading.corrected); an "
         "author's data is exported on the account page (author.exported) or imported from an export "
         "(author.imported). Entries about webhooks are webhook.created, webhook.paused, webhook.resumed, "
         "webhook.secret_rotated and webhook.deleted, and webhook.url_changed when the operator changes "
         "the webhook of an app. The details of entries about webhooks contain only the origin of the URL, "
         "or `removed`.\n\n"
         "The actor is the operator (with the name of the system user), the author, the app, the key, or "
         "the refresh (for a line of a spool file). The address is that of the client. Entries are deleted "
         "after a year. For each author and UTC day, at most 100 sign-ins are recorded, at most 100 new "
         "passwords, at most 100 exports, and at most 100 entries of each action on webhooks; all other "
         "actions are always recorded. A "
         "sign-in through a "
         "reverse proxy ([account] auth_header) is not recorded. Authors see their own entries on their "
         "account page.",
     .partial = "no author has this id or sign-in name",
     .examples = "viewtally audit\n"
                 "viewtally audit --author 00000000-0000-4000-8000-000000000001 --since 2026-07-01 --json",
     .run = audit},
    {0},
};

const struct cli_command cli_audit = {
    .name = "audit",
    .summary = "print who changed keys, apps, webhooks and plans, and who signed in",
    .actions = actions,
};
