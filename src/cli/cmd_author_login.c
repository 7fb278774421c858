/* viewtally author: invite, set-login, sign-out. */
#include "cli/cmd_author_login.h"

#include "auth/login.h"
#include "auth/secret.h"
#include "base/expiry_floor.h"
#include "base/json.h"
#include "cli/arguments.h"
#include "cli/database.h"
#include "cli/output.h"
#include "store/accounts.h"
#include "store/write.h"

#define INVITATION_MS DAY_MS

struct login_change {
    struct uuid author_id;
    struct str login; /* normalized; if p is NULL, the author chooses it */
    uint8_t hash[SECRET_HASH_LEN];
    int64_t now;
};

/* Checks that no other author has the sign-in name. Runs before the invitation is created, so that the author
 * never sees a name conflict. */
static enum err check_login(struct store *store, struct arena *arena, const struct login_change *c,
                            int64_t author_row)
{
    struct viewer owner;
    if (!c->login.p)
        return OK;
    enum err err = store_get_login(store, arena, c->login, &owner);
    if (err)
        return err == ERR_NOT_FOUND ? OK : err;
    return owner.author_row == author_row ? OK : ERR_EXISTS;
}

static enum err find_author(struct store *store, struct arena *arena, const struct login_change *c,
                            int64_t *author_row)
{
    struct author author;
    enum err err = store_find_author(store, arena, &c->author_id, &author);
    if (err)
        return err;
    *author_row = author.row;
    return check_login(store, arena, c, author.row);
}

static enum cli_exit explain(enum err err)
{
    if (err == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "no author has this id (see viewtally author list)");
    if (err == ERR_EXISTS)
        return cli_fail(CLI_PART, "another author uses this sign-in name: choose another one");
    return CLI_COULD_NOT;
}

/* ---- invite ---- */

static enum err insert_invitation(struct store *store, struct arena *arena, void *ctx)
{
    struct login_change *c = ctx;
    int64_t author_row;
    enum err err = find_author(store, arena, c, &author_row);
    if (err)
        return err;
    c->now = expiry_now_ms();
    return store_insert_invitation(store, c->hash, author_row, c->login, c->now, c->now + INVITATION_MS);
}

/* Stores the hash of a new secret and returns the link that contains the secret. */
static enum err create_link(struct cli *cli, struct arena *arena, struct login_change *c, struct str *link)
{
    struct secret secret;
    const struct str url = str_from_cstr(cli->config.server.base_url);
    secret_generate(&secret);
    secret_hash(&secret, c->hash);
    enum err err = cli_transaction(cli, insert_invitation, c);
    const struct str text = secret_format(arena, &secret);
    if (!err) /* base_url ends with "/v1" */
        *link = arena_printf(arena, "%.*s/invite/%.*s", (int)(url.len - 3), url.p, (int)text.len, text.p);
    secret_wipe(&secret);
    return err;
}

static enum cli_exit print_link(struct str link, const struct login_change *c, bool is_json)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    if (is_json) {
        json_open(&out, '{');
        JSON_STR(&out, "link", link);
        JSON_TIME(&out, "expires_at", c->now + INVITATION_MS);
        json_close(&out, '}');
    } else {
        buf_append(&out, link);
    }
    buf_append_char(&out, '\n');
    return cli_print(&out);
}

static enum cli_exit invite(struct cli *cli, struct arena *arena, struct login_change *c,
                            const struct cli_arguments *arguments)
{
    const char *login = cli_value(arguments, "login");
    struct str link;
    if (login)
        c->login = login_normalize(arena, str_from_cstr(login));
    if (login && !c->login.p)
        return cli_fail(CLI_USAGE, "--login must be " LOGIN_RULE ", and not an author's id");
    enum err err = create_link(cli, arena, c, &link);
    return err ? explain(err) : print_link(link, c, cli_flag(arguments, "json"));
}

enum cli_exit author_invite(struct cli *cli, const struct cli_arguments *arguments)
{
    struct login_change c = {.now = 0};
    struct arena arena;
    if (!cli_parse_uuid("AUTHOR", arguments->operands[0], &c.author_id))
        return CLI_USAGE;
    arena_init(&arena, 4096);
    enum cli_exit code = invite(cli, &arena, &c, arguments);
    arena_fini(&arena);
    return code;
}

enum cli_exit author_print_link(struct cli *cli, const struct uuid *author_id)
{
    struct login_change c = {.author_id = *author_id};
    struct str link;
    struct arena arena;
    arena_init(&arena, 4096);
    enum err err = create_link(cli, &arena, &c, &link);
    enum cli_exit code = err ? explain(err) : print_link(link, &c, false);
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
    return err ? explain(err) : CLI_DONE;
}

enum cli_exit author_set_login(struct cli *cli, const struct cli_arguments *arguments)
{
    struct login_change c = {.now = 0};
    struct arena arena;
    if (!cli_parse_uuid("AUTHOR", arguments->operands[0], &c.author_id))
        return CLI_USAGE;
    arena_init(&arena, 4096);
    enum cli_exit code = set_login(cli, &arena, arguments->operands[1], &c);
    arena_fini(&arena);
    return code;
}

/* ---- sign-out ---- */

static enum err end_sessions(struct store *store, struct arena *arena, void *ctx)
{
    const struct uuid *id = ctx;
    struct author author;
    enum err err = store_find_author(store, arena, id, &author);
    if (err)
        return err;
    err = store_delete_sessions_of(store, author.row);
    return err ? err : store_delete_invitations_of(store, author.row);
}

enum cli_exit author_sign_out(struct cli *cli, const struct cli_arguments *arguments)
{
    struct uuid id;
    if (!cli_parse_uuid("AUTHOR", arguments->operands[0], &id))
        return CLI_USAGE;
    enum err err = cli_transaction(cli, end_sessions, &id);
    return err ? explain(err) : CLI_DONE;
}
