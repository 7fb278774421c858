/* Reads arbitrary bytes as an authorization request and a redirect address. Checks that an accepted
 * request redirects only to the registered address, and that the URL of the redirect has no byte that could
 * end a header field. */
#include "oauth/authorize.h"
#include "oauth/redirect.h"
#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_built(struct str registered, struct str given, struct str built)
{
    CHECK(redirect_matches(registered, given));
    CHECK(str_starts_with(built, given));
    for (size_t i = 0; i < built.len; i++)
        CHECK(built.p[i] > ' ' && built.p[i] < 0x7F);
}

/* The first line is the registered address; the rest is the query. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct str uri, query = str_cut(str_make((const char *)data, size), '\n', &uri);
    struct authorize_request q = {.state = {NULL, 0}};
    const char *description;
    if (redirect_check(uri))
        return 0;
    CHECK(redirect_origin(uri).len <= uri.len && redirect_display_name(uri).len <= uri.len);
    arena_init(&arena, 4096);
    struct app_lookup app = {.redirect_count = 1, .redirects = &uri, .app = {.removed_at = TIME_NONE}};
    if (!authorize_read(&q, &arena, query) && !authorize_check_redirect(&q, &app)) {
        const char *error = authorize_check_parameters(&q, &description);
        struct str iss = STR("https://stats.example/v1");
        check_built(uri, q.redirect_uri,
                    error ? authorize_error_uri(&arena, &q, iss, error, description)
                          : authorize_code_uri(&arena, &q, iss, STR("code")));
    }
    arena_fini(&arena);
    return 0;
}
