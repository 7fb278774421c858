/* viewtally author: invite, set-login, sign-out. */
#include "cli/cmd_author_login.h"

#include "auth/login.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/invite_link.h"
#include "cli/named_author.h"
#include "cli/output.h"
#include "cli/shown_secret.h"
#include "store/accounts.h"
#include "store/write.h"

#include <stdio.h>

struct login_change {
    const struct config *config;
    const char *named; /* an id or a sign-in name */
    struct str login;  /* normalized sign-in name; if p is NULL, the author chooses one */
    bool is_json;
};

static enum err find_author(struct store *store, struct arena *arena, const struct login_change *c,
                            int64_t *author_row)
{
    struct author author;
    enum err err = named_author_find(store, arena, c->named, &author);
    if (err)
        return err;
    *author_row = author.row;
    return login_check_available(store, arena, c->login, author.row);
}

static enum cli_exit explain(enum err err)
{
    if (err == ERR_NOT_FOUND)
        return named_author_print_not_found();
    if (err == ERR_EXISTS)
        return cli_fail(CLI_PART, "another author uses this sign-in name: choose another one");
    return CLI_COULD_NOT;
}

/* ---- invite ---- */

static bool print_link(const struct invite_link *link, bool is_json)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    if (is_json) {
        json_open(&out, '{');
        JSON_STR(&out, "link", link->link);
        JSON_TIME(&out, "expires_at", link->expires_at);
        json_close(&out, '}');
    } else {
        buf_append(&out, link->link);
    }
    buf_append_char(&out, '\n');
    return shown_secret_print(&out);
}

static enum err insert_invitation(struct store *store, struct arena *arena, void *ctx)
{
    const struct login_change *c = ctx;
    struct invite_link link;
    int64_t author_row;
    enum err err = find_author(store, arena, c, &author_row);
    if (!err)
        err = invite_link_insert(store, arena, c->config, author_row, c->login, &link);
    if (err)
        return err;
    return print_link(&link, c->is_json) ? OK : ERR_CANCELED;
}

static enum cli_exit invite(struct cli *cli, struct arena *arena, struct login_change *c,
                            const struct cli_arguments *arguments)
{
    const char *login = cli_value(arguments, "login");
    if (login)
        c->login = login_normalize(arena, str_from_cstr(login));
    if (login && !c->login.p)
        return cli_fail(CLI_USAGE, "--login must be " LOGIN_RULE ", and not an author's id");
    enum err err = cli_transaction(cli, insert_invitation, c);
    return err ? explain(err) : CLI_DONE;
}

enum cli_exit author_invite(struct cli *cli, const struct cli_arguments *arguments)
{
    struct login_change c = {
        .config = &cli->config, .named = arguments->operands[0], .is_json = cli_flag(arguments, "json")};
    struct arena arena;
    arena_init(&arena, 4096);
    enum cli_exit code = invite(cli, &arena, &c, arguments);
    arena_fini(&arena);
    return code;
}

/* ---- set-login ---- */

static enum err store_login(struct store *store, struct arena *arena, void *ctx)
{
    const struct login_change *c = ctx;
    int64_t author_row;
    enum err err = find_author(store, arena, c, &author_row);
    return err ? err : store_set_login_name(store, author_row, c->login);
}

static enum cli_exit set_login(struct cli *cli, struct arena *arena, const char *login,
                               struct login_change *c)
{
    c->login = login_normalize(arena, str_from_cstr(login));
    if (!c->login.p)
        return cli_fail(CLI_USAGE, "NAME must be " LOGIN_RULE ", and not an author's id");
    enum err err = cli_transaction(cli, store_login, c);
    if (err)
        return explain(err);
    printf("The author's sign-in name is now %.*s.\n", (int)c->login.len, c->login.p);
    return cli_flush();
}

enum cli_exit author_set_login(struct cli *cli, const struct cli_arguments *arguments)
{
    struct login_change c = {.config = &cli->config, .named = arguments->operands[0]};
    struct arena arena;
    arena_init(&arena, 4096);
    enum cli_exit code = set_login(cli, &arena, arguments->operands[1], &c);
    arena_fini(&arena);
    return code;
}

/* ---- sign-out ---- */

static enum err end_sessions(struct store *store, struct arena *arena, void *ctx)
{
    const char *named = ctx;
    struct author author;
    enum err err = named_author_find(store, arena, named, &author);
    if (err)
        return err;
    err = store_delete_sessions_and_devices(store, author.row);
    return err ? err : store_delete_invitations_of(store, author.row);
}

enum cli_exit author_sign_out(struct cli *cli, const struct cli_arguments *arguments)
{
    enum err err = cli_transaction(cli, end_sessions, arguments->operands[0]);
    if (err)
        return explain(err);
    printf("The author is signed out everywhere, and an unused invitation is invalid.\n");
    return cli_flush();
}
