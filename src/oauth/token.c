/* POST /oauth/token: exchanges an authorization code for an API key (RFC 6749, 4.1.3; RFC 7636, 4.5). */
#include "oauth/client.h"
#include "oauth/codes.h"
#include "oauth/redirect.h"
#include "store/writer_call.h"

#include <sodium.h>

static const char *const names[] = {OAUTH_CLIENT_FIELDS, "grant_type",    "code",
                                    "redirect_uri",      "code_verifier", NULL};
enum { GRANT_TYPE = OAUTH_FIRST_FIELD, CODE, REDIRECT_URI, CODE_VERIFIER };

enum { EXCHANGE_ARENA_BYTES = 8192, AUTHOR_NAME_MAX = 2000 };

/* A string of at most `max` bytes. It contains no pointer, because writer_call() copies the struct. */
#define ROOM(max)                                                                                            \
    struct {                                                                                                 \
        size_t len;                                                                                          \
        char p[max];                                                                                         \
    }
#define PUT(room, s) ((room).len = (s).len, memcpy((room).p, (s).p, (s).len))
#define GET(room)    str_make((room).p, (room).len)

/* Input and output of the writer's job. */
struct token_exchange {
    int64_t app_row;
    struct actor by;
    ROOM(KEY_PREFIX_MAX) key_prefix;
    ROOM(CLIENT_ID_MAX) client_id;
    ROOM(KEY_TEXT_MAX) code;
    ROOM(REDIRECT_MAX) redirect_uri;
    ROOM(PKCE_VERIFIER_MAX) verifier;

    enum code_outcome outcome;
    struct key_text key_text;
    struct uuid key_id, author_id, webhook_id;
    bool has_webhook;
    ROOM(AUTHOR_NAME_MAX) author_name;
};

/* The state of the endpoint, in the request's arena. */
struct token_call {
    enum err err;
    struct token_exchange exchange;
};

static enum err exchange_work(struct store *store, void *data)
{
    struct token_exchange *e = data;
    struct arena arena;
    struct code_exchange x = {.app_row = e->app_row,
                              .client_id = GET(e->client_id),
                              .code = GET(e->code),
                              .redirect_uri = GET(e->redirect_uri),
                              .verifier = GET(e->verifier),
                              .key_prefix = GET(e->key_prefix),
                              .by = e->by};
    arena_init(&arena, EXCHANGE_ARENA_BYTES);
    enum err err = code_redeem(store, &arena, &x, clock_wall_ms());
    e->outcome = x.outcome;
    if (err == OK && x.outcome == CODE_EXCHANGED) {
        e->key_text = x.key_text;
        e->key_id = x.key.id;
        e->webhook_id = x.webhook_id;
        e->has_webhook = x.has_webhook;
        e->author_id = x.author.id;
        if (x.author.name.len > AUTHOR_NAME_MAX)
            x.author.name.len = AUTHOR_NAME_MAX;
        PUT(e->author_name, x.author.name);
    }
    arena_fini(&arena);
    sodium_memzero(&x, sizeof x);
    return err;
}

static enum next respond_with_key(struct request *r, const struct token_exchange *e)
{
    struct buf *b = &r->res.body;
    oauth_begin_response(r);
    r->res.content_type = STR("application/json; charset=utf-8");
    json_open(b, '{');
    JSON_STR(b, "access_token", str_make(e->key_text.p, e->key_text.len));
    JSON_STR(b, "token_type", STR("Bearer"));
    JSON_STR(b, "scope", STR("read"));
    JSON_UUID(b, "key_id", &e->key_id);
    if (e->has_webhook)
        JSON_UUID(b, "webhook_id", &e->webhook_id);
    JSON_KEY(b, "account");
    json_open(b, '{');
    JSON_UUID(b, "id", &e->author_id);
    JSON_STR(b, "name", GET(e->author_name));
    json_close(b, '}');
    json_close(b, '}');
    return NEXT_DONE;
}

static const char *const descriptions[] = {
    [CODE_UNKNOWN] = "The authorization code is unknown. Request a new one.",
    [CODE_REPLAYED] = "The authorization code has already been used. The key that it was exchanged for, if "
                      "any, is revoked. Request a new code.",
    [CODE_EXPIRED] =
        "The authorization code has expired (codes are valid for 300 seconds). Request a new one.",
    [CODE_MISMATCH] =
        "The authorization code was issued to another app, for another redirect_uri or for another "
        "code_challenge. It is now invalid; request a new one.",
    [CODE_APP_REMOVED] = "The app is no longer registered.",
    [CODE_LIVE_LIMIT] = "The author has 100 API keys, which is the limit. The author must revoke one; then "
                        "request a new code.",
    [CODE_DAY_LIMIT] = "200 API keys were created for the author today, which is the limit. Request a new "
                       "code after midnight UTC.",
};

static enum next exchanged_step(struct request *r)
{
    const struct token_call *call = oauth_call_of(r)->state;
    if (call->err)
        return oauth_respond_store_error(r, call->err);
    if (call->exchange.outcome == CODE_EXCHANGED)
        return respond_with_key(r, &call->exchange);
    if (call->exchange.outcome == CODE_UNKNOWN)
        oauth_record_failure(r);
    return oauth_respond_error(r, 400, "invalid_grant", descriptions[call->exchange.outcome]);
}

/* Zeroes the state, because it contains secrets and resetting the arena does not zero its memory. */
static void wipe(struct request *r)
{
    struct token_call *call = r->on_free_ctx;
    sodium_memzero(call, sizeof *call);
}

static enum next start_exchange(struct request *r)
{
    struct oauth_call *c = oauth_call_of(r);
    struct token_call *call = arena_alloc(&r->arena, sizeof *call);
    struct token_exchange *e = &call->exchange;
    const struct str *v = c->fields.values;
    e->app_row = c->client.app.row;
    e->by = actor_make(ACTOR_APP, c->client.app.name, r->client_address);
    PUT(e->key_prefix, c->oauth->envelope.key_prefix);
    PUT(e->client_id, c->client_id);
    PUT(e->code, v[CODE]);
    PUT(e->redirect_uri, v[REDIRECT_URI]);
    PUT(e->verifier, v[CODE_VERIFIER]);
    c->state = call;
    r->on_free = wipe;
    r->on_free_ctx = call;
    r->step = exchanged_step;
    return writer_call(c->oauth->writer, &r->wait, &call->err, exchange_work, e, sizeof *e);
}

static enum next grant_step(struct request *r)
{
    const struct str *v = oauth_call_of(r)->fields.values;
    for (int i = CODE; i <= CODE_VERIFIER; i++) {
        if (v[i].p)
            continue;
        struct str text = arena_printf(&r->arena, "%s is missing.", names[i]);
        return oauth_respond_error(r, 400, "invalid_request", text.p);
    }
    if (!pkce_is_verifier(v[CODE_VERIFIER]))
        return oauth_respond_error(r, 400, "invalid_request",
                                   "code_verifier must be 43 to 128 letters, digits or -._~.");
    /* A longer value cannot be a code or a redirect URI that exists. */
    const bool is_long_uri = v[REDIRECT_URI].len > REDIRECT_MAX;
    if (v[CODE].len > KEY_TEXT_MAX || is_long_uri) {
        oauth_record_failure(r);
        return oauth_respond_error(
            r, 400, "invalid_grant",
            is_long_uri ? "redirect_uri is longer than 2,000 bytes, so no app has registered it."
                        : descriptions[CODE_UNKNOWN]);
    }
    return start_exchange(r);
}

static enum next token_step(struct request *r)
{
    const struct oauth_call *c = oauth_read_fields(r, names);
    if (!c)
        return NEXT_DONE;
    if (!c->fields.values[GRANT_TYPE].p)
        return oauth_respond_error(r, 400, "invalid_request", "grant_type is missing.");
    if (!str_eq(c->fields.values[GRANT_TYPE], STR("authorization_code")))
        return oauth_respond_error(r, 400, "unsupported_grant_type",
                                   "grant_type must be authorization_code.");
    return oauth_authenticate_client(r, grant_step);
}

const struct route token_route = {
    .path = "/oauth/token", .name = "/v1/oauth/token", .methods = ROUTE_POST, .start = token_step};
