/* Authorization requests. */
#include "oauth/authorize.h"

#include "oauth/codes.h"
#include "oauth/redirect.h"

static const char *const names[] = {"client_id", "redirect_uri", "response_type",  "response_mode",
                                    "scope",     "state",        "code_challenge", "code_challenge_method",
                                    NULL};
enum { CLIENT_ID, REDIRECT_URI, RESPONSE_TYPE, RESPONSE_MODE, SCOPE, STATE, CHALLENGE, CHALLENGE_METHOD };

const char *authorize_read(struct authorize_request *q, struct arena *a, struct str query)
{
    if (query.len > AUTHORIZE_QUERY_MAX)
        return "The app's request is longer than 3,500 bytes.";
    if (!fields_read_form(&q->fields, a, names, query.p ? query : STR("")))
        return "The app's request contains an invalid percent escape.";
    if (q->fields.repeated[CLIENT_ID])
        return "The app's request contains client_id more than once.";
    q->client_id = q->fields.values[CLIENT_ID];
    if (!q->client_id.p)
        return "The app's request lacks client_id, which identifies the app.";
    return NULL;
}

const char *authorize_check_redirect(struct authorize_request *q, const struct app_lookup *app)
{
    struct str given = q->fields.values[REDIRECT_URI];
    if (!app || app->app.removed_at != TIME_NONE)
        return "No app with this client_id is registered here.";
    if (q->fields.repeated[REDIRECT_URI])
        return "The app's request contains redirect_uri more than once.";
    if (!given.p)
        return "The app's request lacks redirect_uri, the address to return to.";
    for (size_t i = 0; i < app->redirect_count; i++)
        if (redirect_matches(app->redirects[i], given)) {
            q->redirect_uri = given;
            return NULL;
        }
    return "The redirect_uri is not one of the addresses that the app has registered.";
}

static const char *check_state(struct authorize_request *q)
{
    struct str state = q->fields.values[STATE];
    if (q->fields.repeated[STATE])
        return "state is given more than once";
    if (state.len > AUTHORIZE_STATE_MAX)
        return "state is longer than 2048 bytes";
    q->state = state;
    return NULL;
}

static const char *check_challenge(struct authorize_request *q)
{
    const struct str *v = q->fields.values;
    if (!v[CHALLENGE].p)
        return "code_challenge is missing (PKCE is required)";
    if (!v[CHALLENGE_METHOD].p || !str_eq(v[CHALLENGE_METHOD], STR("S256")))
        return "code_challenge_method must be S256";
    if (!pkce_is_challenge(v[CHALLENGE]))
        return "code_challenge must be 43 characters of base64url";
    q->challenge = v[CHALLENGE];
    return NULL;
}

const char *authorize_check_parameters(struct authorize_request *q, const char **description)
{
    const struct str *v = q->fields.values;
    *description = check_state(q);
    if (*description)
        return "invalid_request";
    *description = "a parameter is given more than once";
    if (fields_find_repeated(&q->fields))
        return "invalid_request";
    *description = "response_type is missing";
    if (!v[RESPONSE_TYPE].p)
        return "invalid_request";
    *description = "response_type must be code";
    if (!str_eq(v[RESPONSE_TYPE], STR("code")))
        return "unsupported_response_type";
    *description = "response_mode must be query";
    if (v[RESPONSE_MODE].p && !str_eq(v[RESPONSE_MODE], STR("query")))
        return "invalid_request";
    *description = "scope must be read";
    if (v[SCOPE].p && !str_eq(v[SCOPE], STR("read")))
        return "invalid_scope";
    *description = check_challenge(q);
    return *description ? "invalid_request" : NULL;
}

struct str authorize_code_uri(struct arena *a, const struct authorize_request *q, struct str iss,
                              struct str code)
{
    const struct redirect_param params[] = {{"code", code}, {"state", q->state}, {"iss", iss}};
    return redirect_add_parameters(a, q->redirect_uri, params, 3);
}

struct str authorize_error_uri(struct arena *a, const struct authorize_request *q, struct str iss,
                               const char *error, const char *description)
{
    /* The URL of the guide begins with the issuer, which is base_url. */
    const struct str page = arena_printf(a, "%.*s/docs/connect#%s", (int)iss.len, iss.p ? iss.p : "", error);
    const struct redirect_param params[] = {{"error", str_from_cstr(error)},
                                            {"error_description", str_from_cstr(description)},
                                            {"error_uri", page},
                                            {"state", q->state},
                                            {"iss", iss}};
    return redirect_add_parameters(a, q->redirect_uri, params, 5);
}
