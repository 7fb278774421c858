/* Token endpoints as RFC 6749, section 5 has them, which TikTok, Google and Pinterest follow more or less. */
#ifndef VT_PLATFORMS_GRANT_H
#define VT_PLATFORMS_GRANT_H

#include "platforms/jsonr.h"
#include "platforms/response_reader.h"

/* Can stand in a header: visible ASCII, 1 to 4096 characters. */
bool grant_token_is_plain(struct str token);

/* Takes access_token, refresh_token, expires_in, scope and `refresh_life` (a member's name; NULL: none is
 * given) into `got`, which is emptied first. False: no access token, or a token that cannot stand in a
 * header. */
bool grant_parse(struct yyjson_val *root, const char *refresh_life, struct token_grant *got);

/* The errors of RFC 6749, 5.2 and those that the platforms documents beside them. */
extern const struct error_row grant_errors[];

/* An answer that is no grant: `error` as a string, or, since TikTok's host uses both, as an object with a
 * `code`. */
struct outcome grant_parse_error(struct arena *a, struct yyjson_val *root, const struct http_response *r);

/* Whether `scopes`, separated by spaces or commas, hold `scope`. True as well if they are empty: then the
 * platform did not report them. */
bool grant_has_scope(struct str scopes, struct str scope);

/* A name for people: without control characters, cut to what fits. p == NULL: there is none. In the arena. */
struct str grant_display_name(struct arena *a, struct str name);

/* A request that posts these fields as a form, with no headers yet. */
struct url_field;
void request_set_form(struct arena *a, const char *origin, struct str path, const struct url_field *fields,
                      size_t count, struct http_request *out);

/* `Authorization: Bearer …` as the next header. */
void request_add_bearer(struct arena *a, struct http_request *out, struct str token);
void request_add_header(struct http_request *out, struct str name, struct str value);

#endif
