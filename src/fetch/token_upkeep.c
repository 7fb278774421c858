/* Tokens that die when nobody uses them are refreshed in time, also those of accounts that nothing is asked
 * of. Goes over all accounts once in a run, beside the calls. */
#include "fetch/engine.h"

#include "base/check.h"
#include "base/clock.h"

#include <stdlib.h>

enum { KEEPER_ROWS = 200, KEEPER_AT_ONCE = 4 };
_Static_assert(KEEPER_ROWS <= sizeof((struct keeper *)0)->due / sizeof(struct kept), "room for all");

/* One refresh that was asked for. */
struct keeping {
    struct engine *engine;
    struct gate *gate;
    int64_t row, version;
};

static bool on_credential(void *ctx, const struct credential *c)
{
    struct engine *e = ctx;
    struct keeper *k = &e->keeper;
    k->after = c->row;
    k->seen++;
    if (c->api < 0 || c->api >= PLATFORM_APIS)
        return true;
    const struct gate *g = &e->gates[c->api];
    if (g->active && !g->closed && c->state == CREDENTIAL_FINE &&
        tokens_refresh_is_due(g->desc, c, clock_wall_ms(), true))
        k->due[k->due_count++] = (struct kept){.row = c->row, .version = c->version, .api = g->api};
    return true;
}

static enum err read_more(struct engine *e)
{
    struct keeper *k = &e->keeper;
    k->due_count = k->due_next = k->seen = 0;
    enum err err = store_list_credentials(e->store, k->after, KEEPER_ROWS, on_credential, e);
    if (err)
        return run_fail(e->run, err, "the database says: %s", err_name(err));
    k->all_seen = k->seen < KEEPER_ROWS;
    return OK;
}

static void take(struct keeping *kept, const struct token_refresh_result *answer)
{
    struct engine *e = kept->engine;
    struct gate *g = kept->gate;
    e->keeper.in_flight--;
    switch (answer->result) {
    case TOKEN_REFRESHED: run_count(e->run, g->desc->platform, RUN_TOKENS, 1); break;
    case TOKEN_RECONNECT:
        g->accounts_asked++;
        verdict_suspect(e, g, kept->row, kept->version, answer->code);
        break;
    case TOKEN_APP_REJECTED: verdict_operator(e, g, answer->code); break;
    case TOKEN_STORE_FAILED:
        engine_stop(e, run_fail(e->run, answer->err, "tokens of %s cannot be written: %s", g->desc->name,
                                err_name(answer->err)));
        break;
    case TOKEN_RETRY_LATER: /* the next run tries again: it is days before they die */
    case TOKEN_ACCOUNT_REMOVED: break;
    }
    free(kept);
}

static void on_kept(void *ctx, const struct token_refresh_result *answer)
{
    struct keeping *kept = ctx;
    struct engine *e = kept->engine;
    take(kept, answer);
    engine_pump(e);
}

static void keep(struct engine *e, const struct kept *due)
{
    struct token_refresh_result answer;
    struct keeping *kept = xmalloc(sizeof *kept);
    *kept =
        (struct keeping){.engine = e, .gate = &e->gates[due->api], .row = due->row, .version = due->version};
    e->keeper.in_flight++;
    const enum next next =
        token_refresher_start(e->refresher, due->row, due->version, &answer, on_kept, kept);
    if (next == NEXT_MORE)
        take(kept, &answer);
}

enum err keeper_go_on(struct engine *e)
{
    struct keeper *k = &e->keeper;
    while (k->in_flight < KEEPER_AT_ONCE && !e->stopping) {
        if (k->due_next < k->due_count) {
            const struct kept *due = &k->due[k->due_next++];
            if (!e->gates[due->api].closed)
                keep(e, due);
            continue;
        }
        if (k->all_seen)
            break;
        enum err err = read_more(e);
        if (err)
            return err;
    }
    return OK;
}

bool keeper_is_done(const struct engine *e)
{
    const struct keeper *k = &e->keeper;
    return k->all_seen && k->due_next == k->due_count && !k->in_flight;
}
