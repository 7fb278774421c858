/* /platforms: the author's linked accounts with their state, and a form for each platform that the operator
 * has configured. Sending the form (POST) begins a linking: the browser is redirected to the platform, which
 * later redirects it back to the page of platform_callback.c. */
#include "oauth/codes.h"
#include "base/clock.h"
#include "vault/token_vault.h"
#include "net/http_client.h"
#include "web/linking.h"
#include "web/linking_request.h"
#include "web/humanize.h"
#include "web/page.h"
#include "web/platform_text.h"
#include "store/writer_call.h"

enum { ACCOUNTS_SHOWN_MAX = 200 };

struct linked_accounts {
    size_t count;
    struct credential list[ACCOUNTS_SHOWN_MAX];
};

/* ---- one account in the list ---- */

static void write_badge(struct buf *b, const struct platform_text *w)
{
    switch (w->condition) {
    case ACCOUNT_CONNECTED: HTML(b, "<span class=\"badge good\">"); break;
    case ACCOUNT_WAITING: HTML(b, "<span class=\"badge off\">"); break;
    default: HTML(b, "<span class=\"badge bad\">"); break;
    }
    html_text(b, str_from_cstr(w->badge));
    HTML(b, "</span>");
}

enum offer { OFFER_FIRST, OFFER_ANOTHER, OFFER_AGAIN, OFFER_MISSING };

static void write_connect(struct request *r, enum platform_api api, enum offer offer)
{
    static const char *const labels[] = {[OFFER_FIRST] = "Connect %s",
                                         [OFFER_ANOTHER] = "Connect another %s account",
                                         [OFFER_AGAIN] = "Sign in to %s again",
                                         [OFFER_MISSING] = "Allow the missing permissions at %s"};
    struct buf *b = &r->res.body;
    const struct platform_desc *desc = platform_desc(api);
    page_write_form(r, STR("/platforms"));
    HTML(b, "<input type=\"hidden\" name=\"platform\"");
    html_attr(b, "value", str_from_cstr(desc->name));
    if (offer != OFFER_FIRST)
        HTML(b, "><input type=\"hidden\" name=\"again\" value=\"1\"");
    if (offer == OFFER_ANOTHER)
        HTML(b, "><button class=\"quiet\">");
    else
        HTML(b, "><button>");
    platform_text_write(b, labels[offer], desc->title);
    HTML(b, "</button></form>");
}

static void write_name(struct buf *b, const struct credential *c)
{
    html_isolated_text(b, c->account_name.len ? c->account_name : c->account_id);
}

/* Lists the permissions that the API needs but the author has declined, each with its consequence. Returns
 * the number of these permissions. */
static size_t write_missing(struct buf *b, const struct credential *c)
{
    const struct platform_desc *desc = platform_desc((enum platform_api)c->api);
    const struct platform_permission *p = desc->permissions;
    size_t count = 0;
    for (; p && p->scope; p++) {
        if (!platform_permission_is_missing(p, c->scopes))
            continue;
        if (!count++)
            HTML(b, "<p>You did not allow this service to:</p>\n<ul>");
        HTML(b, "<li>");
        html_text(b, str_from_cstr(p->words));
        HTML(b, ". ");
        html_text(b, str_from_cstr(p->without));
        HTML(b, "</li>");
    }
    if (count)
        HTML(b, "</ul>\n");
    return count;
}

static void write_actions(struct request *r, const struct credential *c, const struct platform_text *w,
                          size_t missing)
{
    struct buf *b = &r->res.body;
    const enum platform_api by = platform_sign_in_api((enum platform_api)c->api);
    HTML(b, "<div class=\"row\">");
    if ((w->condition == ACCOUNT_RECONNECT_REQUIRED || missing) &&
        linking_is_offered(page_context_of(r)->web->config, by))
        write_connect(r, by, w->condition == ACCOUNT_RECONNECT_REQUIRED ? OFFER_AGAIN : OFFER_MISSING);
    HTML(b, "<a class=\"button danger\"");
    page_write_link(r, "href", arena_printf(&r->arena, "/platforms/accounts/%lld", (long long)c->row));
    HTML(b, ">Disconnect<span class=\"sr\"> ");
    write_name(b, c);
    HTML(b, "</span></a></div>");
}

static void write_account(struct request *r, const struct credential *c, int64_t now)
{
    struct buf *b = &r->res.body;
    const struct platform_desc *desc = platform_desc((enum platform_api)c->api);
    const bool is_configured = platform_is_configured(page_context_of(r)->web->config, desc->api);
    const struct platform_text text = platform_text_of_account(c, is_configured, now);
    const enum platform_api by = platform_sign_in_api(desc->api);
    HTML(b, "<section class=\"card\"><div class=\"row\"><h2>");
    write_name(b, c);
    HTML(b, "</h2>");
    write_badge(b, &text);
    HTML(b, "</div>");
    if (text.sentence) {
        HTML(b, "<p>");
        platform_text_write(
            b, text.sentence,
            platform_desc(text.condition == ACCOUNT_RECONNECT_REQUIRED ? by : desc->api)->title);
        HTML(b, "</p>");
    }
    const size_t missing = write_missing(b, c);
    if (c->is_personal && desc->personal_note) {
        HTML(b, "<p>");
        html_text(b, str_from_cstr(desc->personal_note));
        HTML(b, "</p>");
    }
    HTML(b, "<dl class=\"facts\"><dt>Platform</dt><dd>");
    html_text(b, str_from_cstr(desc->title));
    HTML(b, "</dd><dt>Last read</dt><dd>");
    if (c->last_ok_at == TIME_NONE)
        HTML(b, "not yet");
    else
        html_time_ago(b, c->last_ok_at, now);
    HTML(b, "</dd>");
    if (text.condition != ACCOUNT_CONNECTED && c->last_error.p) {
        HTML(b, "<dt>For support</dt><dd><code>");
        html_text(b, c->last_error);
        HTML(b, "</code>, ");
        html_time_ago(b, c->last_error_at, now);
        HTML(b, "</dd>");
    }
    HTML(b, "</dl>\n");
    write_actions(r, c, &text, missing);
    HTML(b, "</section>\n");
}

/* ---- the page ---- */

static bool has_account(const struct linked_accounts *a, enum platform_api api)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->list[i].api == (int)api)
            return true;
    return false;
}

static void write_offers(struct request *r, const struct linked_accounts *a)
{
    struct buf *b = &r->res.body;
    bool any = false;
    HTML(b, "<h2>Connect an account</h2>\n");
    for (int i = 0; i < PLATFORM_APIS; i++)
        any = any || linking_is_offered(page_context_of(r)->web->config, (enum platform_api)i);
    if (!any) {
        HTML(b,
             "<p class=\"empty\">The people who run this service have not set up a platform to which you can "
             "connect an account.</p>");
        return;
    }
    HTML(b,
         "<p>You sign in at the platform itself and allow this service to read your numbers there. It never "
         "sees your password and cannot post or change anything. Connecting Facebook also connects the "
         "Instagram accounts that belong to your pages.</p>\n<div class=\"row\">");
    for (int i = 0; i < PLATFORM_APIS; i++) {
        const enum platform_api api = (enum platform_api)i;
        if (linking_is_offered(page_context_of(r)->web->config, api))
            write_connect(r, api, has_account(a, api) ? OFFER_ANOTHER : OFFER_FIRST);
    }
    HTML(b, "</div>");
}

static enum next show(struct request *r)
{
    struct page_context *page = page_context_of(r);
    const struct linked_accounts *a = page->state;
    const int64_t now = clock_wall_ms();
    if (page->read.err)
        return page_store_error(r, page->read.err);
    page->form_target = linking_form_action_sources(&r->arena, page->web->config);
    struct buf *b = page_begin(r, &(struct page_frame){.title = STR("Platforms"), .current = "/platforms"});
    HTML(b, "<p>This service reads views, likes, comments, shares and saves from these accounts.</p>\n");
    for (size_t i = 0; i < a->count; i++)
        write_account(r, &a->list[i], now);
    if (!a->count)
        HTML(b, "<p class=\"empty\">No account is connected yet.</p>\n");
    write_offers(r, a);
    return page_end(r);
}

static bool on_account(void *ctx, const struct credential *c)
{
    struct request *r = ctx;
    struct linked_accounts *a = page_context_of(r)->state;
    struct credential *to = &a->list[a->count++];
    *to = *c;
    to->account_id = arena_copy(&r->arena, c->account_id);
    if (c->account_name.p)
        to->account_name = arena_copy(&r->arena, c->account_name);
    if (c->last_error.p)
        to->last_error = arena_copy(&r->arena, c->last_error);
    to->scopes = arena_copy(&r->arena, c->scopes);
    to->access_sealed = to->refresh_sealed = to->dropped = STR("");
    return a->count < ACCOUNTS_SHOWN_MAX;
}

/* ---- beginning a linking ---- */

struct begin_linking {
    const struct platform_desc *desc;
    bool again; /* see struct platform_authorize */
    struct secret state, verifier;
    struct linking_begin write;
    enum err result;
};

static enum next begun_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    struct begin_linking *b = page->state;
    char challenge[PKCE_CHALLENGE_LEN];
    if (b->result) /* ERR_NOT_FOUND: the key file is missing */
        return page_store_error(r, b->result == ERR_NOT_FOUND ? ERR_IO : b->result);
    const struct platform_options options = platform_options_of(page->web->config, b->desc->api);
    const struct platform_authorize authorize = {.options = &options,
                                                 .app = platform_app_of(page->web->config, b->desc->api),
                                                 .redirect_uri = linking_redirect_uri(r, b->desc),
                                                 .state = secret_format(&r->arena, &b->state),
                                                 .challenge = str_make(challenge, sizeof challenge),
                                                 .again = b->again};
    pkce_challenge(secret_format(&r->arena, &b->verifier), challenge);
    struct str path = b->desc->authorize_path(&r->arena, &authorize);
    return page_redirect_away(
        r, arena_printf(&r->arena, "%s%.*s", options.origins[ORIGIN_CONSENT], (int)path.len, path.p));
}

static enum next begin(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct begin_linking *b = arena_alloc(&r->arena, sizeof *b);
    b->desc = platform_desc_by_name(form_get(&page->form, STR("platform")));
    if (!b->desc || !linking_is_offered(page->web->config, b->desc->api))
        return page_error(r, 400,
                          "This service does not connect accounts of that platform. Nothing was changed.");
    b->again = str_eq(form_get(&page->form, STR("again")), STR("1"));
    page->state = b;
    secret_generate(&b->state);
    secret_generate(&b->verifier);
    b->write.key = linking_key_make(r, b->desc->api, &b->state);
    b->write.has_verifier = b->desc->uses_pkce;
    memcpy(b->write.verifier, secret_format(&r->arena, &b->verifier).p, sizeof b->write.verifier);
    r->step = begun_step;
    return writer_call(page->web->writer, &r->wait, &b->result, linking_begin, &b->write, sizeof b->write);
}

static enum next platforms_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    if (r->method == METHOD_POST)
        return begin(r);
    page->state = arena_alloc(&r->arena, sizeof(struct linked_accounts));
    r->step = show;
    return store_read_author_credentials(&page->read, page->viewer.author_row, on_account, r);
}

const struct route platforms_page = {
    .path = "/platforms", .methods = ROUTE_GET | ROUTE_POST, .start = platforms_step};
