/* Writes the frame of pages, error pages, and header fields. */
#include "web/page.h"

#include "auth/sign_in_limiter.h"
#include "base/plural.h"
#include "web/cookies.h"
#include "web/form_token.h"
#include "web/page_checks.h"

#include "base/clock.h"

#include <stdarg.h>

/* The navigation omits this page if no platform is configured. */
static const char PLATFORMS[] = "/platforms";

static const struct {
    const char *path, *text;
} navigation[] = {
    {"/dashboard", "Dashboard"}, {"/videos", "Videos"},     {"/keys", "API keys"},
    {"/apps", "Connected apps"}, {"/webhooks", "Webhooks"}, {PLATFORMS, "Platforms"},
    {"/account", "Account"},
};

static const struct {
    const char *code, *text;
} notes[NOTE_COUNT] = {
    [NOTE_SIGNED_OUT] = {"signed-out", "You are signed out."},
    [NOTE_SIGNED_OUT_EVERYWHERE] = {"signed-out-everywhere", "You are signed out on every device."},
    [NOTE_PASSWORD_SET] = {"password-set",
                           "Your new password is set. Every other device has been signed out."},
    [NOTE_KEY_REVOKED] = {"key-revoked", "The key is revoked and no longer works."},
    [NOTE_APP_DISCONNECTED] = {"app-disconnected",
                               "The app is disconnected and can no longer read your numbers."},
    [NOTE_PLATFORM_CONNECTED] = {"platform-connected",
                                 "Connected. Your numbers arrive with the next refresh."},
    [NOTE_PLATFORM_DISCONNECTED] = {"platform-disconnected",
                                    "Disconnected. This service has deleted its access to the account."},
    [NOTE_WEBHOOK_REQUESTED] = {"webhook-requested",
                                "The delivery was requested. Reload the page to see its result."},
    [NOTE_WEBHOOK_HISTORY] =
        {"webhook-history",
         "All your events are sent while the webhook is active, beginning with the oldest."},
    [NOTE_WEBHOOK_PAUSED] = {"webhook-paused",
                             "The webhook is paused. Its events are sent after you resume it."},
    [NOTE_WEBHOOK_RESUMED] = {"webhook-resumed",
                              "The webhook is resumed. Waiting events are sent while it is active."},
    [NOTE_WEBHOOK_DELETED] = {"webhook-deleted", "The webhook is deleted."},
};

static const struct str NOTE_COOKIE = {"viewtally-note", 14};
enum { NOTE_SECONDS = 60 };

/* ---- links and forms ---- */

void page_write_link(struct request *r, const char *name, struct str path)
{
    struct str base = page_context_of(r)->web->base;
    html_link(&r->res.body, name,
              arena_printf(&r->arena, "%.*s%.*s", (int)base.len, base.p, (int)path.len, path.p));
}

void page_write_form_token(struct request *r)
{
    struct buf *b = &r->res.body;
    HTML(b, "<input type=\"hidden\" name=\"token\"");
    html_attr(b, "value", web_form_token(r));
    HTML(b, ">");
}

void page_write_form(struct request *r, struct str action)
{
    struct buf *b = &r->res.body;
    HTML(b, "<form method=\"post\"");
    page_write_link(r, "action", action);
    HTML(b, ">");
    page_write_form_token(r);
}

/* ---- notes after a redirect ---- */

void page_set_note(struct request *r, enum page_note note)
{
    web_cookie_set(r, NOTE_COOKIE, str_from_cstr(notes[note].code), NOTE_SECONDS);
}

static void show_note(struct request *r)
{
    struct str code = web_cookie_find(r, NOTE_COOKIE);
    if (!code.p || r->method == METHOD_POST)
        return;
    web_cookie_set(r, NOTE_COOKIE, STR(""), 0);
    for (int i = 1; i < NOTE_COUNT; i++)
        if (str_eq(code, str_from_cstr(notes[i].code))) {
            HTML(&r->res.body, "<p class=\"notice good\" role=\"status\">");
            html_text(&r->res.body, str_from_cstr(notes[i].text));
            HTML(&r->res.body, "</p>");
        }
}

/* ---- head, navigation and end of a page ---- */

static void write_head(struct request *r, struct str title)
{
    struct buf *b = &r->res.body;
    const struct web *web = page_context_of(r)->web;
    HTML(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    html_text(b, title);
    HTML(b, " · viewtally</title>\n<meta name=\"viewport\" content=\"width=device-width, "
            "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
            "<link rel=\"stylesheet\"");
    page_write_link(r, "href", arena_printf(&r->arena, "/assets/style.css?v=%s", web->style_version));
    if (page_context_of(r)->has_script) {
        HTML(b, ">\n<script defer");
        page_write_link(r, "src", arena_printf(&r->arena, "/assets/copy.js?v=%s", web->script_version));
        HTML(b, "></script");
    }
    HTML(b, ">\n<link rel=\"icon\" href=\"data:,\">\n</head>\n<body>\n"
            "<a class=\"skip\" href=\"#main\">Skip to content</a>\n");
}

static void write_navigation(struct request *r, const char *current)
{
    struct buf *b = &r->res.body;
    HTML(b, "<nav aria-label=\"Pages\"><ul>");
    for (size_t i = 0; i < sizeof navigation / sizeof navigation[0]; i++) {
        if (navigation[i].path == PLATFORMS && !page_context_of(r)->web->client)
            continue;
        HTML(b, "<li><a");
        page_write_link(r, "href", str_from_cstr(navigation[i].path));
        if (current && strcmp(current, navigation[i].path) == 0)
            HTML(b, " aria-current=\"page\"");
        HTML(b, ">");
        html_text(b, str_from_cstr(navigation[i].text));
        HTML(b, "</a></li>");
    }
    HTML(b, "</ul></nav>\n");
}

static void write_top(struct request *r, const char *current)
{
    struct buf *b = &r->res.body;
    const struct page_context *page = page_context_of(r);
    HTML(b, "<header class=\"top\"><a class=\"brand\"");
    page_write_link(r, "href", STR("/"));
    HTML(b, ">viewtally</a>\n");
    if (page->viewer.author_row) {
        write_navigation(r, current);
        HTML(b, "<span class=\"muted\">");
        html_screen_reader_text(b, STR("Signed in as "));
        html_isolated_text(b, page->viewer.name);
        HTML(b, "</span>\n");
        if (!page->by_proxy) {
            page_write_form(r, STR("/sign-out"));
            HTML(b, "<button class=\"quiet\">Sign out</button></form>\n");
        }
    }
    HTML(b, "</header>\n");
}

struct buf *page_begin(struct request *r, const struct page_frame *frame)
{
    struct buf *b = &r->res.body;
    if (!r->res.status)
        r->res.status = 200;
    r->res.content_type = STR("text/html; charset=utf-8");
    write_head(r, frame->title);
    write_top(r, frame->current);
    if (frame->narrow)
        HTML(b, "<main id=\"main\" class=\"narrow\" tabindex=\"-1\">\n");
    else
        HTML(b, "<main id=\"main\" tabindex=\"-1\">\n");
    show_note(r);
    if (!frame->own_heading) {
        HTML(b, "<h1>");
        html_text(b, frame->title);
        HTML(b, "</h1>\n");
    }
    return b;
}

enum next page_end(struct request *r)
{
    HTML(&r->res.body, "\n</main>\n<footer class=\"foot\">viewtally · all times are UTC</footer>\n"
                       "</body>\n</html>\n");
    return r->res.body.failed ? page_error(r, 500, "This page is too large to send.") : NEXT_DONE;
}

/* ---- errors and redirects ---- */

static struct str title_of(int status)
{
    switch (status) {
    case 400: return STR("That did not work");
    case 403: return STR("Not allowed");
    case 404: return STR("Page not found");
    case 410: return STR("This link no longer works");
    case 429: return STR("Please wait");
    case 503: return STR("Please try again shortly");
    default: return status < 500 ? STR("That did not work") : STR("Something went wrong");
    }
}

void page_write_request_id(struct request *r)
{
    struct buf *b = &r->res.body;
    HTML(b, "<p class=\"muted small\">If you ask for help, please include this request number: <code>");
    html_text(b, r->id);
    HTML(b, "</code></p>");
}

enum next page_error(struct request *r, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct str message = arena_vprintf(&r->arena, fmt, ap);
    va_end(ap);
    response_reset(r);
    r->res.status = status;
    if (status == 503)
        response_add_field(r, STR("Retry-After"), STR("5"));
    struct buf *b = page_begin(r, &(struct page_frame){.title = title_of(status), .narrow = true});
    HTML(b, "<p>");
    html_text(b, message);
    HTML(b, "</p>\n<p><a");
    page_write_link(r, "href", STR("/"));
    HTML(b, ">Go to the start page</a></p>\n");
    page_write_request_id(r);
    return page_end(r);
}

enum next page_not_found(struct request *r)
{
    return page_error(r, 404, "The address may be mistyped, or the item may have been deleted.");
}

enum next page_store_error(struct request *r, enum err err)
{
    if (err == ERR_NOT_FOUND)
        return page_not_found(r);
    if (err == ERR_UNKNOWN_OUTCOME)
        return page_error(r, 503,
                          "The connection to the database was lost, so it is unknown whether your change was "
                          "made. Please check this before you try again.");
    return page_error(r, 503,
                      "The service cannot reach its data right now. Nothing was changed. Please try again in "
                      "a few seconds.");
}

enum next page_too_busy(struct request *r)
{
    return page_error(
        r, 503,
        "The service is too busy to handle a password right now. Nothing was changed. Please try again "
        "in a moment.");
}

enum next page_too_busy_to_verify(struct request *r, const struct sign_in_attempt *attempt)
{
    sign_in_limiter_undo(page_context_of(r)->web->sign_in_limiter, attempt, clock_mono_ms());
    return page_too_busy(r);
}

/* Adds the Retry-After field to the 429 response. Call after page_error(). */
static enum next retry_after(struct request *r, int64_t wait_s)
{
    response_add_field(r, STR("Retry-After"), arena_printf(&r->arena, "%lld", (long long)wait_s));
    return NEXT_DONE;
}

static int64_t seconds_of(int64_t wait_ms)
{
    return (wait_ms + SECOND_MS - 1) / SECOND_MS;
}

enum next page_too_many_sign_ins(struct request *r, int64_t wait_ms)
{
    const int64_t wait_s = seconds_of(wait_ms);
    (void)page_error(r, 429, "Too many wrong passwords. Please wait %lld second%s, then try again.",
                     (long long)wait_s, plural(wait_s, "", "s"));
    return retry_after(r, wait_s);
}

enum next page_too_many_forms(struct request *r, int64_t wait_ms)
{
    const int64_t wait_s = seconds_of(wait_ms);
    (void)page_error(r, 429,
                     "You have sent %d forms within one minute, which is the limit. Nothing was changed. "
                     "Please wait %lld second%s, then send the form again.",
                     WEB_FORMS_PER_MINUTE, (long long)wait_s, plural(wait_s, "", "s"));
    return retry_after(r, wait_s);
}

enum next page_key_limit(struct request *r, enum key_limit reached, int64_t now)
{
    if (reached == KEY_LIMIT_LIVE)
        return page_error(r, 422,
                          "You already have %d keys, including those of connected apps, which is the limit. "
                          "Revoke a key or disconnect an app that you do not need, then try again.",
                          AUTHOR_KEYS_MAX);
    (void)page_error(r, 429,
                     "%d keys were created for you today, including those of connected apps, which is the "
                     "limit. You can create the next one after midnight UTC.",
                     AUTHOR_KEYS_PER_DAY);
    return retry_after(r, seconds_of(date_start_ms(date_of(now) + 1) - now));
}

static enum next redirect(struct request *r, struct str to)
{
    response_reset(r);
    r->res.status = 303;
    response_add_field(r, STR("Location"), to);
    return NEXT_DONE;
}

enum next page_redirect(struct request *r, struct str path)
{
    struct str base = page_context_of(r)->web->base;
    return redirect(r, arena_printf(&r->arena, "%.*s%.*s", (int)base.len, base.p, (int)path.len, path.p));
}

enum next page_redirect_away(struct request *r, struct str url)
{
    return redirect(r, url);
}

enum next page_redirect_local(struct request *r, struct str path)
{
    return web_path_is_local(path) ? redirect(r, path) : page_redirect(r, STR("/"));
}

/* ---- header fields ---- */

struct sources {
    struct arena *arena;
    struct str list;
};

static void add_source(void *ctx, struct str item)
{
    struct sources *s = ctx;
    s->list = arena_printf(s->arena, "%.*s %.*s", (int)s->list.len, s->list.p, (int)item.len, item.p);
}

/* Returns the value of Content-Security-Policy. Browsers apply `form-action` also to redirects after a form.
 * So a page whose form redirects to another server must set page_context->form_target. */
static struct str content_policy(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    const struct web *web = r->app->ctx;
    struct str to = page && page->form_target.p ? page->form_target : STR("");
    struct sources images = {.arena = &r->arena, .list = STR("")};
    config_each_item(web->config->account.image_sources, add_source, &images);
    return arena_printf(
        &r->arena,
        "default-src 'none'; style-src 'self';%s img-src data:%.*s; form-action 'self'%s%.*s; "
        "base-uri 'none'; frame-ancestors 'none'",
        page && page->has_script ? " script-src 'self';" : "", (int)images.list.len, images.list.p,
        to.len ? " " : "", (int)to.len, to.p);
}

/* Returns a policy that keeps a secret in the URL out of the Referer field of the next request, because
 * proxies log that field. A request without a route may have been rejected before its route was looked up, or
 * its address may be a mistyped one with a secret. `no-referrer` would make browsers send `Origin: null` with
 * our own forms. */
static struct str referrer_policy(const struct request *r)
{
    return r->route && !r->route->secrets ? STR("same-origin") : STR("strict-origin");
}

void page_add_fields(struct request *r)
{
    response_add_field(r, STR("X-Request-Id"), r->id);
    response_add_field(r, STR("Content-Security-Policy"), content_policy(r));
    response_add_field(r, STR("X-Frame-Options"), STR("DENY"));
    response_add_field(r, STR("X-Content-Type-Options"), STR("nosniff"));
    response_add_field(r, STR("Referrer-Policy"), referrer_policy(r));
    if (!r->route || !(r->route->flags & WEB_IN_POPUP))
        response_add_field(r, STR("Cross-Origin-Opener-Policy"), STR("same-origin"));
    response_add_field(r, STR("Cross-Origin-Resource-Policy"), STR("same-origin"));
    response_add_field(r, STR("Permissions-Policy"),
                       STR("camera=(), geolocation=(), microphone=(), payment=(), usb=()"));
    if (!response_has_field(r, STR("Cache-Control")))
        response_add_field(r, STR("Cache-Control"), STR("no-store"));
}

void page_reject(struct request *r, const char *message)
{
    int status = r->res.status;
    bool close = r->res.close;
    if (!page_context_of(r))
        r->state = arena_alloc(&r->arena, sizeof(struct page_context));
    page_context_of(r)->web = r->app->ctx;
    (void)page_error(r, status, "%s", message);
    r->res.close = close;
}

struct actor page_actor(const struct request *r)
{
    return actor_make(ACTOR_AUTHOR, (struct str){NULL, 0}, r->client_address);
}
