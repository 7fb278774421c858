/* POST /oauth/revoke: an app revokes a key that it received (RFC 7009). */
#include "auth/api_key.h"
#include "base/clock.h"
#include "oauth/client.h"
#include "store/write.h"
#include "store/writer_call.h"

static const char *const names[] = {OAUTH_CLIENT_FIELDS, "token", "token_type_hint", NULL};
enum { TOKEN = OAUTH_FIRST_FIELD };

struct revocation {
    int64_t app_row;
    struct actor by;
    uint8_t hash[KEY_HASH_LEN];
    bool unknown, foreign; /* unknown: there is no such key; foreign: the key belongs to another app or to no
                              app */
};

/* The state of the endpoint, in the request's arena. */
struct revoke_call {
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
    return v->foreign ? OK : store_revoke_key(store, key.row, clock_wall_ms(), &v->by);
}

/* By RFC 7009, 2.2, clients ignore the body of the response. It is {}, because many clients parse every
 * response as JSON. */
static enum next respond_empty(struct request *r)
{
    oauth_begin_response(r);
    r->res.content_type = STR("application/json; charset=utf-8");
    buf_append(&r->res.body, STR("{}"));
    return NEXT_DONE;
}

static enum next revoked_step(struct request *r)
{
    const struct revoke_call *call = oauth_call_of(r)->state;
    if (call->err)
        return oauth_respond_store_error(r, call->err);
    if (call->revocation.foreign)
        return oauth_respond_error(r, 400, "invalid_grant", "The key was not issued to this app.");
    /* The response for an unknown key is 200 (RFC 7009, 2.2), but many unknown keys suggest guessing, so they
     * are counted as failures. */
    if (call->revocation.unknown)
        oauth_record_failure(r);
    return respond_empty(r);
}

static enum next authenticated_step(struct request *r)
{
    struct oauth_call *c = oauth_call_of(r);
    struct str token = c->fields.values[TOKEN];
    if (!token.p)
        return oauth_respond_error(r, 400, "invalid_request", "token is missing.");
    /* A token that cannot be a key is already invalid, so the revocation succeeds (RFC 7009, 2.2). */
    if (!key_is_well_formed(c->oauth->envelope.key_prefix, token))
        return respond_empty(r);
    struct revoke_call *call = arena_alloc(&r->arena, sizeof *call);
    call->revocation.app_row = c->client.app.row;
    call->revocation.by = actor_make(ACTOR_APP, c->client.app.name, r->client_address);
    key_hash(token, call->revocation.hash);
    c->state = call;
    r->step = revoked_step;
    return writer_call(c->oauth->writer, &r->wait, &call->err, revoke_work, &call->revocation,
                       sizeof call->revocation);
}

static enum next revoke_step(struct request *r)
{
    return oauth_read_fields(r, names) ? oauth_authenticate_client(r, authenticated_step) : NEXT_DONE;
}

const struct route revoke_route = {
    .path = "/oauth/revoke", .name = "/v1/oauth/revoke", .methods = ROUTE_POST, .start = revoke_step};
