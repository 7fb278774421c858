/* viewtally platform test: asks a platform once with an account's tokens and tells what it says, in words.
 * The tokens are refreshed on the way as a run would. Asked for is a post of the author; without one, an id
 * that no post has: whether the platform takes the token shows all the same. */
#include "base/clock.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/platform_session.h"
#include "store/platform_posts.h"
#include "store/runs.h"
#include "store/write.h"

#include <stdio.h>

enum { CALLS_MAX = 8, NO_POST_LEN = 17 };

static const char no_post[NO_POST_LEN + 1] = "10000000000000001";

struct test {
    struct asker *asker;
    struct str post_id; /* p == NULL: the author has none there */
    int64_t posted_at;

    bool with_account; /* platform_call.with_account of the next call */
    int tier;
    struct str dropped;
    struct platform_call call;
    struct platform_item item;
    struct outcome outcome;
    char code[64];
};

/* ---- what to ask for ---- */

static bool take_post(void *ctx, const struct video *video)
{
    struct test *t = ctx;
    for (size_t i = 0; i < video->post_count; i++)
        if (video->posts[i].platform == t->asker->desc->platform) {
            t->post_id = arena_copy(&t->asker->arena, video->posts[i].post_id);
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
    enum err err = store_list_live(t->asker->store, t->asker->account.author_row,
                                   now - VIDEO_LIFE_DAYS * DAY_MS, now, take_post, t);
    if (err || !t->post_id.p)
        return err;
    err = store_get_platform_post(t->asker->store, &t->asker->arena, t->asker->desc->platform, t->post_id,
                                  &known);
    if (!err && known.resolved_id.p)
        t->post_id = known.resolved_id;
    else if (t->asker->desc->is_readable && !t->asker->desc->is_readable(t->post_id))
        t->post_id = str_make(NULL, 0);
    return err == ERR_NOT_FOUND ? OK : err;
}

/* ---- asking ---- */

static enum err send_call(struct test *t)
{
    struct asker *a = t->asker;
    t->item = (struct platform_item){.id = t->post_id.p ? t->post_id : str_make(no_post, NO_POST_LEN),
                                     .posted_at = t->post_id.p ? t->posted_at : clock_wall_ms() - DAY_MS};
    for (int k = 0; k < COUNT_KINDS; k++)
        t->item.counts[k] = COUNT_NONE;
    t->call = (struct platform_call){.kind = CALL_READ,
                                     .options = &a->options,
                                     .account_id = a->account.account_id,
                                     .tier = t->tier,
                                     .with_account = t->with_account,
                                     .dropped = t->dropped,
                                     .is_personal = a->account.is_personal,
                                     .now_ms = clock_wall_ms(),
                                     .items = &t->item,
                                     .item_count = 1};
    enum err err = asker_send(a, &t->call);
    if (err || a->network)
        return err;
    t->outcome = a->desc->parse(&a->call_arena, &t->call, &a->response);
    (void)snprintf(t->code, sizeof t->code, "%.*s", (int)t->outcome.code.len,
                   t->outcome.code.len ? t->outcome.code.p : "");
    if (t->outcome.dropped.p)
        t->outcome.dropped = arena_copy(&a->arena, t->outcome.dropped);
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
        t->dropped = t->dropped.len
                         ? arena_printf(&t->asker->arena, "%.*s,%.*s", (int)t->dropped.len, t->dropped.p,
                                        (int)t->outcome.dropped.len, t->outcome.dropped.p)
                         : t->outcome.dropped;
        return true;
    }
    return ++t->tier < t->asker->desc->tiers;
}

static bool ask_again(struct test *t)
{
    if (t->asker->network)
        return false;
    if (t->outcome.kind == OUTCOME_TOKEN_REJECTED)
        return !t->asker->refreshed && asker_refresh(t->asker);
    return t->outcome.kind == OUTCOME_OTHER_FORM && next_tier(t);
}

static enum err ask(struct test *t)
{
    const struct credential *account = &t->asker->account;
    enum err err = OK;
    const int64_t now = clock_wall_ms();
    t->tier = account->tier_until != TIME_NONE && account->tier_until > now ? account->tier : 0;
    t->dropped = t->tier == account->tier ? account->dropped : STR("");
    t->outcome.kind = OUTCOME_RETRY;
    if (!asker_refresh_if_due(t->asker))
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

static enum cli_exit tell_verdict(const struct test *t, const char *account)
{
    const char *title = t->asker->desc->title;
    switch (t->outcome.kind) {
    case OUTCOME_OK:
        printf("%s: %s takes its tokens%s. ", account, title,
               t->asker->refreshed ? ", which are refreshed now" : "");
        if (t->outcome.no_insights)
            printf(
                "It shows no insights, so views are not measured: the author should sign in again and leave "
                "the permission for insights switched on. ");
        return tell_numbers(t);
    case OUTCOME_TOKEN_REJECTED:
    case OUTCOME_RECONNECT:
        return cli_fail(CLI_PART, "%s: the author has to sign in again: %s does not take its tokens (%s)",
                        account, title, t->code);
    case OUTCOME_APP_REJECTED:
        return cli_fail(CLI_USAGE,
                        "%s: %s refuses your app, not the account (%s): see its state in the app's console",
                        account, title, t->code);
    case OUTCOME_QUOTA_SPENT:
        return cli_fail(CLI_COULD_NOT, "%s: the quota of the day at %s is used up (%s)", account, title,
                        t->code);
    case OUTCOME_MALFORMED:
        return cli_fail(CLI_COULD_NOT, "%s: %s answers something else than it documents (%s)", account, title,
                        t->code);
    case OUTCOME_BAD_REQUEST:
    case OUTCOME_OTHER_FORM:
    case OUTCOME_SPLIT:
        return cli_fail(CLI_COULD_NOT, "%s: %s does not take our request (%s)", account, title, t->code);
    case OUTCOME_RETRY: break;
    }
    return cli_fail(CLI_COULD_NOT, "%s: %s cannot say now (%s): try again later", account, title, t->code);
}

static enum cli_exit tell(const struct test *t)
{
    const struct asker *a = t->asker;
    char account[ASKER_NAME_MAX];
    asker_name(a, account);
    if (a->token_refresh_result.status != TOKEN_REFRESHED)
        return asker_tell_tokens(a);
    if (a->network)
        return cli_fail(CLI_COULD_NOT, "%s: %s was not reached: %s", account, a->desc->title, a->network);
    return tell_verdict(t, account);
}

/* ---- all of it ---- */

/* It answered: whatever was noted against the account is over. */
static enum err note_ok(const struct asker *a)
{
    enum err err = store_begin(a->store);
    if (err)
        return err;
    err = store_credential_ok(a->store, a->account.row, clock_wall_ms());
    if (!err)
        return store_commit(a->store);
    store_rollback(a->store);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum cli_exit test_account(struct asker *a)
{
    struct test t = {.asker = a};
    enum err err = find_post(&t);
    if (err)
        return cli_fail(CLI_COULD_NOT, "database error: %s", err_name(err));
    err = ask(&t);
    if (!err && !a->network && a->token_refresh_result.status == TOKEN_REFRESHED &&
        t.outcome.kind == OUTCOME_OK)
        err = note_ok(a);
    return err ? asker_tell_error(err) : tell(&t);
}

enum cli_exit platform_test(struct cli *cli, const struct cli_arguments *arguments)
{
    struct asker *a;
    int64_t row;
    if (!platform_parse_id(arguments->operands[0], &row))
        return CLI_USAGE;
    enum cli_exit code = asker_open(cli, row, &a);
    if (code != CLI_DONE)
        return code;
    code = test_account(a);
    asker_close(a);
    return code;
}
