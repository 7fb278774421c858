/* Runs the checks before each page. */
#include "web/page_checks.h"

#include "auth/login.h"
#include "auth/session.h"
#include "base/log.h"
#include "base/urlencode.h"
#include "limit/window.h"
#include "web/cookies.h"
#include "web/form_token.h"
#include "web/page.h"

enum { LOCAL_MAX_BYTES = 4000, ENCODED_MAX_BYTES = 6000 };

/* ---- checking submitted forms ---- */

static enum next reject_form(struct request *r)
{
    return page_error(
        r, 403,
        "This form did not come from a page of this site, your browser sent no cookie, or you have signed in "
        "or out since the page was opened. Go back, reload the page and try again. Nothing was changed.");
}

/* Applies the rate limit of forms. This is the last check, so that a form that another check rejects does not
 * count: otherwise another site could use up an author's limit. Forms of browsers that are not signed in have
 * no such limit: the sign-in form is limited by failed attempts, and an invitation needs a secret. */
static enum next admit_form(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (page->viewer.author_row) {
        struct limit_verdict verdict =
            windows_acquire(page->web->form_windows, page->viewer.author_row, clock_mono_ms());
        if (!verdict.admitted)
            return page_too_many_forms(r, verdict.reset_ms);
    }
    r->step = r->route->start;
    return NEXT_MORE;
}

static enum next check_form(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (!form_origin_is_valid(r))
        return reject_form(r);
    if (!request_has_form_body(r))
        return page_error(r, 400, "This address accepts only form submissions.");
    struct error error;
    if (form_parse(&r->arena, r->body, &page->form, &error))
        return page_error(r, 400, "The form %s.", error.text);
    if (!form_token_is_valid(r))
        return reject_form(r);
    return admit_form(r);
}

/* ---- sign-in redirects ---- */

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

/* After the sign-in, the browser requests the URL of this request again. But if this request is a POST, its
 * form is lost, so the browser requests the start page instead, unless the page has the flag
 * WEB_OWN_QUERY. */
enum next web_redirect_to_sign_in(struct request *r)
{
    struct str here = r->query.p ? arena_printf(&r->arena, "%.*s?%.*s", (int)r->path.len, r->path.p,
                                                (int)r->query.len, r->query.p)
                                 : r->path;
    struct buf encoded;
    struct str next = STR("");
    buf_init(&encoded, ENCODED_MAX_BYTES);
    url_append_encoded(&encoded, here);
    bool has_form = r->method == METHOD_POST && !(r->route->flags & WEB_OWN_QUERY);
    if (!has_form && web_path_is_local(here) && !encoded.failed)
        next = arena_printf(&r->arena, "?next=%.*s", (int)encoded.len, encoded.p);
    buf_fini(&encoded);
    return page_redirect(r, arena_printf(&r->arena, "/sign-in%.*s", (int)next.len, next.p));
}

/* ---- pages with and without a session ---- */

static enum next begin_page(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (!r->route)
        return page_not_found(r);
    if (!page->viewer.author_row && !(r->route->flags & WEB_OPEN))
        return web_redirect_to_sign_in(r);
    struct error error;
    if (!(r->route->flags & WEB_OWN_QUERY) &&
        form_parse(&r->arena, r->query.p ? r->query : STR(""), &page->query, &error))
        return page_error(r, 400, "The address %s.", error.text);
    if (r->method == METHOD_POST)
        return check_form(r);
    r->step = r->route->start;
    return NEXT_MORE;
}

static enum next begin_without_session(struct request *r)
{
    form_token_load_secret(r);
    return begin_page(r);
}

/* ---- looking up the session ---- */

static enum next session_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (page->read.err && page->read.err != ERR_NOT_FOUND)
        return page_store_error(r, page->read.err);
    if (page->read.err)
        return begin_without_session(r);
    if (!session_is_live(&page->session, expiry_now_ms())) {
        /* Delete the session only if it has expired according to the expiry floor, because the wall clock may
         * be wrong. */
        if (session_has_expired(&page->session, expiry_floor_ms()))
            session_delete_expired(page->web->sessions, page->session_hash);
        return begin_without_session(r);
    }
    page->viewer = page->session.viewer;
    r->author_id = &page->viewer.id;
    page->has_secret = true;
    session_record_use(page->web->sessions, page->session_hash, &page->session);
    return begin_page(r);
}

static enum next find_session(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (!secret_parse(session_cookie_find(r), &page->secret))
        return begin_without_session(r);
    secret_hash(&page->secret, page->session_hash);
    r->step = session_step;
    return store_find_session(&page->read, &r->arena, page->session_hash, &page->session);
}

/* ---- sign-in by a proxy ---- */

static enum next proxy_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (page->read.err == ERR_NOT_FOUND)
        return page_error(r, 403,
                          "Your organization signed you in, but no author here has that name. Please ask the "
                          "people who run "
                          "this service.");
    if (page->read.err)
        return page_store_error(r, page->read.err);
    page->by_proxy = true;
    r->author_id = &page->viewer.id;
    return begin_without_session(r);
}

/* Returns true if the request has the field [account] auth_header and the peer is a trusted proxy. Any client
 * could send the field, so it is ignored if it comes from another peer. */
static bool is_from_proxy(struct request *r)
{
    struct web *web = page_context_of(r)->web;
    if (!r->field[FIELD_EXTRA].len)
        return false;
    if (!r->peer_is_trusted && !web->warned_of_untrusted_header) {
        log_warn("ignoring %s from %.*s, which is not in [server] trusted_proxies (logged once)",
                 web->config->account.auth_header, (int)r->client_address.len, r->client_address.p);
        web->warned_of_untrusted_header = true;
    }
    return r->peer_is_trusted;
}

static enum next find_viewer(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct str name = r->field[FIELD_EXTRA], login;
    struct uuid id;
    if (!is_from_proxy(r))
        return find_session(r);
    page->read.err = ERR_NOT_FOUND;
    r->step = proxy_step;
    if (r->field_count[FIELD_EXTRA] != 1)
        return NEXT_MORE;
    if (uuid_parse(name, &id))
        return store_find_viewer(&page->read, &r->arena, &id, &page->viewer);
    login = login_normalize(&r->arena, name);
    return login.p ? store_find_login(&page->read, &r->arena, login, &page->viewer) : NEXT_MORE;
}

/* ---- first and last step of a request ---- */

static void begin_context(struct request *r)
{
    struct web *web = r->app->ctx;
    struct page_context *page = arena_alloc(&r->arena, sizeof *page);
    page->web = web;
    page->read = (struct store_read){.store = web->store, .wait = &r->wait};
    r->state = page;
}

enum next page_checks_start_step(struct request *r)
{
    begin_context(r);
    return r->route->flags & WEB_STATIC ? begin_page(r) : find_viewer(r);
}

/* Finds the viewer even for a 404, so that the error page shows the navigation. */
enum next page_checks_no_route_step(struct request *r)
{
    begin_context(r);
    if (r->res.status == 405)
        return page_error(r, 405, "This page does not support that request method.");
    return find_viewer(r);
}

void page_checks_finish(struct request *r)
{
    struct page_context *page = page_context_of(r);
    form_token_save_secret(r);
    if (page)
        r->times.database_us = page->read.total_us;
    for (size_t i = 0; page && i < page->cookie_count; i++)
        response_add_field(r, STR("Set-Cookie"), page->cookies[i]);
    page_add_fields(r);
}
