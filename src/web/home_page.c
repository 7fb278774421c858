/* GET /: redirects to the dashboard. */
#include "web/page.h"

static enum next home_step(struct request *r)
{
    return page_redirect(r, STR("/dashboard"));
}

const struct route home_page = {.path = "/", .methods = ROUTE_GET, .start = home_step};
