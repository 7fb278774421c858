/* The routes of all pages, and the state that the pages share (struct web). */
#include "web/web.h"

#include "auth/password.h"
#include "auth/session.h"
#include "auth/sign_in_limiter.h"
#include "base/check.h"
#include "base/log.h"
#include "vault/token_vault.h"
#include "net/http_client.h"
#include "limit/window.h"
#include "web/page.h"
#include "web/page_checks.h"
#include "web/assets.h"
#include "web/export_job.h"
#include "web/summary.h"
#include "store/writer.h"

const struct route *const web_api_routes[] = {&consent_page, NULL};
const struct route *const web_routes[] = {
    /* sign-in and account */
    &home_page,
    &sign_in_page,
    &sign_out_page,
    &invite_page,
    &account_page,
    &account_password_page,
    &account_sign_out_page,
    &account_export_page,
    /* dashboard */
    &style_page,
    &dashboard_page,
    &videos_page,
    &video_page,
    /* keys and apps */
    &keys_page,
    &key_page,
    &apps_page,
    &app_page,
    &script_page,
    /* webhooks */
    &webhooks_page,
    &webhook_page,
    /* platforms */
    &platforms_page,
    &platform_account_page,
    &platform_callback_page,
    NULL,
};

static bool has_platforms(const struct config *config)
{
    for (int api = 0; api < PLATFORM_APIS; api++)
        if (platform_is_configured(config, (enum platform_api)api))
            return true;
    return false;
}

void web_init(struct web *web, const struct config *config, uv_loop_t *loop, struct store *store,
              struct writer *writer, struct poll_positions *positions)
{
    struct str url = str_from_cstr(config->server.base_url);
    struct str rest = url, head;
    for (int slashes = 0; slashes < 3; slashes++)
        rest = str_cut(rest, '/', &head);
    CHECK(rest.p && rest.len >= 2); /* base_url ends in /v1 */
    struct str path = str_make(rest.p - 1, rest.len + 1);
    *web = (struct web){
        .http = {.ctx = web,
                 .start = page_checks_start_step,
                 .no_route = page_checks_no_route_step,
                 .reject = page_reject,
                 .finish = page_checks_finish},
        .config = config,
        .store = store,
        .writer = writer,
        .sessions = session_recorder_new(writer),
        .summaries = summary_cache_new(),
        .passwords = passwords_new(loop),
        .exports = exports_new(loop, config),
        .sign_in_limiter = sign_in_limiter_new(),
        .form_windows = windows_new(WEB_FORMS_PER_MINUTE),
        .positions = positions,
        .base = str_make(path.p, path.len - 3),
        .origin = str_make(url.p, (size_t)(path.p - url.p)),
        .secure = str_starts_with(url, STR("https:")),
    };
    assets_compute_versions(web->style_version, web->script_version);
    if (has_platforms(config)) {
        const struct http_client_options options = platform_client_options(config);
        web->client = http_client_new(loop, &options);
        if (!web->client)
            log_error(
                "out of memory: accounts cannot be connected on the pages until the server is restarted");
    }
}

static void on_client_closed(void *ctx)
{
    (void)ctx;
}

void web_close(struct web *web)
{
    if (web->client)
        http_client_close(web->client, on_client_closed, NULL);
    web->client = NULL;
}

void web_fini(struct web *web)
{
    session_recorder_free(web->sessions);
    summary_cache_free(web->summaries);
    passwords_free(web->passwords);
    exports_free(web->exports);
    sign_in_limiter_free(web->sign_in_limiter);
    windows_free(web->form_windows);
    *web = (struct web){.config = NULL};
}
