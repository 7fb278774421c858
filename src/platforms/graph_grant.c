/* Parses the responses of Meta's token endpoints. */
#include "platforms/grant.h"
#include "platforms/graph.h"
#include "platforms/response_reader.h"

/* Returns the outcome of an error of api.instagram.com:
 * {"error_type":"OAuthException","code":400,"error_message":"Invalid platform app"} [P]. The code is the HTTP
 * status; only the message shows whether our app or the authorization code is wrong. */
static struct outcome instagram_error(struct str message)
{
    static const char *const app_words[] = {"platform app", "client_secret", "client secret",
                                            "client_id",    "redirect_uri",  "redirect uri"};
    for (size_t i = 0; i < sizeof app_words / sizeof app_words[0]; i++)
        if (graph_contains_nocase(message, str_from_cstr(app_words[i])))
            return outcome_make(OUTCOME_APP_REJECTED, SCOPE_APP, STR("app"));
    return outcome_make(OUTCOME_RECONNECT, SCOPE_ACCOUNT, STR("code"));
}

struct outcome graph_parse_grant_error(struct arena *a, const struct http_response *response,
                                       struct yyjson_val *root)
{
    struct graph_response g;
    struct str message = jsonr_text(jsonr_get(root, "error_message"));
    if (message.p && response->status < 500 && response->status != 429)
        return instagram_error(message);
    if (!graph_response_open(&g, a, NULL, response, false, 0))
        return graph_response_outcome(&g);
    struct graph_result part = graph_response_next(&g);
    if (part.kind == GRAPH_OK)
        graph_set_malformed(&g, "grant");
    const struct outcome o = graph_response_outcome(&g);
    /* Errors about permissions or posts have no meaning at a token endpoint: never apply them to the
     * account. */
    if (part.kind == GRAPH_DENIED || o.kind == OUTCOME_OK)
        return outcome_make(OUTCOME_BAD_REQUEST, SCOPE_CALL, o.code.p ? o.code : STR("100"));
    return o;
}

struct outcome graph_parse_grant(struct arena *a, const struct http_response *response,
                                 struct token_grant *got)
{
    struct yyjson_val *root = jsonr_parse(a, response->body);
    if (response->status == 200 && !jsonr_get(root, "error") && grant_parse(root, NULL, got))
        return outcome_make(OUTCOME_OK, SCOPE_CALL, STR("ok"));
    *got = (struct token_grant){0};
    return graph_parse_grant_error(a, response, root);
}
