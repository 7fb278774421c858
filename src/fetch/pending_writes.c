/* Collects updates of posts and accounts, and writes them in transactions. */
#include "fetch/pending_writes.h"

enum { WRITES_PER_TRANSACTION = 1000, TEXTS_BLOCK = 64 * 1024 };

void pending_writes_init(struct pending_writes *w)
{
    *w = (struct pending_writes){0};
    arena_init(&w->texts, TEXTS_BLOCK);
}

void pending_writes_fini(struct pending_writes *w)
{
    VEC_FREE(&w->posts);
    VEC_FREE(&w->accounts);
    arena_fini(&w->texts);
}

void pending_writes_add_post(struct pending_writes *w, const struct platform_post *post)
{
    struct platform_post *copy = VEC_ADD(&w->posts);
    *copy = *post;
    copy->post_id = arena_copy(&w->texts, post->post_id);
    if (post->resolved_id.p)
        copy->resolved_id = arena_copy(&w->texts, post->resolved_id);
}

void pending_writes_add_account(struct pending_writes *w, const struct account_update *update)
{
    *VEC_ADD(&w->accounts) = *update;
}

static enum err write_account(struct store *store, const struct account_update *u)
{
    const struct str text = str_from_cstr(u->text);
    switch (u->kind) {
    case ACCOUNT_SUCCEEDED: return store_record_credential_success(store, u->row, u->at);
    case ACCOUNT_FAILED:
        return store_record_credential_failure(store, u->row, u->version, text, u->at, CREDENTIAL_CONNECTED);
    case ACCOUNT_RECONNECT:
        return store_record_credential_failure(store, u->row, u->version, text, u->at,
                                               CREDENTIAL_RECONNECT_REQUIRED);
    case ACCOUNT_TIER: return store_set_credential_tier(store, u->row, u->tier, text, u->at);
    }
    return OK;
}

struct cursor {
    size_t posts, accounts;
};

struct write_batch {
    const struct pending_writes *writes;
    struct throttle *throttles;
    struct cursor first, next; /* the range of the batch */
};

static enum err write_some(struct store *store, void *ctx)
{
    struct write_batch *b = ctx;
    const struct pending_writes *w = b->writes;
    const struct throttle *throttles = b->throttles;
    struct cursor *at = &b->next;
    *at = b->first;
    for (int n = 0; n < WRITES_PER_TRANSACTION && at->posts < w->posts.count; n++) {
        const enum err err = store_put_platform_post(store, &w->posts.items[at->posts++]);
        if (err)
            return err;
    }
    for (int n = 0; n < WRITES_PER_TRANSACTION && at->accounts < w->accounts.count; n++) {
        const enum err err = write_account(store, &w->accounts.items[at->accounts++]);
        if (err && err != ERR_NOT_FOUND) /* ERR_NOT_FOUND: the account has been removed */
            return err;
    }
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const enum err err = throttles[api].unsaved ? throttle_save(&throttles[api], store) : OK;
        if (err)
            return err;
    }
    return OK;
}

static bool any_unsaved(const struct throttle *throttles)
{
    for (int api = 0; api < PLATFORM_APIS; api++)
        if (throttles[api].unsaved)
            return true;
    return false;
}

enum err pending_writes_flush(struct pending_writes *w, struct run *run,
                              struct throttle throttles[PLATFORM_APIS])
{
    struct write_batch b = {.writes = w, .throttles = throttles};
    while (b.first.posts < w->posts.count || b.first.accounts < w->accounts.count || any_unsaved(throttles)) {
        const enum err err = run_transact(run, write_some, &b);
        if (err)
            return err;
        b.first = b.next;
        for (int api = 0; api < PLATFORM_APIS; api++)
            throttles[api].unsaved = false;
    }
    w->posts.count = w->accounts.count = 0;
    arena_reset(&w->texts);
    return OK;
}
