/* POST /oauth/token: changes an authorization code for a key (RFC 6749, 4.1.3; RFC 7636, 4.5). */
#include "api/envelope.h"
#include "oauth/client.h"
#include "api/router.h"
#include "oauth/codes.h"
#include "oauth/redirect.h"
#include "store/writer_call.h"

#include <sodium.h>

static const char *const names[] = {OAUTH_CLIENT_FIELDS, "grant_type",    "code",
                                    "redirect_uri",      "code_verifier", NULL};
enum { GRANT_TYPE = OAUTH_FIRST_FIELD, CODE, REDIRECT_URI, CODE_VERIFIER };

enum { EXCHANGE_ARENA_BYTES = 8192, AUTHOR_NAME_MAX = 2000 };

/* A text that travels with a job. */
#define ROOM(max)                                                                                            \
    struct {                                                                                                 \
        size_t len;                                                                                          \
        char p[max];                                                                                         \
    }
#define PUT(room, s) ((room).len = (s).len, memcpy((room).p, (s).p, (s).len))
#define GET(room)    str_make((room).p, (room).len)

/* The exchange as the writer does it. */
struct exchange {
    int64_t app_row;
    ROOM(KEY_PREFIX_MAX) key_prefix;
    ROOM(CLIENT_ID_MAX) client_id;
    ROOM(KEY_TEXT_MAX) code;
    ROOM(REDIRECT_MAX) redirect_uri;
    ROOM(PKCE_VERIFIER_MAX) verifier;

    enum code_outcome outcome;
    struct key_text key_text;
    struct uuid key_id, author_id;
    ROOM(AUTHOR_NAME_MAX) author_name;
};

/* In the request's arena. */
struct exchanging {
    enum err err;
    struct exchange exchange;
};

static enum err exchange_work(struct store *store, void *data)
{
    struct exchange *e = data;
    struct arena arena;
    struct code_exchange x = {.app_row = e->app_row,
                              .client_id = GET(e->client_id),
                              .code = GET(e->code),
                              .redirect_uri = GET(e->redirect_uri),
                              .verifier = GET(e->verifier),
                              .key_prefix = GET(e->key_prefix)};
    arena_init(&arena, EXCHANGE_ARENA_BYTES);
    enum err err = code_redeem(store, &arena, &x, clock_wall_ms());
    e->outcome = x.outcome;
    if (err == OK && x.outcome == CODE_GAVE_KEY) {
        e->key_text = x.key_text;
        e->key_id = x.key.id;
        e->author_id = x.author.id;
        if (x.author.name.len > AUTHOR_NAME_MAX)
            x.author.name.len = AUTHOR_NAME_MAX;
        PUT(e->author_name, x.author.name);
    }
    arena_fini(&arena);
    sodium_memzero(&x, sizeof x);
    return err;
}

static enum next answer_key(struct request *r, const struct exchange *e)
{
    struct buf *b = &r->res.body;
    oauth_begin_answer(r);
    r->res.content_type = STR("application/json; charset=utf-8");
    json_open(b, '{');
    JSON_STR(b, "access_token", str_make(e->key_text.p, e->key_text.len));
    JSON_STR(b, "token_type", STR("Bearer"));
    JSON_STR(b, "scope", STR("read"));
    JSON_UUID(b, "key_id", &e->key_id);
    json_key(b, STR("account"));
    json_open(b, '{');
    JSON_UUID(b, "id", &e->author_id);
    JSON_STR(b, "name", GET(e->author_name));
    json_close(b, '}');
    json_close(b, '}');
    return NEXT_DONE;
}

static const char *const whys[] = {
    [CODE_UNKNOWN] = "This code was not given by this service, or it is long over.",
    [CODE_REPLAYED] = "This code was used before. A key that it gave is revoked.",
    [CODE_EXPIRED] = "This code is over: it is good for 300 seconds.",
    [CODE_MISMATCH] = "This code was given to another app, for another redirect_uri or with another "
                      "code_challenge. It cannot be used any more.",
    [CODE_APP_GONE] = "The app is not registered any more.",
    [CODE_LIVE_LIMIT] = "The author has 100 API keys, which is the limit. The author must revoke one; then "
                        "request a new code.",
    [CODE_DAY_LIMIT] = "200 API keys were created for the author today, which is the limit. Request a new "
                       "code after midnight UTC.",
};

static enum next exchanged_step(struct request *r)
{
    const struct exchanging *g = oauth_call_of(r)->state;
    if (g->err)
        return oauth_store_error(r);
    if (g->exchange.outcome == CODE_GAVE_KEY)
        return answer_key(r, &g->exchange);
    if (g->exchange.outcome == CODE_UNKNOWN)
        oauth_note_failure(r);
    return oauth_error(r, 400, "invalid_grant", whys[g->exchange.outcome]);
}

/* The arena is kept over requests, and zeroed only when it is used again. */
static void wipe(struct request *r)
{
    struct exchanging *g = r->on_free_ctx;
    sodium_memzero(g, sizeof *g);
}

static enum next exchange(struct request *r)
{
    struct oauth_call *c = oauth_call_of(r);
    struct exchanging *g = arena_alloc(&r->arena, sizeof *g);
    struct exchange *e = &g->exchange;
    const struct str *v = c->fields.values;
    e->app_row = c->client.app.row;
    PUT(e->key_prefix, call_of(r)->api->key_prefix);
    PUT(e->client_id, c->client_id);
    PUT(e->code, v[CODE]);
    PUT(e->redirect_uri, v[REDIRECT_URI]);
    PUT(e->verifier, v[CODE_VERIFIER]);
    c->state = g;
    r->on_free = wipe;
    r->on_free_ctx = g;
    r->step = exchanged_step;
    return writer_call(call_of(r)->api->writer, &r->wait, &g->err, exchange_work, e, sizeof *e);
}

static enum next grant_step(struct request *r)
{
    const struct str *v = oauth_call_of(r)->fields.values;
    for (int i = CODE; i <= CODE_VERIFIER; i++) {
        if (v[i].p)
            continue;
        struct str text = arena_printf(&r->arena, "%s is missing.", names[i]);
        return oauth_error(r, 400, "invalid_request", text.p);
    }
    if (!pkce_is_verifier(v[CODE_VERIFIER]))
        return oauth_error(r, 400, "invalid_request",
                           "code_verifier must be 43 to 128 letters, digits or -._~.");
    /* Longer than any of ours. */
    if (v[CODE].len > KEY_TEXT_MAX || v[REDIRECT_URI].len > REDIRECT_MAX) {
        oauth_note_failure(r);
        return oauth_error(r, 400, "invalid_grant", whys[CODE_UNKNOWN]);
    }
    return exchange(r);
}

static enum next token_step(struct request *r)
{
    const struct oauth_call *c = oauth_read(r, names);
    if (!c)
        return NEXT_DONE;
    if (!c->fields.values[GRANT_TYPE].p)
        return oauth_error(r, 400, "invalid_request", "grant_type is missing.");
    if (!str_eq(c->fields.values[GRANT_TYPE], STR("authorization_code")))
        return oauth_error(r, 400, "unsupported_grant_type", "grant_type must be authorization_code.");
    return oauth_find_client(r, grant_step);
}

const struct route token_route = {.path = "/oauth/token",
                                  .name = "/v1/oauth/token",
                                  .methods = ROUTE_POST,
                                  .flags = ROUTE_KEYLESS,
                                  .start = token_step};
