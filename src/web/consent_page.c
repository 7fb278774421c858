/* {base_url}/oauth/authorize: the consent page for an app that requests access (RFC 6749, 4.1). The query of
 * the URL is the authorization request. The form's action has the same query, so that the POST validates the
 * request again; the form adds only the author's decision. */
#include "oauth/authorize.h"
#include "oauth/codes.h"
#include "oauth/redirect.h"
#include "web/form_field.h"
#include "web/page.h"
#include "web/page_checks.h"
#include "store/webhooks.h"
#include "store/writer_call.h"

struct consent_write {
    int64_t author_row;
    size_t client_id_len, redirect_len, webhook_len;
    char webhook_url[WEBHOOK_URL_MAX]; /* webhook URL that the page has shown */
    char client_id[CLIENT_ID_MAX], redirect_uri[REDIRECT_MAX], challenge[PKCE_CHALLENGE_LEN];
    /* The result. */
    enum key_limit reached;
    int64_t now;
    struct key_text code;
};

struct consent {
    struct authorize_request request;
    struct app_lookup app;
    enum err result;
    struct consent_write write;
};

static struct consent *consent_of(const struct request *r)
{
    return page_context_of(r)->state;
}

static struct str issuer(const struct request *r)
{
    return str_from_cstr(page_context_of(r)->web->config->server.base_url);
}

/* Shows an error page instead of redirecting to the app, because the redirect address is not valid, or not
 * validated yet. */
static enum next reject(struct request *r, const char *why)
{
    return page_error(r, 400, "%s Nothing was connected. The developer of the app can fix this.", why);
}

/* Redirects with 303: after a 307, the browser would send the form to the app, too (RFC 9700, 4.12). */
static enum next redirect_to_app(struct request *r, struct str to)
{
    response_reset(r);
    r->res.status = 303;
    response_add_field(r, STR("Location"), to);
    return NEXT_DONE;
}

static enum next send_error(struct request *r, const char *error, const char *description)
{
    return redirect_to_app(
        r, authorize_error_uri(&r->arena, &consent_of(r)->request, issuer(r), error, description));
}

/* ---- the consent page ---- */

/* Returns the CSP source that allows the form to redirect to the app. Browsers apply the CSP directive
 * `form-action` to every redirect after the form, and the callback of an app may redirect to other hosts or
 * ports. So all of them are allowed. The source "http:" includes https. */
static struct str form_target(struct str uri)
{
    switch (redirect_kind_of(uri)) {
    case REDIRECT_WEB: return STR("https:");
    case REDIRECT_LOOPBACK: return STR("http:");
    case REDIRECT_PRIVATE: break;
    }
    return redirect_origin(uri);
}

static void write_destination(struct buf *b, struct str uri)
{
    struct str place = redirect_display_name(uri);
    switch (redirect_kind_of(uri)) {
    case REDIRECT_WEB: HTML(b, "the web site "); break;
    case REDIRECT_LOOPBACK: HTML(b, "a program on this computer, at "); break;
    case REDIRECT_PRIVATE: HTML(b, "an app on this device that opens "); break;
    }
    HTML(b, "<strong>");
    html_isolated_text(b, place);
    HTML(b, "</strong>");
}

static void write_facts(struct request *r)
{
    struct buf *b = &r->res.body;
    const struct consent *c = consent_of(r);
    HTML(b, "<dl class=\"facts\">");
    if (c->app.app.home_url.p && html_link_is_safe(c->app.app.home_url)) {
        HTML(b, "<dt>Home page</dt><dd><a rel=\"noreferrer\"");
        html_link(b, "href", c->app.app.home_url);
        HTML(b, ">");
        html_isolated_text(b, c->app.app.home_url);
        HTML(b, "</a></dd>");
    }
    HTML(b, "<dt>Your account</dt><dd>");
    html_isolated_text(b, page_context_of(r)->viewer.name);
    HTML(b, "</dd><dt>You will be sent to</dt><dd>");
    write_destination(b, c->request.redirect_uri);
    HTML(b, "</dd></dl>\n");
}

static void write_webhook(struct buf *b, struct str url)
{
    if (!url.p)
        return;
    HTML(b, "<h2>It is also notified</h2>\n<p>Each time a video of yours reaches a milestone or goes viral, "
            "a message is sent to the web address <strong>");
    html_isolated_text(b, redirect_display_name(url));
    HTML(b, "</strong>. This ends when you disconnect the app.</p>\n");
}

static enum next show(struct request *r)
{
    const struct consent *c = consent_of(r);
    page_context_of(r)->form_target = form_target(c->request.redirect_uri);
    struct buf *b = page_begin(
        r, &(struct page_frame){.title = STR("Connect an app"), .narrow = true, .own_heading = true});
    HTML(b, "<h1>Connect ");
    html_isolated_text(b, c->app.app.name);
    HTML(b, "?</h1>\n<p>The app ");
    html_isolated_text(b, c->app.app.name);
    HTML(b, " asks to read your numbers.</p>\n");
    write_facts(r);
    HTML(b, "<h2>It can read</h2>\n<ul><li>your name and your books</li>"
            "<li>your videos, with their views, likes, comments, shares and saves</li>"
            "<li>your views per day, your milestones, and which videos went viral</li></ul>\n"
            "<p>It cannot change anything and never sees your password. It keeps access until you disconnect "
            "it under Connected apps. An earlier connection of the same app is replaced.</p>\n");
    write_webhook(b, c->app.app.webhook_url);
    HTML(b, "<form method=\"post\"");
    html_link(
        b, "action",
        arena_printf(&r->arena, "%.*s?%.*s", (int)r->path.len, r->path.p, (int)r->query.len, r->query.p));
    HTML(b, ">");
    page_write_form_token(r);
    if (c->app.app.webhook_url.p)
        form_field_write_hidden(b, "webhook", c->app.app.webhook_url);
    HTML(b, "<div class=\"row\"><button name=\"decision\" value=\"allow\">Allow</button>"
            "<button class=\"quiet\" name=\"decision\" value=\"deny\">Deny</button></div></form>");
    return page_end(r);
}

/* ---- the decision ---- */

static enum err write_code(struct store *store, void *data)
{
    struct consent_write *w = data;
    struct arena arena;
    struct app_record app;
    arena_init(&arena, 4096);
    enum err err = store_find_app(store, &arena, str_make(w->client_id, w->client_id_len), &app);
    /* The operator may have removed the app while the page was open. */
    if (err == OK && app.removed_at != TIME_NONE)
        err = ERR_NOT_FOUND;
    const struct code_grant grant = {.app_row = app.row,
                                     .author_row = w->author_row,
                                     .redirect_uri = str_make(w->redirect_uri, w->redirect_len),
                                     .challenge = str_make(w->challenge, sizeof w->challenge),
                                     .webhook_url =
                                         str_make(w->webhook_len ? w->webhook_url : NULL, w->webhook_len)};
    w->now = clock_wall_ms();
    if (err == OK)
        err = code_issue(store, &grant, w->now, &w->code, &w->reached);
    arena_fini(&arena);
    return err;
}

static enum next written_step(struct request *r)
{
    struct consent *c = consent_of(r);
    if (c->result == ERR_NOT_FOUND)
        return reject(r, authorize_check_redirect(&c->request, NULL));
    if (c->result)
        return send_error(r, "server_error", "the database cannot be written at the moment");
    if (c->write.reached != KEY_LIMIT_NONE)
        return page_key_limit(r, c->write.reached, c->write.now);
    return redirect_to_app(r, authorize_code_uri(&r->arena, &c->request, issuer(r),
                                                 str_make(c->write.code.p, c->write.code.len)));
}

static enum next allow(struct request *r)
{
    struct consent *c = consent_of(r);
    const struct authorize_request *q = &c->request;
    c->write = (struct consent_write){.author_row = page_context_of(r)->viewer.author_row,
                                      .client_id_len = q->client_id.len,
                                      .redirect_len = q->redirect_uri.len,
                                      .webhook_len = c->app.app.webhook_url.len};
    memcpy(c->write.client_id, q->client_id.p, q->client_id.len);
    memcpy(c->write.redirect_uri, q->redirect_uri.p, q->redirect_uri.len);
    memcpy(c->write.challenge, q->challenge.p, sizeof c->write.challenge);
    memcpy(c->write.webhook_url, c->app.app.webhook_url.p ? c->app.app.webhook_url.p : "",
           c->write.webhook_len);
    r->step = written_step;
    return writer_call(page_context_of(r)->web->writer, &r->wait, &c->result, write_code, &c->write,
                       sizeof c->write);
}

/* Returns true if the consent page that the author has seen showed the app's current webhook. The operator
 * may have set or changed the webhook since. */
static bool has_seen_webhook(const struct request *r)
{
    const struct str url = consent_of(r)->app.app.webhook_url;
    return !url.p || str_eq(form_get(&page_context_of(r)->form, STR("webhook")), url);
}

static enum next decide(struct request *r)
{
    struct str decision = form_get(&page_context_of(r)->form, STR("decision"));
    if (str_eq(decision, STR("allow")))
        return has_seen_webhook(r) ? allow(r) : show(r);
    if (str_eq(decision, STR("deny")))
        return send_error(r, "access_denied", "the author denied access");
    return page_error(r, 400, "The form contains neither Allow nor Deny. Nothing was connected.");
}

/* ---- the authorization request ---- */

static enum next app_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct consent *c = consent_of(r);
    const char *description;
    if (page->read.err && page->read.err != ERR_NOT_FOUND)
        return page_store_error(r, page->read.err);
    const char *why = authorize_check_redirect(&c->request, page->read.err ? NULL : &c->app);
    if (why)
        return reject(r, why);
    const char *error = authorize_check_parameters(&c->request, &description);
    if (error)
        return send_error(r, error, description);
    if (!page->viewer.author_row)
        return web_redirect_to_sign_in(r);
    return r->method == METHOD_POST ? decide(r) : show(r);
}

static enum next consent_step(struct request *r)
{
    struct consent *c = arena_alloc(&r->arena, sizeof *c);
    page_context_of(r)->state = c;
    const char *why = authorize_read(&c->request, &r->arena, r->query);
    if (why)
        return reject(r, why);
    if (c->request.client_id.len > CLIENT_ID_MAX || !str_is_utf8(c->request.client_id))
        return reject(r, authorize_check_redirect(&c->request, NULL));
    r->step = app_step;
    return store_read_app(&page_context_of(r)->read, &r->arena, c->request.client_id, &c->app);
}

const struct route consent_page = {.path = "/oauth/authorize",
                                   .name = "/v1/oauth/authorize",
                                   .methods = ROUTE_GET | ROUTE_POST,
                                   .flags = WEB_OPEN | WEB_OWN_QUERY | WEB_IN_POPUP,
                                   .start = consent_step};
