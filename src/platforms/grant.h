/* Token endpoints as of RFC 6749, section 5, which TikTok, Google and Pinterest follow approximately. */
#ifndef VT_PLATFORMS_GRANT_H
#define VT_PLATFORMS_GRANT_H

#include "platforms/jsonr.h"
#include "platforms/response_reader.h"

/* Whether the token may be used in a header: 1 to 4096 visible ASCII characters. */
bool grant_token_is_plain(struct str token);

/* Parses access_token, refresh_token, expires_in, scope and the member `refresh_life` (NULL: none). False
 * if there is no access token, or a token is not plain. */
bool grant_parse(struct yyjson_val *root, const char *refresh_life, struct token_grant *got);

/* The errors of RFC 6749, 5.2, and those that the platforms document in addition. */
extern const struct error_row grant_errors[];

/* The outcome of an error response: `error` is a string or, since TikTok uses both, an object with `code`. */
struct outcome grant_parse_error(struct arena *a, struct yyjson_val *root, const struct http_response *r);

/* Whether `scopes`, separated by spaces or commas, contain `scope`. True also if they are empty, because
 * then the platform did not report them. */
bool grant_has_scope(struct str scopes, struct str scope);

/* A name for people, without control characters and truncated to fit, in the arena. p == NULL: empty. */
struct str grant_display_name(struct arena *a, struct str name);

/* Makes `out` a POST of the fields as a form. */
struct url_field;
void request_set_form(struct arena *a, const char *origin, struct str path, const struct url_field *fields,
                      size_t count, struct http_request *out);

/* Adds `Authorization: Bearer …`. */
void request_add_bearer(struct arena *a, struct http_request *out, struct str token);
void request_add_header(struct http_request *out, struct str name, struct str value);

#endif
