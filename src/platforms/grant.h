/* Builds requests to token endpoints and parses their responses (RFC 6749, section 5). TikTok, Google and
 * Pinterest follow this standard approximately. */
#ifndef VT_PLATFORMS_GRANT_H
#define VT_PLATFORMS_GRANT_H

#include "platforms/jsonr.h"
#include "platforms/response_reader.h"

/* Returns true if the token can be sent in a header: 1 to 4096 visible ASCII characters. */
bool grant_token_fits_header(struct str token);

/* Parses access_token, refresh_token, expires_in and scope. `refresh_life` is the name of the member with the
 * lifetime of the refresh token (NULL: none). Returns false if there is no access token, or if a token cannot
 * be sent in a header. */
bool grant_parse(struct yyjson_val *root, const char *refresh_life, struct token_grant *got);

/* The errors of RFC 6749, sections 4.1.2.1 and 5.2, and further errors of Google. */
extern const struct error_row grant_errors[];

/* Returns the outcome of an error response. The member `error` of the response is a string, or an object with
 * the member `code`; TikTok sends both forms. */
struct outcome grant_parse_error(struct arena *a, struct yyjson_val *root, const struct http_response *r);

/* Returns true if `scopes`, separated by spaces or commas, contains `scope`. Also returns true if `scopes` is
 * empty, because then the platform did not report them. */
bool grant_has_scope(struct str scopes, struct str scope);

/* Returns the name for display, without control characters and truncated to fit, in the arena. `p` of the
 * result is NULL if the name is empty. */
struct str grant_display_name(struct arena *a, struct str name);

struct url_field;
/* Sets `*out` to a POST request whose body contains the fields as a URL-encoded form. */
void request_set_form(struct arena *a, const char *origin, struct str path, const struct url_field *fields,
                      size_t count, struct http_request *out);

/* Adds the header `Authorization: Bearer TOKEN`. */
void request_add_bearer(struct arena *a, struct http_request *out, struct str token);
/* Adds a header. */
void request_add_header(struct http_request *out, struct str name, struct str value);

#endif
