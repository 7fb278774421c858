/* Iterates over all accounts and refreshes their tokens in time. */
#include "fetch/token_upkeep.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>

enum { ROWS_PER_QUERY = 200, IN_FLIGHT_MAX = 4 };

struct upkeep_refresh {
    struct token_upkeep *upkeep;
    struct due_token token;
};

static bool on_credential(void *ctx, const struct credential *c)
{
    struct token_upkeep *u = ctx;
    u->last_row = c->row;
    u->read++;
    if (c->api < 0 || c->api >= PLATFORM_APIS)
        return true;
    const struct throttle *t = u->apis[c->api].throttle;
    if (t->has_app && !t->closed && c->state == CREDENTIAL_CONNECTED &&
        token_refresh_is_due(t->desc, c, clock_wall_ms(), true))
        *VEC_ADD(&u->due) = (struct due_token){.row = c->row, .version = c->version, .api = t->api};
    return true;
}

static enum err read_more(struct token_upkeep *u)
{
    u->due.count = u->next = u->read = 0;
    const enum err err =
        store_list_credentials(run_store(u->run), u->last_row, ROWS_PER_QUERY, on_credential, u);
    u->all_read = u->read < ROWS_PER_QUERY;
    return err ? run_fail_database(u->run, err) : OK;
}

static void apply_result(struct token_upkeep *u, const struct due_token *token,
                         const struct token_refresh_result *result)
{
    struct api_queue *api = &u->apis[token->api];
    const struct platform_desc *desc = api->throttle->desc;
    switch (result->status) {
    case TOKEN_REFRESHED:
        run_count(u->run, desc->platform, RUN_TOKENS, 1);
        rejections_record_use(u->rejections, token->api, token->row);
        break;
    case TOKEN_RECONNECT:
        rejections_add(u->rejections, api->throttle, token->row, token->version, result->code);
        break;
    case TOKEN_APP_REJECTED: api_queue_reject_app(api, result->code); break;
    case TOKEN_STORE_FAILED:
        u->err = run_fail(u->run, result->err, TOKEN_STORE_FAILED_TEXT, desc->name, err_name(result->err));
        break;
    case TOKEN_RETRY_LATER: /* the next run retries, long before the account lapses */
    case TOKEN_ACCOUNT_REMOVED: break;
    }
}

static void on_refreshed(void *ctx, const struct token_refresh_result *result)
{
    struct upkeep_refresh *refresh = ctx;
    struct token_upkeep *u = refresh->upkeep;
    u->in_flight--;
    apply_result(u, &refresh->token, result);
    free(refresh);
    u->progressed(u->ctx);
}

static void start_refresh(struct token_upkeep *u, const struct due_token *token)
{
    struct token_refresh_result result;
    struct upkeep_refresh *refresh = xmalloc(sizeof *refresh);
    *refresh = (struct upkeep_refresh){.upkeep = u, .token = *token};
    if (token_refresher_start(u->refresher, token->row, token->version, &result, on_refreshed, refresh) ==
        NEXT_WAIT) {
        u->in_flight++;
        return;
    }
    free(refresh);
    apply_result(u, token, &result);
}

enum err token_upkeep_continue(struct token_upkeep *u)
{
    while (u->in_flight < IN_FLIGHT_MAX && !u->err) {
        if (u->next < u->due.count) {
            const struct due_token token = u->due.items[u->next++];
            if (!u->apis[token.api].throttle->closed)
                start_refresh(u, &token);
            continue;
        }
        if (u->all_read)
            break;
        const enum err err = read_more(u);
        if (err)
            return err;
    }
    return u->err;
}

bool token_upkeep_is_done(const struct token_upkeep *u)
{
    return u->all_read && u->next == u->due.count && !u->in_flight;
}

void token_upkeep_fini(struct token_upkeep *u)
{
    VEC_FREE(&u->due);
}
