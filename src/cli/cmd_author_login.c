/* viewtally author: invite, set-login, sign-out. */
#include "cli/cmd_author_login.h"

#include "auth/login.h"
#include "auth/secret.h"
#include "base/expiry_floor.h"
#include "base/json.h"
#include "store/accounts.h"
#include "store/write.h"

#include <stdio.h>

#define INVITATION_MS DAY_MS

struct plan {
    struct uuid author_id;
    struct str login; /* folded; p == NULL: the author chooses */
    uint8_t hash[SECRET_HASH_LEN];
    int64_t now;
    bool login_is_taken;
};

/* A name that is somebody else's is refused now, and not in the author's face. */
static enum err check_login(struct store *store, struct arena *arena, struct plan *p, int64_t author_row)
{
    struct viewer owner;
    enum err e = p->login.p ? store_get_login(store, arena, p->login, &owner) : ERR_NOT_FOUND;
    p->login_is_taken = e == OK && owner.author_row != author_row;
    if (e == ERR_NOT_FOUND)
        return OK;
    return p->login_is_taken ? ERR_EXISTS : e;
}

static enum err find(struct store *store, struct arena *arena, struct plan *p, int64_t *author_row)
{
    struct author author;
    enum err e = store_find_author(store, arena, &p->author_id, &author);
    *author_row = e ? 0 : author.row;
    return e ? e : check_login(store, arena, p, author.row);
}

static enum cli_exit explain(enum err e, const char *command)
{
    if (e == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "author %s: there is no author with this id", command);
    if (e == ERR_EXISTS)
        return cli_fail(CLI_PART, "author %s: another author signs in with this name", command);
    return CLI_COULD_NOT;
}

/* ---- invite ---- */

static enum err insert(struct store *store, struct arena *arena, void *ctx)
{
    struct plan *p = ctx;
    int64_t author_row;
    enum err e = find(store, arena, p, &author_row);
    p->now = expiry_now_ms();
    return e ? e
             : store_insert_invitation(store, p->hash, author_row, p->login, p->now, p->now + INVITATION_MS);
}

/* The link as text, once its hash is on disk. */
static enum err make_link(struct cli *cli, struct arena *arena, struct plan *p, struct str *link)
{
    struct secret secret;
    struct str url = str_from_cstr(cli->config.server.base_url);
    secret_generate(&secret);
    secret_hash(&secret, p->hash);
    enum err e = cli_transaction(cli, insert, p);
    struct str text = secret_format(arena, &secret);
    if (e == OK)
        *link = arena_printf(arena, "%.*s/invite/%.*s", (int)(url.len - 3), url.p, (int)text.len, text.p);
    secret_wipe(&secret);
    return e;
}

static enum cli_exit print_link(struct str link, const struct plan *p, bool json)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    if (json) {
        json_open(&out, '{');
        JSON_STR(&out, "link", link);
        JSON_TIME(&out, "expires_at", p->now + INVITATION_MS);
        json_close(&out, '}');
    } else {
        buf_append(&out, link);
    }
    buf_append_char(&out, '\n');
    return cli_print(&out);
}

enum cli_exit author_invite(struct cli *cli, int argc, char **argv)
{
    const char *login = NULL;
    bool json = false;
    int count;
    struct plan p = {.now = clock_wall_ms()};
    struct str link;
    struct arena arena;
    const struct cli_option options[] = {{"login", &login, NULL}, {"json", NULL, &json}, {0}};
    if (!cli_parse(argc, argv, options, 1, 1, &count) ||
        !cli_parse_uuid("author invite: the author", argv[1], &p.author_id))
        return CLI_USAGE;
    arena_init(&arena, 4096);
    if (login)
        p.login = login_normalize(&arena, str_from_cstr(login));
    enum cli_exit code = CLI_DONE;
    if (login && !p.login.p)
        code = cli_fail(CLI_USAGE, "author invite: --login wants " LOGIN_RULE ", and no author's id");
    enum err e = code ? OK : make_link(cli, &arena, &p, &link);
    if (!code)
        code = e ? explain(e, "invite") : print_link(link, &p, json);
    arena_fini(&arena);
    return code;
}

enum cli_exit author_print_link(struct cli *cli, const struct uuid *author_id)
{
    struct plan p = {.author_id = *author_id, .now = clock_wall_ms()};
    struct str link;
    struct arena arena;
    arena_init(&arena, 4096);
    enum err e = make_link(cli, &arena, &p, &link);
    if (e == OK)
        printf("%.*s\n", (int)link.len, link.p);
    arena_fini(&arena);
    return e ? explain(e, "invite") : CLI_DONE;
}

/* ---- set-login ---- */

static enum err set_name(struct store *store, struct arena *arena, void *ctx)
{
    struct plan *p = ctx;
    int64_t author_row;
    enum err e = find(store, arena, p, &author_row);
    return e ? e : store_set_login_name(store, author_row, p->login);
}

enum cli_exit author_set_login(struct cli *cli, int argc, char **argv)
{
    int count;
    struct plan p = {.now = clock_wall_ms()};
    struct arena arena;
    if (!cli_parse(argc, argv, NULL, 2, 2, &count) ||
        !cli_parse_uuid("author set-login: the author", argv[1], &p.author_id))
        return CLI_USAGE;
    arena_init(&arena, 4096);
    p.login = login_normalize(&arena, str_from_cstr(argv[2]));
    enum cli_exit code = CLI_DONE;
    if (!p.login.p)
        code = cli_fail(CLI_USAGE, "author set-login: the name wants " LOGIN_RULE ", and no author's id");
    enum err e = code ? OK : cli_transaction(cli, set_name, &p);
    if (e)
        code = explain(e, "set-login");
    arena_fini(&arena);
    return code;
}

/* ---- sign-out ---- */

static enum err end_all(struct store *store, struct arena *arena, void *ctx)
{
    const struct plan *p = ctx;
    struct author author;
    enum err e = store_find_author(store, arena, &p->author_id, &author);
    if (e == OK)
        e = store_delete_sessions_of(store, author.row);
    return e ? e : store_delete_invitations_of(store, author.row);
}

enum cli_exit author_sign_out(struct cli *cli, int argc, char **argv)
{
    int count;
    struct plan p = {.now = clock_wall_ms()};
    if (!cli_parse(argc, argv, NULL, 1, 1, &count) ||
        !cli_parse_uuid("author sign-out: the author", argv[1], &p.author_id))
        return CLI_USAGE;
    enum err e = cli_transaction(cli, end_all, &p);
    return e ? explain(e, "sign-out") : CLI_DONE;
}
