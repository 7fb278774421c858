/* Functions shared by the page that begins a linking and the callback that completes it. */
#ifndef VT_WEB_LINKING_REQUEST_H
#define VT_WEB_LINKING_REQUEST_H

#include "web/linking.h"
#include "web/web.h"

/* Returns true if the API is configured and authors can begin a linking with it (platform_desc.links). */
bool linking_is_offered(const struct config *config, enum platform_api api);

/* Returns the linking key of the current author and session. Precondition: page_context->has_secret. */
struct linking_key linking_key_make(struct request *r, enum platform_api api, const struct secret *state);

/* Returns the URL to which the platform redirects the browser: base_url without /v1, followed by
 * /platforms/callback/NAME. Allocated in the request's arena. */
struct str linking_redirect_uri(struct request *r, const struct platform_desc *desc);

/* Returns the CSP sources to which a form that begins a linking may redirect, for page_context->form_target.
 */
struct str linking_form_action_sources(struct arena *a, const struct config *config);

#endif
