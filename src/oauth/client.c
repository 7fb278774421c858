/* Clients of the OAuth endpoints. Knows no grant and no key. */
#include "oauth/client.h"

#include "api/envelope.h"
#include "oauth/basic_auth.h"
#include "oauth/codes.h"
#include "auth/failure_limiter.h"
#include "auth/network.h"
#include "base/check.h"
#include "base/clock.h"
#include "http/form.h"

#include <stdlib.h>

enum {
    ADDRESS_BURST = 20,
    ADDRESS_FORGET_MS = 6000,
    CLIENT_BURST = 200,
    CLIENT_FORGET_MS = 300,
};

struct oauth_guards *oauth_guards_new(void)
{
    struct oauth_guards *g = xcalloc(1, sizeof *g);
    g->addresses =
        failure_limiter_new(&(struct failure_rule){.burst = ADDRESS_BURST, .decay_ms = ADDRESS_FORGET_MS});
    g->clients =
        failure_limiter_new(&(struct failure_rule){.burst = CLIENT_BURST, .decay_ms = CLIENT_FORGET_MS});
    return g;
}

void oauth_guards_free(struct oauth_guards *g)
{
    if (!g)
        return;
    failure_limiter_free(g->addresses);
    failure_limiter_free(g->clients);
    free(g);
}

/* ---- answers ---- */

static void add_no_store(struct request *r)
{
    response_add_field(r, STR("Cache-Control"), STR("no-store"));
}

enum next oauth_error(struct request *r, int status, const char *error, const char *description)
{
    struct buf *b = &r->res.body;
    response_reset(r);
    r->res.status = status;
    r->res.content_type = STR("application/json; charset=utf-8");
    add_no_store(r);
    if (status == 401)
        response_add_field(r, STR("WWW-Authenticate"), STR("Basic realm=\"viewtally\""));
    json_open(b, '{');
    JSON_STR(b, "error", str_from_cstr(error));
    JSON_STR(b, "error_description", str_from_cstr(description));
    json_close(b, '}');
    return NEXT_DONE;
}

enum next oauth_store_error(struct request *r)
{
    enum next next = oauth_error(r, 503, "server_error",
                                 "The database is not available at the moment. Try again in a few seconds.");
    response_add_field(r, STR("Retry-After"), STR("5"));
    return next;
}

void oauth_begin_answer(struct request *r)
{
    r->res.status = 200;
    add_no_store(r);
}

/* ---- guessing ---- */

static enum next refuse_guessing(struct request *r, int64_t wait_ms)
{
    enum next next = oauth_error(r, 429, "slow_down", "Too many failed attempts. Wait and try again.");
    int64_t wait_s = (wait_ms + 999) / 1000;
    response_add_field(r, STR("Retry-After"), arena_printf(&r->arena, "%lld", (long long)wait_s));
    return next;
}

static struct str address_name(struct request *r)
{
    return network_of_address(r->client_address, arena_alloc(&r->arena, NETWORK_ROOM));
}

void oauth_note_failure(struct request *r)
{
    failure_limiter_record(call_of(r)->api->guards->addresses, address_name(r), clock_mono_ms());
}

/* ---- the body ---- */

static bool read_fields(struct request *r, struct oauth_call *c, const char *const *names)
{
    struct str type;
    (void)str_cut(r->field[FIELD_CONTENT_TYPE], ';', &type);
    if (r->field_count[FIELD_CONTENT_TYPE] > 1)
        return false;
    if (form_is_body(r))
        return fields_read_form(&c->fields, &r->arena, names, r->body.p ? r->body : STR(""));
    if (str_eq_nocase(str_trim(type), STR("application/json")))
        return fields_read_json(&c->fields, &r->arena, names, r->body);
    return false;
}

struct oauth_call *oauth_read(struct request *r, const char *const *names)
{
    struct oauth_call *c = arena_alloc(&r->arena, sizeof *c);
    int64_t wait_ms =
        failure_limiter_wait_ms(call_of(r)->api->guards->addresses, address_name(r), clock_mono_ms());
    call_of(r)->endpoint = c;
    if (wait_ms) {
        (void)refuse_guessing(r, wait_ms);
        return NULL;
    }
    if (!read_fields(r, c, names)) {
        (void)oauth_error(r, 400, "invalid_request",
                          "The body must be application/x-www-form-urlencoded, or a JSON object of strings "
                          "sent as application/json.");
        return NULL;
    }
    if (fields_repeated(&c->fields)) {
        struct str text = arena_printf(&r->arena, "%s must be given once.", fields_repeated(&c->fields));
        (void)oauth_error(r, 400, "invalid_request", text.p);
        return NULL;
    }
    return c;
}

/* ---- the client ---- */

/* An empty secret counts as missing. */
static bool read_basic(struct request *r, struct oauth_call *c)
{
    if (r->field_count[FIELD_AUTHORIZATION] > 1 ||
        !basic_parse(&r->arena, r->field[FIELD_AUTHORIZATION], &c->client_id, &c->secret))
        return false;
    if (!c->secret.len)
        c->secret.p = NULL;
    c->basic = true;
    return true;
}

static enum next refuse_client(struct request *r, const char *description)
{
    oauth_note_failure(r);
    return oauth_error(r, 401, "invalid_client", description);
}

static enum next client_step(struct request *r)
{
    struct oauth_call *c = oauth_call_of(r);
    const struct app_record *app = &c->client.app;
    enum err e = call_of(r)->read.err;
    if (e && e != ERR_NOT_FOUND)
        return oauth_store_error(r);
    bool known = e == OK && app->removed_at == TIME_NONE;
    /* Only where there is a secret to guess: else anybody could keep an app from connecting. */
    struct failure_limiter *clients = known && app->confidential ? call_of(r)->api->guards->clients : NULL;
    int64_t wait_ms = clients ? failure_limiter_wait_ms(clients, c->client_id, clock_mono_ms()) : 0;
    if (wait_ms)
        return refuse_guessing(r, wait_ms);
    bool right = client_secret_matches(known ? app : NULL, c->secret.p ? c->secret : STR(""));
    if (known && !app->confidential && !c->secret.p)
        right = true;
    if (!right && clients)
        failure_limiter_record(clients, c->client_id, clock_mono_ms());
    if (!right)
        return refuse_client(r, "The app is not known here, or its secret is missing or wrong.");
    r->step = c->then;
    return NEXT_MORE;
}

static enum next name_client(struct request *r, struct oauth_call *c)
{
    struct str id = c->fields.values[OAUTH_CLIENT_ID], secret = c->fields.values[OAUTH_CLIENT_SECRET];
    if (!r->field[FIELD_AUTHORIZATION].p) {
        c->client_id = id;
        c->secret = secret;
        return NEXT_MORE;
    }
    if (!read_basic(r, c))
        return refuse_client(r, "The Authorization field must be Basic with the app's id and secret.");
    if (secret.p)
        return oauth_error(r, 400, "invalid_request",
                           "The app's secret is in the Authorization field and in the body: send it once.");
    if (id.p && !str_eq(id, c->client_id))
        return oauth_error(r, 400, "invalid_request",
                           "client_id is another one than in the Authorization field.");
    return NEXT_MORE;
}

enum next oauth_find_client(struct request *r, request_step *then)
{
    struct oauth_call *c = oauth_call_of(r);
    enum next next = name_client(r, c);
    if (next == NEXT_DONE)
        return next;
    if (!c->client_id.len || c->client_id.len > CLIENT_ID_MAX || !str_is_utf8(c->client_id))
        return refuse_client(r, "The app is missing: send client_id, or Basic with its id and secret.");
    c->then = then;
    r->step = client_step;
    return store_read_app(&call_of(r)->read, &r->arena, c->client_id, &c->client);
}
