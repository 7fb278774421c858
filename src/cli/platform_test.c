/* viewtally platform test: asks a platform once with an account's tokens and tells what it says, in words.
 * The tokens are refreshed on the way as a run would. Asked for is a post of the author; without one, an id
 * that no post has: whether the platform takes the token shows all the same. */
#include "base/check.h"
#include "base/clock.h"
#include "cli/platform.h"
#include "platforms/credentials.h"
#include "platforms/fetch.h"
#include "store/platform_posts.h"
#include "store/runs.h"
#include "store/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { CALLS_MAX = 8, ARENA_BYTES = 64 * 1024, NO_POST_LEN = 17 };

static const char no_post[NO_POST_LEN + 1] = "10000000000000001";

struct test {
    const struct config *config;
    struct store *store;
    struct seal_keys *keys;
    uv_loop_t loop;
    struct fetch *fetch;
    struct token_refresher *refresher;
    const struct platform_desc *desc;
    struct platform_options options;
    struct arena arena;      /* of the account and the post */
    struct arena call_arena; /* of one call */
    struct credential account;
    struct str post_id; /* p == NULL: the author has none there */
    int64_t posted_at;

    bool with_account; /* platform_call.with_account of the next call */
    int tier;
    struct str dropped;
    struct platform_call call;
    struct platform_item item;
    struct outcome outcome;
    char code[64];
    bool refreshed, waiting;
    struct token_answer token_answer;
    const char *network; /* why no answer came; NULL: one did */
    char network_text[256];
};

/* ---- transactions of our own ---- */

static enum err begin(void *ctx)
{
    const struct test *t = ctx;
    return store_begin(t->store);
}

static enum err commit(void *ctx)
{
    const struct test *t = ctx;
    return store_commit(t->store);
}

static void rollback(void *ctx)
{
    const struct test *t = ctx;
    store_rollback(t->store);
}

/* ---- what to ask for ---- */

static bool take_post(void *ctx, const struct video *video)
{
    struct test *t = ctx;
    for (size_t i = 0; i < video->post_count; i++)
        if (video->posts[i].platform == t->desc->platform) {
            t->post_id = arena_copy(&t->arena, video->posts[i].post_id);
            t->posted_at = video->posts[i].posted_at;
            return false;
        }
    return true;
}

/* A post whose id the platform does not know yet is left for a run. */
static enum err find_post(struct test *t)
{
    const int64_t now = clock_wall_ms();
    struct platform_post known;
    enum err err =
        store_list_live(t->store, t->account.author_row, now - VIDEO_LIFE_DAYS * DAY_MS, now, take_post, t);
    if (err || !t->post_id.p)
        return err;
    err = store_get_platform_post(t->store, &t->arena, t->desc->platform, t->post_id, &known);
    if (!err && known.resolved_id.p)
        t->post_id = known.resolved_id;
    else if (t->desc->is_readable && !t->desc->is_readable(t->post_id))
        t->post_id = str_make(NULL, 0);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* ---- asking ---- */

static void wait_for_it(struct test *t)
{
    while (t->waiting)
        (void)uv_run(&t->loop, UV_RUN_ONCE);
}

static void on_tokens(void *ctx, const struct token_answer *answer)
{
    struct test *t = ctx;
    t->token_answer = *answer;
    t->waiting = false;
}

static enum err load_account(struct test *t, int64_t row)
{
    enum err err = store_get_credential(t->store, &t->arena, row, &t->account);
    if (!err)
        t->desc = platform_desc((enum platform_api)t->account.api);
    return err;
}

/* False: t->token_answer says why there are no newer ones. */
static bool refresh(struct test *t)
{
    t->refreshed = true;
    t->waiting = token_refresher_ask(t->refresher, t->account.row, t->account.version, &t->token_answer,
                                     on_tokens, t) == NEXT_WAIT;
    wait_for_it(t);
    return t->token_answer.result == TOKENS_NEWER && load_account(t, t->account.row) == OK;
}

static void on_answer(void *ctx, const struct fetch_result *result)
{
    struct test *t = ctx;
    t->waiting = false;
    if (result->error != FETCH_OK) {
        (void)snprintf(t->network_text, sizeof t->network_text, "%s",
                       result->why ? result->why : fetch_error_name(result->error));
        t->network = t->network_text;
        return;
    }
    t->outcome = t->desc->parse(&t->call_arena, &t->call, &result->response);
    (void)snprintf(t->code, sizeof t->code, "%.*s", (int)t->outcome.code.len,
                   t->outcome.code.len ? t->outcome.code.p : "");
    if (t->outcome.dropped.p)
        t->outcome.dropped = arena_copy(&t->arena, t->outcome.dropped);
}

static enum err send_call(struct test *t)
{
    struct tokens tokens;
    struct platform_request request = {.method = "GET"};
    enum err err = tokens_open(t->keys, &t->account, &tokens);
    if (err)
        return err;
    arena_wipe(&t->call_arena);
    t->item = (struct platform_item){.id = t->post_id.p ? t->post_id : str_make(no_post, NO_POST_LEN),
                                     .posted_at = t->post_id.p ? t->posted_at : clock_wall_ms() - DAY_MS};
    for (int k = 0; k < COUNT_KINDS; k++)
        t->item.counts[k] = COUNT_NONE;
    t->call = (struct platform_call){.kind = CALL_READ,
                                     .options = &t->options,
                                     .account_id = t->account.account_id,
                                     .access_token = tokens.grant.access_token,
                                     .tier = t->tier,
                                     .with_account = t->with_account,
                                     .dropped = t->dropped,
                                     .is_personal = t->account.is_personal,
                                     .now_ms = clock_wall_ms(),
                                     .items = &t->item,
                                     .item_count = 1};
    t->desc->build(&t->call_arena, &t->call, &request);
    t->waiting = true;
    (void)fetch_start(t->fetch, &request, on_answer, t);
    tokens_close(&tokens);
    t->call.access_token = str_make(NULL, 0);
    wait_for_it(t);
    return OK;
}

/* Whether another form of the request may do. */
static bool next_tier(struct test *t)
{
    if (t->outcome.with_account) {
        t->with_account = true;
        return true;
    }
    if (t->outcome.dropped.len) {
        t->dropped = t->dropped.len ? arena_printf(&t->arena, "%.*s,%.*s", (int)t->dropped.len, t->dropped.p,
                                                   (int)t->outcome.dropped.len, t->outcome.dropped.p)
                                    : t->outcome.dropped;
        return true;
    }
    return ++t->tier < t->desc->tiers;
}

static bool ask_again(struct test *t)
{
    if (t->network)
        return false;
    if (t->outcome.verdict == V_TOKEN)
        return !t->refreshed && refresh(t);
    return t->outcome.verdict == V_TIER && next_tier(t);
}

static enum err ask(struct test *t)
{
    enum err err = OK;
    const int64_t now = clock_wall_ms();
    t->options = platform_options_of(t->config, t->desc->api);
    t->options.by_key = false;
    t->tier = t->account.tier_until != TIME_NONE && t->account.tier_until > now ? t->account.tier : 0;
    t->dropped = t->tier == t->account.tier ? t->account.dropped : STR("");
    t->outcome.verdict = V_LATER;
    t->token_answer.result = TOKENS_NEWER;
    /* Who has to sign in again may have been marked for an error that has gone. */
    struct credential c = t->account;
    c.state = CREDENTIAL_FINE;
    if (tokens_refresh_is_due(t->desc, &c, now, false) && !refresh(t))
        return OK;
    for (int i = 0; i < CALLS_MAX && !err; i++) {
        err = send_call(t);
        if (err || !ask_again(t))
            break;
    }
    return err;
}

/* ---- telling ---- */

static enum cli_exit tell_numbers(const struct test *t)
{
    static const char *const names[COUNT_KINDS] = {"views", "likes", "comments", "shares", "saves"};
    if (!t->post_id.p) {
        printf("The author has no post there at present, so it was asked for one that does not exist.\n");
        return CLI_DONE;
    }
    printf("Asked for post %.*s:", (int)t->post_id.len, t->post_id.p);
    switch (t->item.state) {
    case ITEM_OK:
        for (int k = 0; k < COUNT_KINDS; k++)
            if (t->item.counts[k] == COUNT_NONE)
                printf(" %s not measured", names[k]);
            else
                printf(" %s %lld", names[k], (long long)t->item.counts[k]);
        printf("\n");
        return CLI_DONE;
    case ITEM_NO_DATA: printf(" known, but without numbers yet\n"); return CLI_DONE;
    case ITEM_PERMANENT: printf(" known, but it will never have numbers\n"); return CLI_DONE;
    case ITEM_RETRY: printf(" the platform failed on it; try again\n"); return CLI_COULD_NOT;
    case ITEM_PENDING:
    case ITEM_MISSING: break;
    }
    printf(" not found: it is deleted or private, or another account's\n");
    return CLI_PART;
}

static enum cli_exit tell_tokens(const struct test *t, const char *account)
{
    const struct token_answer *a = &t->token_answer;
    switch (a->result) {
    case TOKENS_SIGN_IN:
        return cli_fail(CLI_PART,
                        "%s: the author has to sign in again: the tokens could not be refreshed (%s)",
                        account, a->code);
    case TOKENS_OPERATOR:
        return cli_fail(CLI_USAGE,
                        "%s: %s refuses your app when tokens are to be refreshed (%s): see client_id and "
                        "client_secret in the configuration",
                        account, t->desc->title, a->code);
    case TOKENS_GONE: return cli_fail(CLI_PART, "%s: it was removed meanwhile", account);
    case TOKENS_FAILED:
        return cli_fail(CLI_COULD_NOT, "%s: its tokens could not be kept: %s", account, a->code);
    case TOKENS_LATER:
    case TOKENS_NEWER: break;
    }
    return cli_fail(CLI_COULD_NOT, "%s: its tokens could not be refreshed now (%s): try again later", account,
                    a->code);
}

static enum cli_exit tell_verdict(const struct test *t, const char *account)
{
    const char *title = t->desc->title;
    switch (t->outcome.verdict) {
    case V_OK:
        printf("%s: %s takes its tokens%s. ", account, title,
               t->refreshed ? ", which are refreshed now" : "");
        if (t->outcome.no_insights)
            printf(
                "It shows no insights, so views are not measured: the author should sign in again and leave "
                "the permission for insights switched on. ");
        return tell_numbers(t);
    case V_TOKEN:
    case V_RECONNECT:
        return cli_fail(CLI_PART, "%s: the author has to sign in again: %s does not take its tokens (%s)",
                        account, title, t->code);
    case V_OPERATOR:
        return cli_fail(CLI_USAGE,
                        "%s: %s refuses your app, not the account (%s): see its state in the app's console",
                        account, title, t->code);
    case V_QUOTA:
        return cli_fail(CLI_COULD_NOT, "%s: the quota of the day at %s is used up (%s)", account, title,
                        t->code);
    case V_MALFORMED:
        return cli_fail(CLI_COULD_NOT, "%s: %s answers something else than it documents (%s)", account, title,
                        t->code);
    case V_BUG:
    case V_TIER:
    case V_SPLIT:
        return cli_fail(CLI_COULD_NOT, "%s: %s does not take our request (%s)", account, title, t->code);
    case V_LATER: break;
    }
    return cli_fail(CLI_COULD_NOT, "%s: %s cannot say now (%s): try again later", account, title, t->code);
}

static enum cli_exit tell(const struct test *t)
{
    char account[2 * ACCOUNT_ID_MAX];
    (void)snprintf(account, sizeof account, "%s account %.*s", t->desc->name, (int)t->account.account_id.len,
                   t->account.account_id.p);
    if (t->token_answer.result != TOKENS_NEWER)
        return tell_tokens(t, account);
    if (t->network)
        return cli_fail(CLI_COULD_NOT, "%s: %s was not reached: %s", account, t->desc->title, t->network);
    return tell_verdict(t, account);
}

/* ---- all of it ---- */

static void on_closed(void *ctx)
{
    (void)ctx;
}

/* It answered: whatever was noted against the account is over. */
static enum err note_ok(struct test *t)
{
    enum err err = store_begin(t->store);
    if (err)
        return err;
    err = store_credential_ok(t->store, t->account.row, clock_wall_ms());
    if (!err)
        return store_commit(t->store);
    store_rollback(t->store);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum cli_exit test_account(struct test *t, int64_t row)
{
    const struct token_turns turns = {
        .ctx = t, .store = t->store, .begin = begin, .commit = commit, .rollback = rollback};
    struct fetch_options options;
    enum err err = load_account(t, row);
    if (err == ERR_NOT_FOUND)
        return cli_fail(CLI_PART, "platform test: there is no account with this number");
    if (!err)
        err = find_post(t);
    if (err)
        return cli_fail(CLI_COULD_NOT, "the database says: %s", err_name(err));
    fetch_options_of(&options, t->config);
    CHECK(uv_loop_init(&t->loop) == 0);
    t->fetch = fetch_new(&t->loop, &options);
    if (!t->fetch)
        return cli_fail(CLI_COULD_NOT, "platform test: out of memory");
    const struct token_sender sender = token_sender_of(t->fetch);
    t->refresher = token_refresher_new(t->config, &sender, t->keys, &turns);
    err = ask(t);
    if (!err && !t->network && t->token_answer.result == TOKENS_NEWER && t->outcome.verdict == V_OK)
        err = note_ok(t);
    token_refresher_free(t->refresher);
    fetch_close(t->fetch, on_closed, NULL);
    (void)uv_run(&t->loop, UV_RUN_DEFAULT);
    CHECK(uv_loop_close(&t->loop) == 0);
    if (err == ERR_NOT_FOUND || err == ERR_CORRUPT)
        return cli_fail(CLI_USAGE,
                        "platform test: its tokens cannot be opened: viewtally secrets check says why");
    return err ? cli_fail(CLI_COULD_NOT, "the database says: %s", err_name(err)) : tell(t);
}

enum cli_exit platform_test(struct cli *cli, int argc, char **argv)
{
    char message[512];
    const char *why;
    int64_t row;
    int count;
    if (!cli_parse(argc, argv, NULL, 1, 1, &count) || !platform_parse_id("test", argv[1], &row))
        return CLI_USAGE;
    if (!fetch_is_usable(&why))
        return cli_fail(CLI_COULD_NOT, "%s", why);
    struct test *t = xcalloc(1, sizeof *t);
    t->config = &cli->config;
    enum cli_exit code = CLI_COULD_NOT;
    if (seal_open(&t->keys, cli->config.secrets.key_file, message, sizeof message)) {
        free(t);
        return cli_fail(CLI_USAGE, "platform test: %s", message);
    }
    t->store = cli_open_store(cli);
    if (t->store) {
        arena_init(&t->arena, ARENA_BYTES);
        arena_init(&t->call_arena, ARENA_BYTES);
        code = test_account(t, row);
        arena_wipe(&t->call_arena);
        arena_fini(&t->call_arena);
        arena_fini(&t->arena);
        store_close(t->store);
    }
    seal_close(t->keys);
    free(t);
    return code;
}
