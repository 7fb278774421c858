/* POST /oauth/revoke: an app gives back a key that it was given (RFC 7009). */
#include "api/envelope.h"
#include "oauth/client.h"
#include "api/router.h"
#include "auth/api_key.h"
#include "base/clock.h"
#include "store/write.h"
#include "store/writer_call.h"

static const char *const names[] = {OAUTH_CLIENT_FIELDS, "token", "token_type_hint", NULL};
enum { TOKEN = OAUTH_FIRST_FIELD };

struct revocation {
    int64_t app_row;
    uint8_t hash[KEY_HASH_LEN];
    bool unknown, foreign; /* the key is none; was not given to this app */
};

/* In the request's arena. */
struct revoking {
    enum err err;
    struct revocation revocation;
};

static enum err revoke_work(struct store *store, void *data)
{
    struct revocation *v = data;
    struct arena arena;
    struct api_key key;
    arena_init(&arena, 1024);
    enum err err = store_find_key_by_hash(store, &arena, v->hash, &key);
    arena_fini(&arena);
    v->unknown = err == ERR_NOT_FOUND;
    if (err)
        return v->unknown ? OK : err;
    v->foreign = key.app_row != v->app_row;
    return v->foreign ? OK : store_revoke_key(store, key.row, clock_wall_ms());
}

static enum next revoked_step(struct request *r)
{
    const struct revoking *g = oauth_call_of(r)->state;
    if (g->err)
        return oauth_store_error(r);
    if (g->revocation.foreign)
        return oauth_error(r, 400, "invalid_grant", "This key was not given to this app.");
    /* Answered as wanted, but whoever has many of these is guessing. */
    if (g->revocation.unknown)
        oauth_note_failure(r);
    oauth_begin_answer(r);
    return NEXT_DONE;
}

static enum next client_known_step(struct request *r)
{
    struct oauth_call *c = oauth_call_of(r);
    struct str token = c->fields.values[TOKEN];
    if (!token.p)
        return oauth_error(r, 400, "invalid_request", "token is missing.");
    /* Not a key of ours: what is wanted is so already (RFC 7009, 2.2). */
    if (!key_is_well_formed(call_of(r)->api->key_prefix, token)) {
        oauth_begin_answer(r);
        return NEXT_DONE;
    }
    struct revoking *g = arena_alloc(&r->arena, sizeof *g);
    g->revocation.app_row = c->client.app.row;
    key_hash(token, g->revocation.hash);
    c->state = g;
    r->step = revoked_step;
    return writer_call(call_of(r)->api->writer, &r->wait, &g->err, revoke_work, &g->revocation,
                       sizeof g->revocation);
}

static enum next revoke_step(struct request *r)
{
    return oauth_read(r, names) ? oauth_find_client(r, client_known_step) : NEXT_DONE;
}

const struct route revoke_route = {.path = "/oauth/revoke",
                                   .name = "/v1/oauth/revoke",
                                   .methods = ROUTE_POST,
                                   .flags = ROUTE_KEYLESS,
                                   .start = revoke_step};
