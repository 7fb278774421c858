/* GET /assets/style.css. Kept by browsers for ever: another text has another address (?v=…). */
#include "settings/style.h"

#include "base/hash.h"
#include "settings/site.h"

extern const char style_css[];
extern const size_t style_css_len;

enum { VERSION_LEN = 12 };

void style_version(char out[16])
{
    char hash[HASH_TEXT_LEN];
    hash_128_text(str_make(style_css, style_css_len), hash);
    memcpy(out, hash, VERSION_LEN);
    out[VERSION_LEN] = '\0';
}

static enum next style_step(struct request *r)
{
    r->res.status = 200;
    r->res.content_type = STR("text/css; charset=utf-8");
    r->res.fixed_body = str_make(style_css, style_css_len);
    response_add_field(r, STR("Cache-Control"), STR("public, max-age=31536000, immutable"));
    return NEXT_DONE;
}

const struct site_page style_page = {
    .path = "/assets/style.css", .methods = SITE_GET, .flags = SITE_OPEN | SITE_STATIC, .start = style_step};
