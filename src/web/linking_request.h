/* What the two ends of a linking, the page it begins on and the address it comes back to, have to agree on.
 */
#ifndef VT_WEB_LINKING_REQUEST_H
#define VT_WEB_LINKING_REQUEST_H

#include "web/linking.h"
#include "web/site.h"

/* The operator has an app there, and its linking begins there (and not with another API's). */
bool linking_is_offered(const struct config *config, enum platform_api api);

/* Who begins it or comes back, now; needs the session's secret (page_context->has_secret). */
struct linking_key linking_key_of(struct request *r, enum platform_api api, const struct secret *state);

/* Where the platform sends the browser: base_url without its /v1, + /platforms/callback/NAME. In the arena.
 */
struct str linking_redirect_uri(struct request *r, const struct platform_desc *desc);

/* For page_context->form_target. */
struct str linking_form_action_sources(struct arena *a, const struct config *config);

#endif
