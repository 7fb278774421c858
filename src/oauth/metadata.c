/* GET /.well-known/oauth-authorization-server: the metadata of the authorization server (RFC 8414). */
#include "oauth/oauth.h"

static void append_list(struct buf *b, struct str name, const char *const *items)
{
    json_key(b, name);
    json_open(b, '[');
    for (; *items; items++)
        json_str(b, str_from_cstr(*items));
    json_close(b, ']');
}

static void append_url(struct request *r, struct str name, const char *path)
{
    const struct oauth *oauth = r->app->ctx;
    json_key(&r->res.body, name);
    json_str(&r->res.body,
             arena_printf(&r->arena, "%.*s%s", (int)oauth->base_url.len, oauth->base_url.p, path));
}

static enum next metadata_step(struct request *r)
{
    static const char *const code[] = {"code", NULL}, *const query[] = {"query", NULL},
                             *const grants[] = {"authorization_code", NULL}, *const scopes[] = {"read", NULL},
                             *const methods[] = {"S256", NULL},
                             *const clients[] = {"none", "client_secret_basic", "client_secret_post", NULL};
    struct buf *b = &r->res.body;
    r->res.status = 200;
    r->res.content_type = STR("application/json; charset=utf-8");
    json_open(b, '{');
    append_url(r, STR("issuer"), "");
    append_url(r, STR("authorization_endpoint"), "/oauth/authorize");
    append_url(r, STR("token_endpoint"), "/oauth/token");
    append_url(r, STR("revocation_endpoint"), "/oauth/revoke");
    append_list(b, STR("scopes_supported"), scopes);
    append_list(b, STR("response_types_supported"), code);
    append_list(b, STR("response_modes_supported"), query);
    append_list(b, STR("grant_types_supported"), grants);
    append_list(b, STR("token_endpoint_auth_methods_supported"), clients);
    append_list(b, STR("revocation_endpoint_auth_methods_supported"), clients);
    append_list(b, STR("code_challenge_methods_supported"), methods);
    JSON_BOOL(b, "authorization_response_iss_parameter_supported", true);
    json_close(b, '}');
    return NEXT_DONE;
}

const struct route metadata_route = {.path = "",
                                     .name = "/.well-known/oauth-authorization-server",
                                     .methods = ROUTE_GET,
                                     .start = metadata_step};
