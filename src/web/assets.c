/* GET /assets/…: static files that browsers may cache forever, because a changed file has another URL (?v=…).
 */
#include "web/assets.h"

#include "base/hash.h"
#include "web/web.h"

extern const char style_css[], copy_js[];
extern const size_t style_css_len, copy_js_len;

enum { VERSION_LEN = 12 };

static void format_version(struct str text, char out[ASSET_VERSION_SIZE])
{
    char hash[HASH_TEXT_LEN];
    hash_128_text(text, hash);
    memcpy(out, hash, VERSION_LEN);
    out[VERSION_LEN] = '\0';
}

void assets_compute_versions(char style[ASSET_VERSION_SIZE], char script[ASSET_VERSION_SIZE])
{
    format_version(str_make(style_css, style_css_len), style);
    format_version(str_make(copy_js, copy_js_len), script);
}

static enum next send_asset(struct request *r, struct str type, struct str text)
{
    r->res.status = 200;
    r->res.content_type = type;
    response_set_constant_body(r, text);
    response_add_field(r, STR("Cache-Control"), STR("public, max-age=31536000, immutable"));
    return NEXT_DONE;
}

static enum next style_step(struct request *r)
{
    return send_asset(r, STR("text/css; charset=utf-8"), str_make(style_css, style_css_len));
}

static enum next script_step(struct request *r)
{
    return send_asset(r, STR("text/javascript; charset=utf-8"), str_make(copy_js, copy_js_len));
}

const struct route style_page = {
    .path = "/assets/style.css", .methods = ROUTE_GET, .flags = WEB_OPEN | WEB_STATIC, .start = style_step};

const struct route script_page = {
    .path = "/assets/copy.js", .methods = ROUTE_GET, .flags = WEB_OPEN | WEB_STATIC, .start = script_step};
