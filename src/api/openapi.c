/* GET /openapi.json: the OpenAPI document (description.h). Needs no key. */
#include "api/api.h"
#include "api/description.h"

static enum next openapi_step(struct request *r)
{
    r->res.status = 200;
    r->res.content_type = STR("application/json; charset=utf-8");
    response_set_constant_body(r, endpoint_call_of(r)->api->description->openapi);
    return NEXT_DONE;
}

const struct endpoint openapi_endpoint = {
    .route = {.path = "/openapi.json",
              .name = "/v1/openapi.json",
              .methods = ROUTE_GET,
              .flags = ENDPOINT_KEYLESS,
              .start = openapi_step},
};
