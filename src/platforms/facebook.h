/* Linking of Facebook pages and of the Instagram accounts connected to them (facebook_link.c). */
#ifndef VT_PLATFORMS_FACEBOOK_H
#define VT_PLATFORMS_FACEBOOK_H

#include "platforms/platform.h"

extern const struct platform_permission facebook_permissions[], instagram_facebook_permissions[];

/* The functions of struct platform_desc for linking. The steps of linking:
 *
 *   1. exchange the authorization code for a token
 *   2. exchange this token for a long-lived one
 *   3. list the pages of /me/accounts with their Instagram accounts
 *   4. list the granted permissions
 *   5. if business_management was granted, list the pages of business portfolios,
 *      some of which /me/accounts omits */
struct str facebook_authorize_path(struct arena *a, const struct platform_authorize *authorize);
bool facebook_link_build(struct arena *a, const struct platform_link *link, struct http_request *out);
struct outcome facebook_link_parse(struct arena *a, struct platform_link *link,
                                   const struct http_response *response);

#endif
