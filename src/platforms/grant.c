/* Parses token responses and their errors. */
#include "platforms/grant.h"

#include "base/check.h"
#include "base/urlencode.h"

enum { TOKEN_MAX = 4096, LIFE_MAX_S = 10 * 366 * 86400, NAME_MAX_LEN = 200 };

const struct error_row grant_errors[] = {
    {"invalid_grant", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0}, /* revoked, expired or already used */
    {"access_denied", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},
    {"invalid_client", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"unauthorized_client", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"deleted_client", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},  /* Google [K] */
    {"disabled_client", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0}, /* Google [K] */
    {"invalid_scope", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},
    {"redirect_uri_mismatch", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0}, /* Google [K] */
    {"invalid_request", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"unsupported_grant_type", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},
    {"unsupported_response_type", 0, OUTCOME_BAD_REQUEST, SCOPE_APP,
     0}, /* from the consent page; TikTok documents it for the token endpoint, too */
    {"server_error", 0, OUTCOME_RETRY, SCOPE_CALL, 0},
    {"temporarily_unavailable", 0, OUTCOME_RETRY, SCOPE_CALL, 0},
    {0},
};

bool grant_token_fits_header(struct str token)
{
    for (size_t i = 0; i < token.len; i++)
        if (token.p[i] <= ' ' || token.p[i] > '~')
            return false;
    return token.len > 0 && token.len <= TOKEN_MAX;
}

static int64_t read_lifetime(struct yyjson_val *v)
{
    int64_t seconds = jsonr_count(v); /* a number, or a string with a number */
    return seconds > 0 && seconds < LIFE_MAX_S ? seconds : 0;
}

bool grant_parse(struct yyjson_val *root, const char *refresh_life, struct token_grant *got)
{
    *got = (struct token_grant){
        .access_token = jsonr_text(jsonr_get(root, "access_token")),
        .refresh_token = jsonr_text(jsonr_get(root, "refresh_token")),
        .scopes = jsonr_text(jsonr_get(root, "scope")),
        .expires_in_s = read_lifetime(jsonr_get(root, "expires_in")),
        .refresh_expires_in_s = refresh_life ? read_lifetime(jsonr_get(root, refresh_life)) : 0,
    };
    return grant_token_fits_header(got->access_token) &&
           (got->refresh_token.len == 0 || grant_token_fits_header(got->refresh_token));
}

struct outcome grant_parse_error(struct arena *a, struct yyjson_val *root, const struct http_response *r)
{
    struct yyjson_val *error = jsonr_get(root, "error");
    struct str code = jsonr_text(error);
    if (!code.p)
        code = jsonr_text(jsonr_get(error, "code"));
    /* Without an error code, a 401 or 403 does not show that the author's account is at fault. */
    const struct error_row *row = code.p ? error_row_find(grant_errors, code, r->status) : NULL;
    struct outcome o = row ? outcome_from_error(a, grant_errors, code, r, 0) : outcome_unreadable(a, r, 0);
    if (code.p)
        o.code = outcome_clean_code(a, code);
    return o;
}

bool grant_has_scope(struct str scopes, struct str scope)
{
    struct str rest = scopes;
    if (rest.len == 0)
        return true;
    while (rest.p) {
        struct str part, word;
        rest = str_cut(rest, ',', &part);
        while (part.p) {
            part = str_cut(part, ' ', &word);
            if (str_eq(word, scope))
                return true;
        }
    }
    return false;
}

struct str grant_display_name(struct arena *a, struct str name)
{
    char *p = arena_alloc(a, NAME_MAX_LEN + 1);
    size_t n = 0, step;
    for (size_t i = 0; i < name.len; i += step) {
        step = str_utf8_sequence(name.p + i, name.len - i);
        if (step == 0 || n + step > NAME_MAX_LEN)
            break;
        if ((unsigned char)name.p[i] < ' ' || name.p[i] == 0x7F)
            continue;
        memcpy(p + n, name.p + i, step);
        n += step;
    }
    return n ? str_make(p, n) : (struct str){NULL, 0};
}

void request_add_header(struct http_request *out, struct str name, struct str value)
{
    CHECK(out->header_count < HTTP_REQUEST_HEADERS_MAX);
    out->headers[out->header_count++] = (struct http_header){name, value};
}

void request_set_form(struct arena *a, const char *origin, struct str path, const struct url_field *fields,
                      size_t count, struct http_request *out)
{
    *out = (struct http_request){.origin = origin, .method = "POST", .path = path};
    out->content_type = STR("application/x-www-form-urlencoded");
    out->body = url_with_fields(a, STR(""), fields, count);
}

void request_add_bearer(struct arena *a, struct http_request *out, struct str token)
{
    char *p = arena_alloc(a, token.len + 8);
    memcpy(p, "Bearer ", 7);
    if (token.len)
        memcpy(p + 7, token.p, token.len);
    request_add_header(out, STR("Authorization"), str_make(p, token.len + 7));
}
