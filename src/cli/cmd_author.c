/* viewtally author: add, list, set-plan; the rest is in author_login.c. */
#include "auth/api_key.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/cmd_author_login.h"
#include "cli/cli.h"
#include "store/write.h"

enum { NAME_MAX_BYTES = 2000, LIST_MAX_BYTES = 1 << 30 };

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

static void append_id(struct buf *b, const struct uuid *id)
{
    char text[UUID_TEXT_LEN];
    uuid_format(id, text);
    buf_append(b, str_make(text, sizeof text));
}

/* ---- add ---- */

static enum err insert(struct store *store, struct arena *arena, void *ctx)
{
    struct author *author = ctx, existing;
    enum err e = store_find_author(store, arena, &author->id, &existing);
    if (e == ERR_NOT_FOUND)
        return store_insert_author(store, author);
    return e ? e : ERR_EXISTS;
}

static enum cli_exit add(struct cli *cli, int argc, char **argv)
{
    const char *name = NULL, *id = NULL;
    bool json = false;
    int count;
    struct buf out;
    const struct cli_option options[] = {
        {"name", &name, NULL}, {"id", &id, NULL}, {"json", NULL, &json}, {0}};
    if (!cli_parse(argc, argv, options, 0, 0, &count))
        return CLI_USAGE;
    struct author author = {.id = uuid_generate(),
                            .name = str_from_cstr(name),
                            .plan_active = true,
                            .created_at = clock_wall_ms(),
                            .views_refreshed_at = TIME_NONE};
    if (!author.name.len || author.name.len > NAME_MAX_BYTES || !str_is_utf8(author.name))
        return cli_fail(CLI_USAGE, "author add: --name wants 1 to %d bytes of UTF-8", NAME_MAX_BYTES);
    if (id && !cli_parse_uuid("author add: --id", id, &author.id))
        return CLI_USAGE;
    enum err e = cli_transaction(cli, insert, &author);
    if (e == ERR_EXISTS)
        return cli_fail(CLI_PART, "author add: there is an author with this id already");
    if (e)
        return CLI_COULD_NOT;
    buf_init(&out, 1 << 20);
    if (json)
        append_json(&out, &author);
    else
        append_id(&out, &author.id);
    buf_append_char(&out, '\n');
    return cli_print(&out);
}

/* ---- list ---- */

struct listing {
    struct buf out;
    bool json;
};

static bool on_author(void *ctx, const struct author *a)
{
    struct listing *l = ctx;
    if (l->json) {
        append_json(&l->out, a);
        return true;
    }
    append_id(&l->out, &a->id);
    buf_printf(&l->out, "  %-8s  %6lld books  %6lld videos  ", a->plan_active ? "active" : "inactive",
               (long long)a->books_count, (long long)a->videos_count);
    cli_append_text(&l->out, a->name);
    buf_append_char(&l->out, '\n');
    return true;
}

static enum err list_authors(struct store *store, struct arena *arena, void *ctx)
{
    (void)arena;
    return store_list_authors(store, on_author, ctx);
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
    if (cli_read(cli, list_authors, &l)) {
        buf_fini(&l.out);
        return CLI_COULD_NOT;
    }
    if (l.json)
        buf_append(&l.out, STR("]\n"));
    return cli_print(&l.out);
}

/* ---- set-plan ---- */

struct plan {
    struct uuid author;
    bool active;
};

static enum err update_plan(struct store *store, struct arena *arena, void *ctx)
{
    const struct plan *plan = ctx;
    struct author author;
    enum err e = store_find_author(store, arena, &plan->author, &author);
    author.plan_active = plan->active;
    return e ? e : store_update_author(store, &author);
}

static enum cli_exit set_plan(struct cli *cli, int argc, char **argv)
{
    int count;
    struct plan plan;
    if (!cli_parse(argc, argv, NULL, 2, 2, &count) ||
        !cli_parse_uuid("author set-plan: the author", argv[1], &plan.author))
        return CLI_USAGE;
    plan.active = strcmp(argv[2], "active") == 0;
    if (!plan.active && strcmp(argv[2], "inactive") != 0)
        return cli_fail(CLI_USAGE, "author set-plan: the plan is active or inactive");
    enum err e = cli_transaction(cli, update_plan, &plan);
    if (e == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "author set-plan: there is no author with this id");
    return e ? CLI_COULD_NOT : CLI_DONE;
}

static enum cli_exit run(struct cli *cli, int argc, char **argv)
{
    static const char *const names[] = {"add", "list", "set-plan", "invite", "set-login", "sign-out", NULL};
    static enum cli_exit (*const runs[])(struct cli *, int, char **) = {
        add, list, set_plan, author_invite, author_set_login, author_sign_out};
    return cli_dispatch(cli, argc, argv, names, runs);
}

const struct cli_command cli_author = {
    .name = "author",
    .synopsis = "add --name NAME [--id UUID] [--json] | list [--json] | set-plan UUID active|inactive |\n"
                "                        invite UUID [--login NAME] [--json] | set-login UUID NAME |\n"
                "                        sign-out UUID",
    .summary = "add and list authors, switch their plan, let them sign in",
    .help =
        "  add        creates an author and prints the id\n"
        "  list       all authors with their numbers of books and videos\n"
        "  set-plan   an inactive plan answers 403 until it is active again; keys stay valid\n"
        "  invite     prints a link, good once and for a day, where the author chooses a password: to begin\n"
        "             with, or when it was forgotten. It takes the place of an earlier link\n"
        "  set-login  the name alone, for sign-in by a proxy ([account] auth_header)\n"
        "  sign-out   ends the author's sign-ins on every device, and a link that is still open",
    .run = run,
};
