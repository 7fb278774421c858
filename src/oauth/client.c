/* Clients of the token and revocation endpoints. */
#include "oauth/client.h"

#include "auth/failure_limiter.h"
#include "auth/failure_log.h"
#include "auth/network.h"
#include "base/clock.h"
#include "base/plural.h"
#include "http/form.h"
#include "oauth/basic_auth.h"
#include "oauth/codes.h"

/* ---- responses ---- */

static void add_no_store(struct request *r)
{
    response_add_field(r, STR("Cache-Control"), STR("no-store"));
}

/* Returns the URL of the section about an error in the guide "Connecting an app". */
static struct str error_uri_of(struct request *r, const char *error)
{
    const struct str docs = r->app->docs_url;
    return arena_printf(&r->arena, "%.*s/connect#%s", (int)docs.len, docs.p ? docs.p : "", error);
}

/* Adds header fields and body of an error response. Its status is already set. */
static void write_error(struct request *r, const char *error, const char *description)
{
    struct buf *b = &r->res.body;
    r->res.content_type = STR("application/json; charset=utf-8");
    add_no_store(r);
    if (r->res.status == 401)
        response_add_field(r, STR("WWW-Authenticate"), STR("Basic realm=\"viewtally\""));
    json_open(b, '{');
    JSON_STR(b, "error", str_from_cstr(error));
    JSON_STR(b, "error_description", str_from_cstr(description));
    JSON_STR(b, "error_uri", error_uri_of(r, error));
    json_close(b, '}');
}

enum next oauth_respond_error(struct request *r, int status, const char *error, const char *description)
{
    response_reset(r);
    r->res.status = status;
    write_error(r, error, description);
    return NEXT_DONE;
}

enum next oauth_respond_store_error(struct request *r, enum err err)
{
    enum next next = oauth_respond_error(
        r, 503, "server_error",
        err == ERR_UNKNOWN_OUTCOME
            ? "The connection to the database was lost. It is unknown whether the change was made. Retry in "
              "a few seconds."
            : "The database is unavailable. Nothing was changed. Retry in a few seconds.");
    response_add_field(r, STR("Retry-After"), STR("5"));
    return next;
}

/* A request that timed out may have started a write that still completes. */
void oauth_reject(struct request *r, const char *message)
{
    if (r->res.status != 500 && r->res.status != 503) {
        write_error(r, "invalid_request", message);
        return;
    }
    if (r->res.status == 503)
        response_add_field(r, STR("Retry-After"), STR("5"));
    struct str text = arena_printf(
        &r->arena, "%s It is unknown whether a change was made. Retry in a few seconds.", message);
    write_error(r, "server_error", text.p);
}

void oauth_begin_response(struct request *r)
{
    r->res.status = 200;
    add_no_store(r);
}

/* ---- failed attempts ---- */

static enum next reject_attempt(struct request *r, int64_t wait_ms)
{
    const long long wait_s = (wait_ms + SECOND_MS - 1) / SECOND_MS;
    struct str text = arena_printf(&r->arena, "Too many failed attempts. Retry in %lld second%s.", wait_s,
                                   plural(wait_s, "", "s"));
    enum next next = oauth_respond_error(r, 429, "slow_down", text.p);
    response_add_field(r, STR("Retry-After"), arena_printf(&r->arena, "%lld", wait_s));
    return next;
}

static struct str network_name(struct request *r)
{
    return network_of_address(r->client_address, arena_alloc(&r->arena, NETWORK_ROOM));
}

void oauth_record_failure(struct request *r)
{
    const struct oauth *oauth = oauth_call_of(r)->oauth;
    const int64_t now_ms = clock_mono_ms();
    failure_limiter_record(oauth->address_failures, network_name(r), now_ms);
    failure_log_record(oauth->failures, FAILURE_APP, r->client_address, now_ms);
}

/* ---- fields of the request body ---- */

static bool read_fields(struct request *r, struct fields *fields, const char *const *names)
{
    struct str type;
    (void)str_cut(r->field[FIELD_CONTENT_TYPE], ';', &type);
    if (r->field_count[FIELD_CONTENT_TYPE] > 1)
        return false;
    if (request_has_form_body(r))
        return fields_read_form(fields, &r->arena, names, r->body.p ? r->body : STR(""));
    if (str_eq_nocase(str_trim(type), STR("application/json")))
        return fields_read_json(fields, &r->arena, names, r->body);
    return false;
}

struct oauth_call *oauth_read_fields(struct request *r, const char *const *names)
{
    struct oauth_call *call = arena_alloc(&r->arena, sizeof *call);
    call->oauth = r->app->ctx;
    call->read = (struct store_read){.store = call->oauth->store, .wait = &r->wait};
    r->state = call;
    int64_t wait_ms =
        failure_limiter_wait_ms(call->oauth->address_failures, network_name(r), clock_mono_ms());
    if (wait_ms) {
        (void)reject_attempt(r, wait_ms);
        return NULL;
    }
    if (!read_fields(r, &call->fields, names)) {
        (void)oauth_respond_error(
            r, 400, "invalid_request",
            "The body must be application/x-www-form-urlencoded with valid percent escapes, or a JSON object "
            "of strings sent as application/json. Send one Content-Type header.");
        return NULL;
    }
    const char *repeated = fields_find_repeated(&call->fields);
    if (repeated) {
        struct str text = arena_printf(&r->arena, "%s is given more than once. Send it once.", repeated);
        (void)oauth_respond_error(r, 400, "invalid_request", text.p);
        return NULL;
    }
    return call;
}

/* ---- authentication of the client ---- */

static enum next reject_client(struct request *r, const char *description)
{
    oauth_record_failure(r);
    return oauth_respond_error(r, 401, "invalid_client", description);
}

static enum next client_step(struct request *r)
{
    const struct oauth_call *call = oauth_call_of(r);
    const struct app_record *app = &call->client.app;
    if (call->read.err && call->read.err != ERR_NOT_FOUND)
        return oauth_respond_store_error(r, call->read.err);
    bool registered = call->read.err == OK && app->removed_at == TIME_NONE;
    /* Wrong secrets are counted only for an app that has a secret. Otherwise anyone could lock out a public
     * app. */
    struct failure_limiter *failures = registered && app->confidential ? call->oauth->client_failures : NULL;
    int64_t wait_ms = failures ? failure_limiter_wait_ms(failures, call->client_id, clock_mono_ms()) : 0;
    if (wait_ms)
        return reject_attempt(r, wait_ms);
    bool matches = client_secret_matches(registered ? app : NULL, call->secret.p ? call->secret : STR(""));
    if (registered && !app->confidential && !call->secret.p)
        matches = true;
    if (!matches && failures)
        failure_limiter_record(failures, call->client_id, clock_mono_ms());
    if (!matches && registered && !app->confidential)
        return reject_client(r, "This app is registered without a secret. Send client_id only.");
    if (!matches)
        return reject_client(r, "The app is not registered here, or its secret is missing or wrong.");
    r->step = call->then;
    return NEXT_MORE;
}

/* An empty secret is treated as missing. */
static bool read_basic(struct request *r, struct oauth_call *call)
{
    if (r->field_count[FIELD_AUTHORIZATION] > 1 ||
        !basic_auth_parse(&r->arena, r->field[FIELD_AUTHORIZATION], &call->client_id, &call->secret))
        return false;
    if (!call->secret.len)
        call->secret.p = NULL;
    return true;
}

/* Reads client_id and secret from the Authorization field or the body. Returns NEXT_DONE if the request is
 * rejected. */
static enum next identify_client(struct request *r, struct oauth_call *call)
{
    struct str id = call->fields.values[OAUTH_CLIENT_ID], secret = call->fields.values[OAUTH_CLIENT_SECRET];
    if (!r->field[FIELD_AUTHORIZATION].p) {
        call->client_id = id;
        call->secret = secret;
        return NEXT_MORE;
    }
    if (!read_basic(r, call))
        return reject_client(r, "The Authorization header must be Basic with the app's id and secret.");
    if (secret.p)
        return oauth_respond_error(
            r, 400, "invalid_request",
            "The app's secret is in the Authorization header and in the body. Send it once.");
    if (id.p && !str_eq(id, call->client_id))
        return oauth_respond_error(r, 400, "invalid_request",
                                   "client_id differs from the id in the Authorization header.");
    return NEXT_MORE;
}

enum next oauth_authenticate_client(struct request *r, request_step *then)
{
    struct oauth_call *call = oauth_call_of(r);
    if (identify_client(r, call) == NEXT_DONE)
        return NEXT_DONE;
    if (!call->client_id.len || call->client_id.len > CLIENT_ID_MAX || !str_is_utf8(call->client_id))
        return reject_client(
            r, "client_id is missing or malformed. Send it in the body, or in a Basic Authorization header.");
    call->then = then;
    r->step = client_step;
    return store_read_app(&call->read, &r->arena, call->client_id, &call->client);
}
