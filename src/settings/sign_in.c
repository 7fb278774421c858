/* GET /sign-in: the form. */
#include "settings/page.h"

static enum next sign_in_step(struct request *r)
{
    struct buf *b = page_begin(r, &(struct page){.title = STR("Sign in"), .narrow = true});
    struct str next = form_get(&visit_of(r)->query, STR("next"));
    page_form(r, STR("/sign-in"));
    HTML(b, "<input type=\"hidden\" name=\"next\"");
    html_attr(b, "value", next.p && site_is_local(next) ? next : STR("/"));
    HTML(b, "><div class=\"field\"><label for=\"login\">Name</label><input id=\"login\" name=\"login\" "
            "autocomplete=\"username\" required></div><div class=\"field\"><label for=\"password\">Password"
            "</label><input id=\"password\" name=\"password\" type=\"password\" "
            "autocomplete=\"current-password\" required></div><button>Sign in</button></form>");
    return page_end(r);
}

const struct site_page sign_in_page = {
    .path = "/sign-in", .methods = SITE_GET, .flags = SITE_OPEN, .start = sign_in_step};
