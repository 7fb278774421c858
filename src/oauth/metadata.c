/* Metadata: says what authorize, token and revoke do, and nothing else. */
#include "oauth/metadata.h"

#include "base/json.h"

static const struct str WELL_KNOWN = {"/.well-known/oauth-authorization-server", 39};

bool metadata_is_at(const struct api *api, struct str path)
{
    if (!str_starts_with(path, WELL_KNOWN))
        return false;
    struct str rest = str_make(path.p + WELL_KNOWN.len, path.len - WELL_KNOWN.len);
    return rest.len == 0 || str_eq(rest, api->base_paths[0]);
}

static void list(struct buf *b, struct str name, const char *const *items)
{
    json_key(b, name);
    json_open(b, '[');
    for (; *items; items++)
        json_str(b, str_from_cstr(*items));
    json_close(b, ']');
}

static void endpoint(struct request *r, struct str name, const char *path)
{
    struct str base = call_of(r)->api->base_url;
    json_key(&r->res.body, name);
    json_str(&r->res.body, arena_printf(&r->arena, "%.*s%s", (int)base.len, base.p, path));
}

enum next metadata_answer(struct request *r)
{
    static const char *const code[] = {"code", NULL}, *const query[] = {"query", NULL},
                             *const grants[] = {"authorization_code", NULL}, *const scopes[] = {"read", NULL},
                             *const methods[] = {"S256", NULL},
                             *const clients[] = {"none", "client_secret_basic", "client_secret_post", NULL};
    struct buf *b = &r->res.body;
    r->res.status = 200;
    r->res.content_type = STR("application/json; charset=utf-8");
    json_open(b, '{');
    JSON_STR(b, "issuer", call_of(r)->api->base_url);
    endpoint(r, STR("authorization_endpoint"), "/oauth/authorize");
    endpoint(r, STR("token_endpoint"), "/oauth/token");
    endpoint(r, STR("revocation_endpoint"), "/oauth/revoke");
    list(b, STR("scopes_supported"), scopes);
    list(b, STR("response_types_supported"), code);
    list(b, STR("response_modes_supported"), query);
    list(b, STR("grant_types_supported"), grants);
    list(b, STR("token_endpoint_auth_methods_supported"), clients);
    list(b, STR("revocation_endpoint_auth_methods_supported"), clients);
    list(b, STR("code_challenge_methods_supported"), methods);
    JSON_BOOL(b, "authorization_response_iss_parameter_supported", true);
    json_close(b, '}');
    return NEXT_DONE;
}
