/* GET /openapi.json: the OpenAPI document that is embedded in the binary. Needs no key. */
#include "api/api.h"

extern const char openapi_json[];
extern const size_t openapi_json_len;

static enum next openapi_step(struct request *r)
{
    r->res.status = 200;
    r->res.content_type = STR("application/json; charset=utf-8");
    response_set_constant_body(r, str_make(openapi_json, openapi_json_len));
    return NEXT_DONE;
}

const struct endpoint openapi_endpoint = {
    .route = {.path = "/openapi.json",
              .name = "/v1/openapi.json",
              .methods = ROUTE_GET,
              .flags = ENDPOINT_KEYLESS,
              .start = openapi_step},
};
