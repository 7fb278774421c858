/* Creates and checks form tokens, and checks the origin of forms. */
#include "web/form_token.h"

#include "auth/session.h"
#include "base/log.h"
#include "web/cookies.h"

static const struct str FORM_COOKIE = {"viewtally-form", 14};

/* Returns the text to which the token is bound. An author who is signed in by a proxy has a form cookie but
 * no session. Binding the token to the author prevents a form of one author from being sent on behalf of
 * another. */
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
    return secret_make_form_token(&r->arena, &page->secret, bound_to(page));
}

static bool is_our_origin(const struct page_context *page, const struct request *r, struct str origin)
{
    struct str rest = origin, scheme, host = r->field[FIELD_HOST];
    if (str_eq_nocase(origin, page->web->origin))
        return true;
    rest = str_cut(rest, ':', &scheme);
    return rest.len > 2 && host.len && str_starts_with(rest, STR("//")) &&
           str_eq_nocase(str_make(rest.p + 2, rest.len - 2), host);
}

/* Logs the first rejected origin. The most likely cause is a base_url that differs from the URL that browsers
 * use, but it may also be an attack. */
static void warn_of_origin(struct request *r, struct str origin)
{
    struct web *web = page_context_of(r)->web;
    if (web->warned_of_origin)
        return;
    web->warned_of_origin = true;
    log_warn("rejected a form sent from %.*s, which is not the origin of [server] base_url, %.*s: open the "
             "pages at base_url, or correct base_url (logged once)",
             (int)origin.len, origin.p, (int)web->origin.len, web->origin.p);
}

bool form_origin_is_valid(struct request *r)
{
    struct str site = r->field[FIELD_SEC_FETCH_SITE], origin = r->field[FIELD_ORIGIN];
    if (site.p && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none")))
        return false;
    bool ours = !origin.p || is_our_origin(page_context_of(r), r, origin);
    if (!ours && site.p)
        warn_of_origin(r, origin);
    return ours;
}

void form_token_load_secret(struct request *r)
{
    struct page_context *page = page_context_of(r);
    page->has_secret = secret_parse(web_cookie_find(r, FORM_COOKIE), &page->secret);
}

void form_token_save_secret(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    if (page && page->new_secret)
        web_cookie_set(r, FORM_COOKIE, secret_format(&r->arena, &page->secret), -1);
}

bool form_token_is_valid(const struct request *r)
{
    const struct page_context *page = page_context_of(r);
    return page->has_secret &&
           secret_is_form_token(&page->secret, bound_to(page), form_get(&page->form, STR("token")));
}
