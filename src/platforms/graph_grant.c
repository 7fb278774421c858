/* Meta's token endpoints. Knows no step of a linking. */
#include "platforms/grant.h"
#include "platforms/graph.h"
#include "platforms/response_reader.h"

/* {"error_type":"OAuthException","code":400,"error_message":"Invalid platform app"}: api.instagram.com [P].
 * Its code is that of HTTP, so which of the two is wrong, the author's code or our app, only the words tell.
 */
static struct outcome own_error(struct str message)
{
    static const char *const ours[] = {"platform app", "client_secret", "client secret",
                                       "client_id",    "redirect_uri",  "redirect uri"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (graph_contains(message, str_from_cstr(ours[i])))
            return outcome_make(OUTCOME_APP_REJECTED, SCOPE_APP, STR("app"));
    return outcome_make(OUTCOME_RECONNECT, SCOPE_ACCOUNT, STR("code"));
}

/* Permissions and posts are no business of a token endpoint: what is told of them is not held against
 * anybody.
 */
static struct outcome without_blame(struct outcome o, struct graph_result part)
{
    if (part.kind == GRAPH_DENIED || o.kind == OUTCOME_OK)
        return outcome_make(OUTCOME_BAD_REQUEST, SCOPE_CALL, o.code.p ? o.code : STR("100"));
    return o;
}

struct outcome graph_parse_grant_error(struct arena *a, const struct http_response *response,
                                       struct yyjson_val *root)
{
    struct graph_response g;
    struct str message = jsonr_text(jsonr_get(root, "error_message"));
    if (message.p && response->status < 500 && response->status != 429)
        return own_error(message);
    if (!graph_response_open(&g, a, NULL, response, false, 0))
        return graph_response_outcome(&g);
    struct graph_result part = graph_response_next(&g);
    if (part.kind == GRAPH_OK)
        graph_set_malformed(&g, "grant");
    return without_blame(graph_response_outcome(&g), part);
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
