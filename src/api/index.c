/* GET /v1 and GET /v1/: name, version and addresses of the API. A request needs no key and does not count
 * against a rate limit. */
#include "api/api.h"
#include "api/description.h"

static void append_link(struct request *r, struct str name, const char *path)
{
    const struct str base = endpoint_call_of(r)->api->description->base;
    json_key(&r->res.body, name);
    json_str(&r->res.body, arena_printf(&r->arena, "%.*s%s", (int)base.len, base.p, path));
}

static enum next index_step(struct request *r)
{
    static const struct {
        struct str name;
        const char *path;
    } links[] = {
        {{"self", 4}, ""},
        {{"docs", 4}, "/docs"},
        {{"openapi", 7}, "/openapi.json"},
        {{"account", 7}, "/account"},
        {{"books", 5}, "/books"},
        {{"videos", 6}, "/videos"},
        {{"stats", 5}, "/stats"},
        {{"events", 6}, "/events"},
    };
    struct buf *b = envelope_begin(r);
    JSON_KEY(b, "data");
    json_open(b, '{');
    JSON_STR(b, "name", STR("Author Video Analytics API"));
    JSON_STR(b, "version", STR("1.0.0")); /* info.version of the OpenAPI document */
    JSON_KEY(b, "links");
    json_open(b, '{');
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        append_link(r, links[i].name, links[i].path);
    json_close(b, '}');
    json_close(b, '}');
    return envelope_end(r);
}

const struct endpoint index_endpoint = {
    .route =
        {.path = "", .name = "/v1", .methods = ROUTE_GET, .flags = ENDPOINT_KEYLESS, .start = index_step},
};

const struct endpoint index_slash_endpoint = {
    .route =
        {.path = "/", .name = "/v1/", .methods = ROUTE_GET, .flags = ENDPOINT_KEYLESS, .start = index_step},
};
