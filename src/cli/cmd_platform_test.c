/* viewtally platform test: makes one call with an account's tokens and explains the result. Tokens are
 * refreshed as in a refresh run. If no post can be read, the call reads an id that does not exist: the
 * response still shows whether the platform accepts the token. */
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

struct account_test {
    struct platform_session *session;
    enum err err;       /* of select_post() */
    struct str post_id; /* a post to read; p is NULL if the author has no post that can be read */
    int64_t posted_at;

    bool with_account; /* platform_call.with_account of the next call */
    int tier;
    struct str dropped;
    struct platform_call call;
    struct platform_item item;
    struct outcome outcome;
    char code[64];
};

/* ---- choosing the post to read ---- */

/* Sets `post_id` if the post can be read. An id that only a refresh run can resolve cannot be read. */
static enum err try_post(struct account_test *t, const struct post *post)
{
    struct platform_session *a = t->session;
    struct platform_post known;
    enum err err = store_get_platform_post(a->store, &a->arena, a->desc->platform, post->post_id, &known);
    if (err && err != ERR_NOT_FOUND)
        return err;
    if (!err && known.resolved_id.p)
        t->post_id = known.resolved_id;
    else if (!a->desc->is_readable || a->desc->is_readable(post->post_id))
        t->post_id = arena_copy(&a->arena, post->post_id);
    t->posted_at = post->posted_at;
    return OK;
}

/* Stops at the first video that has a post that can be read. */
static bool select_post(void *ctx, const struct video *video)
{
    struct account_test *t = ctx;
    for (size_t i = 0; i < video->post_count && !t->err; i++)
        if (video->posts[i].platform == t->session->desc->platform)
            t->err = try_post(t, &video->posts[i]);
    return !t->err && !t->post_id.p;
}

/* Selects a post to read: the newest one that can be read. */
static enum err find_post(struct account_test *t)
{
    const int64_t now = clock_wall_ms();
    const enum err err = store_list_live_videos(t->session->store, t->session->account.author_row,
                                                now - VIDEO_LIFE_DAYS * DAY_MS, now, select_post, t);
    return err ? err : t->err;
}

/* ---- calling the platform ---- */

static enum err send_call(struct account_test *t)
{
    struct platform_session *a = t->session;
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
    enum err err = platform_session_send(a, &t->call);
    if (err || a->network)
        return err;
    t->outcome = a->desc->parse(&a->call_arena, &t->call, &a->response);
    (void)snprintf(t->code, sizeof t->code, "%.*s", (int)t->outcome.code.len,
                   t->outcome.code.len ? t->outcome.code.p : "");
    if (t->outcome.dropped.p)
        t->outcome.dropped = arena_copy(&a->arena, t->outcome.dropped);
    return OK;
}

/* Selects the next request form, for the next call. Returns false if none exists. */
static bool next_tier(struct account_test *t)
{
    if (t->outcome.with_account) {
        t->with_account = true;
        return true;
    }
    if (t->outcome.dropped.len) {
        t->dropped = t->dropped.len
                         ? arena_printf(&t->session->arena, "%.*s,%.*s", (int)t->dropped.len, t->dropped.p,
                                        (int)t->outcome.dropped.len, t->outcome.dropped.p)
                         : t->outcome.dropped;
        return true;
    }
    return ++t->tier < t->session->desc->tiers;
}

static bool should_retry(struct account_test *t)
{
    if (t->session->network)
        return false;
    if (t->outcome.kind == OUTCOME_TOKEN_REJECTED)
        return !t->session->refreshed && platform_session_refresh(t->session);
    return t->outcome.kind == OUTCOME_OTHER_FORM && next_tier(t);
}

static enum err call_platform(struct account_test *t)
{
    const struct credential *account = &t->session->account;
    enum err err = OK;
    const int64_t now = clock_wall_ms();
    t->tier = account->tier_until != TIME_NONE && account->tier_until > now ? account->tier : 0;
    t->dropped = t->tier == account->tier ? account->dropped : STR("");
    t->outcome.kind = OUTCOME_RETRY;
    if (!platform_session_refresh_if_due(t->session))
        return OK;
    for (int i = 0; i < CALLS_MAX && !err; i++) {
        err = send_call(t);
        if (err || !should_retry(t))
            break;
    }
    return err;
}

/* ---- explaining the outcome ---- */

static enum cli_exit print_counts(const struct account_test *t)
{
    static const char *const names[COUNT_KINDS] = {"views", "likes", "comments", "shares", "saves"};
    if (!t->post_id.p) {
        printf("The author has no post on this platform that can be read now, so the call was made for an id "
               "that does not exist.\n");
        return CLI_DONE;
    }
    printf("Post %.*s:", (int)t->post_id.len, t->post_id.p);
    switch (t->item.state) {
    case ITEM_OK:
        for (int k = 0; k < COUNT_KINDS; k++)
            if (t->item.counts[k] == COUNT_NONE)
                printf(" %s not measured", names[k]);
            else
                printf(" %s %lld", names[k], (long long)t->item.counts[k]);
        printf("\n");
        return CLI_DONE;
    case ITEM_NO_DATA: printf(" found, no numbers yet\n"); return CLI_DONE;
    case ITEM_PERMANENT: printf(" found, but it will never have numbers\n"); return CLI_DONE;
    case ITEM_RETRY: printf(" the platform returned an error: try again\n"); return CLI_COULD_NOT;
    case ITEM_DENIED: printf(" the author has not granted the permission to read it\n"); return CLI_PART;
    case ITEM_PENDING:
    case ITEM_MISSING: break;
    }
    printf(" not found: it is deleted, private or belongs to another account\n");
    return CLI_PART;
}

static enum cli_exit explain_success(const struct account_test *t)
{
    if (!t->outcome.no_insights)
        return print_counts(t);
    printf("The account shares no insights, so views are not measured: the author should reconnect it and "
           "grant the permission for insights. ");
    const enum cli_exit code = print_counts(t);
    return code == CLI_DONE ? CLI_PART : code;
}

static enum cli_exit explain_outcome(const struct account_test *t, const char *account)
{
    const char *title = t->session->desc->title;
    switch (t->outcome.kind) {
    case OUTCOME_OK:
        printf("%s: %s accepts the tokens%s. ", account, title,
               t->session->refreshed ? ", which were refreshed" : "");
        return explain_success(t);
    case OUTCOME_TOKEN_REJECTED:
    case OUTCOME_RECONNECT:
        return cli_fail(
            CLI_PART,
            "%s: %s rejects the tokens (%s): the author must reconnect the account on the page /platforms",
            account, title, t->code);
    case OUTCOME_APP_REJECTED:
        return cli_fail(
            CLI_USAGE,
            "%s: %s rejects your app, not the account (%s): check the app in the platform's console", account,
            title, t->code);
    case OUTCOME_QUOTA_SPENT:
        return cli_fail(CLI_COULD_NOT, "%s: the daily quota of %s is used up (%s)", account, title, t->code);
    case OUTCOME_MALFORMED:
        return cli_fail(CLI_COULD_NOT, "%s: the response of %s is not as documented (%s)", account, title,
                        t->code);
    case OUTCOME_BAD_REQUEST:
    case OUTCOME_OTHER_FORM:
    case OUTCOME_SPLIT:
        return cli_fail(CLI_COULD_NOT, "%s: %s rejects the request (%s)", account, title, t->code);
    case OUTCOME_RETRY: break;
    }
    return cli_fail(CLI_COULD_NOT, "%s: %s did not return a result (%s): try again later", account, title,
                    t->code);
}

static enum cli_exit explain(const struct account_test *t)
{
    const struct platform_session *a = t->session;
    char account[SESSION_NAME_MAX];
    platform_session_name(a, account);
    if (a->token_refresh_result.status != TOKEN_REFRESHED)
        return platform_session_print_token_error(a);
    if (a->network)
        return cli_fail(CLI_COULD_NOT, "%s: %s could not be reached: %s", account, a->desc->title,
                        a->network);
    return explain_outcome(t, account);
}

/* ---- the command ---- */

/* Records that the call succeeded: resets the number of failures and marks the account as connected. */
static enum err record_success(const struct platform_session *a)
{
    enum err err = store_begin(a->store);
    if (err)
        return err;
    err = store_record_credential_success(a->store, a->account.row, clock_wall_ms());
    if (!err)
        return store_commit(a->store);
    store_rollback(a->store);
    return err == ERR_NOT_FOUND ? OK : err;
}

static enum cli_exit test_account(struct platform_session *a)
{
    struct account_test t = {.session = a};
    enum err err = find_post(&t);
    if (err)
        return cli_fail(CLI_COULD_NOT, "database error: %s", err_name(err));
    err = call_platform(&t);
    if (!err && !a->network && a->token_refresh_result.status == TOKEN_REFRESHED &&
        t.outcome.kind == OUTCOME_OK)
        err = record_success(a);
    return err ? platform_session_print_send_error(err) : explain(&t);
}

enum cli_exit platform_test(struct cli *cli, const struct cli_arguments *arguments)
{
    struct platform_session *a;
    int64_t row;
    if (!platform_parse_id(arguments->operands[0], &row))
        return CLI_USAGE;
    enum cli_exit code = platform_session_open(cli, row, &a);
    if (code != CLI_DONE)
        return code;
    code = test_account(a);
    platform_session_close(a);
    return code;
}
