/* The list of pages and the checks before each. Knows no page from inside. */
#include "web/site.h"

#include "auth/login.h"
#include "auth/password.h"
#include "auth/session.h"
#include "auth/sign_in_limiter.h"
#include "base/check.h"
#include "base/log.h"
#include "base/urlencode.h"
#include "vault/token_vault.h"
#include "net/http_client.h"
#include "limit/window.h"
#include "web/page.h"
#include "web/assets.h"
#include "web/summary.h"
#include "store/writer.h"

enum { LOCAL_MAX_BYTES = 4000, ENCODED_MAX_BYTES = 6000 };

static const struct str SESSION_COOKIE = {"viewtally-session", 17};
static const struct str FORM_COOKIE = {"viewtally-form", 14};

const struct route *const web_api_routes[] = {&consent_page, NULL};
const struct route *const web_routes[] = {
    /* sign-in */
    &home_page,
    &sign_in_page,
    &sign_out_page,
    &invite_page,
    &account_page,
    &account_password_page,
    &account_sign_out_page,
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
    /* platforms */
    &platforms_page,
    &platform_account_page,
    &platform_callback_page,
    NULL,
};

/* ---- the site ---- */

static enum next start_step(struct request *r);
static enum next no_route_step(struct request *r);
static void finish(struct request *r);

static bool has_platforms(const struct config *config)
{
    bool has = false;
    for (int api = 0; api < PLATFORM_APIS; api++)
        has = has || platform_is_configured(config, (enum platform_api)api);
    return has;
}

void site_init(struct site *site, const struct config *config, uv_loop_t *loop, struct store *store,
               struct writer *writer, struct poll_positions *cursors)
{
    struct str url = str_from_cstr(config->server.base_url);
    struct str rest = url, head;
    for (int slashes = 0; slashes < 3; slashes++)
        rest = str_cut(rest, '/', &head);
    CHECK(rest.p && rest.len >= 2); /* base_url ends in /v1 */
    struct str path = str_make(rest.p - 1, rest.len + 1);
    *site = (struct site){
        .http = {.ctx = site,
                 .start = start_step,
                 .no_route = no_route_step,
                 .reject = page_refusal,
                 .finish = finish},
        .config = config,
        .store = store,
        .writer = writer,
        .notes = session_recorder_new(writer),
        .summaries = summary_cache_new(),
        .passwords = passwords_new(loop),
        .sign_in_limiter = sign_in_limiter_new(),
        .writes = windows_new(WEB_FORMS_PER_MINUTE),
        .cursors = cursors,
        .base = str_make(path.p, path.len - 3),
        .api_base = path,
        .origin = str_make(url.p, (size_t)(path.p - url.p)),
        .secure = str_starts_with(url, STR("https:")),
    };
    assets_compute_versions(site->style_version, site->script_version);
    if (has_platforms(config)) {
        const struct http_client_options options = platform_client_options(config);
        site->client = http_client_new(loop, &options);
        if (!site->client)
            log_error("out of memory: the pages cannot connect accounts at platforms until a restart");
    }
}

static void on_fetch_closed(void *ctx)
{
    (void)ctx;
}

void site_close(struct site *site)
{
    if (site->client)
        http_client_close(site->client, on_fetch_closed, NULL);
    site->client = NULL;
}

void site_fini(struct site *site)
{
    session_recorder_free(site->notes);
    summary_cache_free(site->summaries);
    passwords_free(site->passwords);
    sign_in_limiter_free(site->sign_in_limiter);
    windows_free(site->writes);
    *site = (struct site){.config = NULL};
}

/* ---- cookies ---- */

static struct str cookie_name(struct request *r, struct str name)
{
    return arena_printf(&r->arena, "%s%.*s", page_context_of(r)->site->secure ? "__Host-" : "", (int)name.len,
                        name.p);
}

struct str web_cookie_find(struct request *r, struct str name)
{
    return cookie_find(r->field[FIELD_COOKIE], cookie_name(r, name));
}

void web_cookie_set(struct request *r, struct str name, struct str value, int64_t max_age_s)
{
    struct page_context *page = page_context_of(r);
    struct str full = cookie_name(r, name), age = STR("");
    if (max_age_s >= 0)
        age = arena_printf(&r->arena, "; Max-Age=%lld", (long long)max_age_s);
    CHECK(page->cookie_count < sizeof page->cookies / sizeof page->cookies[0]);
    page->cookies[page->cookie_count++] = arena_printf(
        &r->arena, "%.*s=%.*s; Path=/; HttpOnly; SameSite=Lax%s%.*s", (int)full.len, full.p, (int)value.len,
        value.p ? value.p : "", page->site->secure ? "; Secure" : "", (int)age.len, age.p);
}

void session_cookie_set(struct request *r, const struct secret *session)
{
    web_cookie_set(r, SESSION_COOKIE, secret_format(&r->arena, session), SESSION_LIFE_MS / SECOND_MS);
}

void session_cookie_clear(struct request *r)
{
    web_cookie_set(r, SESSION_COOKIE, STR(""), 0);
}

/* ---- form tokens ---- */

/* Who is signed in by the proxy has a form secret as those have who are not signed in; it is bound to who it
 * is, so that a form of one is not sent in the name of another. */
static struct str bound_to(const struct page_context *page)
{
    return page->viewer.author_row ? str_make((const char *)page->viewer.id.b, sizeof page->viewer.id.b)
                                   : STR("");
}

struct str web_form_token(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (!page->has_secret) {
        secret_generate(&page->secret);
        page->has_secret = page->new_secret = true;
    }
    return secret_form_token(&r->arena, &page->secret, bound_to(page));
}

static bool is_our_origin(const struct page_context *page, const struct request *r, struct str origin)
{
    struct str rest = origin, scheme, host = r->field[FIELD_HOST];
    if (str_eq_nocase(origin, page->site->origin))
        return true;
    rest = str_cut(rest, ':', &scheme);
    return rest.len > 2 && host.len && str_starts_with(rest, STR("//")) &&
           str_eq_nocase(str_make(rest.p + 2, rest.len - 2), host);
}

/* Most likely [server] base_url is not what browsers use; or somebody tries a forgery. */
static void tell_of_origin(struct request *r, struct str origin)
{
    struct site *site = page_context_of(r)->site;
    if (site->told_of_origin)
        return;
    site->told_of_origin = true;
    log_warn(
        "a form came from %.*s and was refused: the pages are at %.*s, says [server] base_url (said once)",
        (int)origin.len, origin.p, (int)site->origin.len, site->origin.p);
}

/* What a browser says of where a form stood. One that says nothing is an old one, or none: the token decides.
 */
static bool comes_from_us(struct request *r)
{
    struct str site = r->field[FIELD_SEC_FETCH_SITE], origin = r->field[FIELD_ORIGIN];
    if (site.p && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none")))
        return false;
    bool ours = !origin.p || is_our_origin(page_context_of(r), r, origin);
    if (!ours && site.p)
        tell_of_origin(r, origin);
    return ours;
}

static enum next refuse_form(struct request *r)
{
    return page_error(
        r, 403,
        "This form was not sent from a page of this site, or the page was open for too long. Go "
        "back, load the page again and repeat it. Nothing was changed.");
}

/* The last check, so that a form that is refused for another reason does not count: another site must not be
 * able to use up an author's forms. Forms sent without being signed in are limited where they are handled:
 * the sign-in by failures, an invitation by its secret. */
static enum next admit_form(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (page->viewer.author_row) {
        struct limit_verdict verdict =
            windows_acquire(page->site->writes, page->viewer.author_row, clock_mono_ms());
        if (!verdict.admitted)
            return page_too_many_forms(r, verdict.reset_ms);
    }
    r->step = r->route->start;
    return NEXT_MORE;
}

static enum next check_form(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (!comes_from_us(r))
        return refuse_form(r);
    if (!form_is_body(r))
        return page_error(r, 400, "A form was expected.");
    const char *wrong = form_parse(&r->arena, r->body, &page->form);
    if (wrong)
        return page_error(r, 400, "The form %s.", wrong);
    if (!page->has_secret ||
        !secret_is_form_token(&page->secret, bound_to(page), form_get(&page->form, STR("token"))))
        return refuse_form(r);
    return admit_form(r);
}

/* ---- who it is ---- */

bool web_path_is_local(struct str path)
{
    if (!path.len || path.len > LOCAL_MAX_BYTES || path.p[0] != '/')
        return false;
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.p[i];
        if (c <= 0x20 || c >= 0x7F || c == '\\')
            return false;
    }
    return path.len == 1 || path.p[1] != '/';
}

/* Where to after the sign-in: here again. A POST has lost its form by then: there is nothing to come back to.
 */
enum next web_redirect_to_sign_in(struct request *r)
{
    struct str here = r->query.p ? arena_printf(&r->arena, "%.*s?%.*s", (int)r->path.len, r->path.p,
                                                (int)r->query.len, r->query.p)
                                 : r->path;
    struct buf encoded;
    struct str next = STR("");
    buf_init(&encoded, ENCODED_MAX_BYTES);
    url_append_encoded(&encoded, here);
    bool has_form = r->method == METHOD_POST && !(r->route->flags & SITE_OWN_QUERY);
    if (!has_form && web_path_is_local(here) && !encoded.failed)
        next = arena_printf(&r->arena, "?next=%.*s", (int)encoded.len, encoded.p);
    buf_fini(&encoded);
    return page_redirect(r, arena_printf(&r->arena, "/sign-in%.*s", (int)next.len, next.p));
}

static enum next begin_page(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (!r->route)
        return page_not_found(r);
    if (!page->viewer.author_row && !(r->route->flags & SITE_OPEN))
        return web_redirect_to_sign_in(r);
    const char *wrong = NULL;
    if (!(r->route->flags & SITE_OWN_QUERY))
        wrong = form_parse(&r->arena, r->query.p ? r->query : STR(""), &page->query);
    if (wrong)
        return page_error(r, 400, "The address %s.", wrong);
    if (r->method == METHOD_POST)
        return check_form(r);
    r->step = r->route->start;
    return NEXT_MORE;
}

static enum next begin_without_session(struct request *r)
{
    struct page_context *page = page_context_of(r);
    page->has_secret = secret_parse(web_cookie_find(r, FORM_COOKIE), &page->secret);
    return begin_page(r);
}

static enum next session_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (page->read.err && page->read.err != ERR_NOT_FOUND)
        return page_store_error(r, page->read.err);
    if (page->read.err)
        return begin_without_session(r);
    if (!session_is_live(&page->session, expiry_now_ms())) {
        /* A session that has expired only by a wall clock that may be wrong is kept. */
        if (!session_is_live(&page->session, expiry_floor_ms()))
            session_record_end(page->site->notes, page->session_hash);
        return begin_without_session(r);
    }
    page->viewer = page->session.viewer;
    r->author_id = &page->viewer.id;
    page->has_secret = true;
    session_record_use(page->site->notes, page->session_hash, &page->session);
    return begin_page(r);
}

static enum next find_session(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (!secret_parse(web_cookie_find(r, SESSION_COOKIE), &page->secret))
        return begin_without_session(r);
    secret_hash(&page->secret, page->session_hash);
    r->step = session_step;
    return store_find_session(&page->read, &r->arena, page->session_hash, &page->session);
}

/* ---- signed in by a proxy ---- */

static enum next proxy_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (page->read.err == ERR_NOT_FOUND)
        return page_error(
            r, 403,
            "Your organisation has signed you in, but under a name that no author here has. Ask "
            "whoever runs this service.");
    if (page->read.err)
        return page_store_error(r, page->read.err);
    page->by_proxy = true;
    r->author_id = &page->viewer.id;
    return begin_without_session(r);
}

/* A field that anybody could have sent says nothing. */
static bool is_from_proxy(struct request *r)
{
    struct site *site = page_context_of(r)->site;
    if (!r->field[FIELD_EXTRA].len)
        return false;
    if (!r->peer_is_trusted && !site->told_of_spoofing) {
        log_warn("%s came from %.*s, which is not one of trusted_proxies: it does not count (said once)",
                 site->config->account.auth_header, (int)r->client_address.len, r->client_address.p);
        site->told_of_spoofing = true;
    }
    return r->peer_is_trusted;
}

static enum next find_viewer(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct str said = r->field[FIELD_EXTRA], login;
    struct uuid id;
    if (!is_from_proxy(r))
        return find_session(r);
    page->read.err = ERR_NOT_FOUND;
    r->step = proxy_step;
    if (r->field_count[FIELD_EXTRA] != 1)
        return NEXT_MORE;
    if (uuid_parse(said, &id))
        return store_find_viewer(&page->read, &r->arena, &id, &page->viewer);
    login = login_normalize(&r->arena, said);
    return login.p ? store_find_login(&page->read, &r->arena, login, &page->viewer) : NEXT_MORE;
}

/* ---- the first step and the last ---- */

static struct page_context *begin_context(struct request *r)
{
    struct site *site = r->app->ctx;
    struct page_context *page = arena_alloc(&r->arena, sizeof *page);
    page->site = site;
    page->tail = r->path_parameter;
    page->read = (struct store_read){.store = site->store, .wait = &r->wait};
    r->state = page;
    return page;
}

static enum next start_step(struct request *r)
{
    (void)begin_context(r);
    return r->route->flags & SITE_STATIC ? begin_page(r) : find_viewer(r);
}

/* The page that says "not found" shows the navigation to a viewer who is signed in. */
static enum next no_route_step(struct request *r)
{
    (void)begin_context(r);
    if (r->res.status == 405)
        return page_error(r, 405, "This page cannot be asked for in this way.");
    return find_viewer(r);
}

static void finish(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (page && page->new_secret)
        web_cookie_set(r, FORM_COOKIE, secret_format(&r->arena, &page->secret), -1);
    for (size_t i = 0; page && i < page->cookie_count; i++)
        response_add_field(r, STR("Set-Cookie"), page->cookies[i]);
    page_add_fields(r);
}
