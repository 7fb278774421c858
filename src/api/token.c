/* POST /oauth/token: no app is registered yet, so every client is unknown (RFC 6749, 5.2). */
#include "api/answer.h"
#include "api/router.h"

static enum next token_step(struct request *r)
{
    struct buf *b = &r->res.body;
    r->res.status = 401;
    r->res.content_type = STR("application/json; charset=utf-8");
    response_add_field(r, STR("Cache-Control"), STR("no-store"));
    response_add_field(r, STR("WWW-Authenticate"), STR("Basic realm=\"viewtally\""));
    json_open(b, '{');
    JSON_STR(b, "error", STR("invalid_client"));
    JSON_STR(b, "error_description", STR("No app is registered with this service."));
    json_close(b, '}');
    return NEXT_DONE;
}

const struct route token_route = {.path = "/oauth/token",
                                  .name = "/v1/oauth/token",
                                  .methods = ROUTE_POST,
                                  .flags = ROUTE_KEYLESS,
                                  .start = token_step};
