/* Makes the keys, redirect URLs and CSP sources of linkings. */
#include "web/linking_request.h"

#include "base/expiry_floor.h"
#include "net/http_client.h"

bool linking_is_offered(const struct config *config, enum platform_api api)
{
    return platform_desc(api)->links && platform_is_configured(config, api);
}

/* Binds the linking to the session cookie of the browser. If a proxy has signed the author in, there is no
 * session, so binds the linking to the form cookie instead. */
struct linking_key linking_key_make(struct request *r, enum platform_api api, const struct secret *state)
{
    const struct page_context *page = page_context_of(r);
    struct linking_key key = {.config = page->web->config,
                              .author_row = page->viewer.author_row,
                              .now = expiry_now_ms(),
                              .api = api};
    secret_hash(state, key.state_hash);
    secret_derive(&page->secret, STR("linking"),
                  str_make((const char *)page->viewer.id.b, sizeof page->viewer.id.b), key.session_hash);
    return key;
}

struct str linking_redirect_uri(struct request *r, const struct platform_desc *desc)
{
    const struct web *web = page_context_of(r)->web;
    return arena_printf(&r->arena, "%.*s%.*s/platforms/callback/%s", (int)web->origin.len, web->origin.p,
                        (int)web->base.len, web->base.p, desc->name);
}

/* Allows every https host. Browsers apply the CSP directive `form-action` to every redirect after the form,
 * and platforms redirect to sign-in pages on further hosts, which they may change at any time. */
struct str linking_form_action_sources(struct arena *a, const struct config *config)
{
    struct str targets = STR("https:");
    for (int i = 0; i < PLATFORM_APIS; i++) {
        const char *origin = platform_options_of(config, (enum platform_api)i).origins[ORIGIN_CONSENT];
        if (linking_is_offered(config, (enum platform_api)i) && strncmp(origin, "https:", 6) != 0)
            targets = arena_printf(a, "%.*s %s", (int)targets.len, targets.p, origin);
    }
    return targets;
}
