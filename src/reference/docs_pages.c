/* Renders the pages and serves them. A link from one page to another is relative, because the pages are
 * mounted at several prefixes. */
#include "reference/docs_pages.h"

#include "api/description.h"
#include "base/check.h"
#include "reference/markdown.h"
#include "reference/operations.h"
#include "web/html.h"

#include <stdlib.h>

enum { PAGE_BYTES_MAX = 4 << 20 };

extern const char guide_polling[], guide_charts[], guide_connect[], guide_limits[], guide_errors[],
    guide_versioning[], guide_webhooks[], style_css[], docs_css[], docs_js[];
extern const size_t style_css_len, docs_css_len, docs_js_len;

static const struct guide {
    const char *name, *title, *text;
} guides[] = {
    {"polling", "Polling events", guide_polling},
    {"charts", "Charts", guide_charts},
    {"connect", "Connecting an app", guide_connect},
    {"webhooks", "Webhooks", guide_webhooks},
    {"limits", "Limits", guide_limits},
    {"errors", "Errors", guide_errors},
    {"versioning", "Versioning and deprecation", guide_versioning},
};
enum { GUIDES = sizeof guides / sizeof guides[0] };

struct reference {
    struct http_app http;
    const struct description *description;
    struct openapi *openapi;
    struct buf index, pages[GUIDES], style;
};

/* ---- rendering the pages ---- */

static void append_head(struct buf *b, const char *title, bool is_index)
{
    HTML(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
    html_text(b, str_from_cstr(title));
    buf_printf(b,
               " · Author Video Analytics API</title>\n"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
               "<meta name=\"color-scheme\" content=\"light dark\">\n"
               "<link rel=\"stylesheet\" href=\"%sstyle.css\">\n<script defer src=\"%ssearch.js\"></script>\n"
               "<link rel=\"icon\" href=\"data:,\">\n</head>\n<body class=\"docs\">\n"
               "<a class=\"skip\" href=\"#main\">Skip to content</a>\n"
               "<header class=\"top\"><span class=\"brand\">Author Video Analytics API</span></header>\n",
               is_index ? "docs/" : "", is_index ? "docs/" : "");
}

static void append_guide_link(struct buf *b, const struct guide *guide, const struct guide *current,
                              const char *directory)
{
    HTML(b, "<li data-words=\"");
    html_text(b, str_from_cstr(guide->text));
    buf_printf(b, "\"><a href=\"%s%s\"%s>", directory, guide->name,
               guide == current ? " aria-current=\"page\"" : "");
    html_text(b, str_from_cstr(guide->title));
    HTML(b, "</a></li>\n");
}

/* Appends the links to all pages. `current` is the guide that the page shows, or NULL on the reference page.
 */
static void append_navigation(struct buf *b, const struct reference *ref, const struct guide *current)
{
    HTML(b, "<nav class=\"contents\" aria-label=\"Documentation\">\n<p class=\"label\">Guides</p><ul>\n");
    for (size_t i = 0; i < GUIDES; i++)
        append_guide_link(b, &guides[i], current, current ? "" : "docs/");
    buf_printf(b, "</ul>\n<p class=\"label\"><a href=\"%s\"%s>Reference</a></p><ul>\n",
               current ? "../docs" : "#main", current ? "" : " aria-current=\"page\"");
    openapi_append_index(b, ref->openapi, current ? "../docs" : "");
    HTML(b, "</ul>\n</nav>\n");
}

static void begin_page(struct buf *b, const struct reference *ref, const struct guide *current)
{
    buf_init(b, PAGE_BYTES_MAX);
    append_head(b, current ? current->title : "Reference", !current);
    HTML(b, "<div class=\"docs-page\">\n");
    append_navigation(b, ref, current);
    HTML(b, "<main id=\"main\" tabindex=\"-1\">\n<h1>");
    html_text(b, str_from_cstr(current ? current->title : "API reference"));
    HTML(b, "</h1>\n");
}

static void end_page(struct buf *b)
{
    HTML(b, "</main>\n</div>\n</body>\n</html>\n");
    CHECK(!b->failed);
}

static void render_guide(struct reference *ref, size_t i)
{
    struct buf *b = &ref->pages[i], text;
    begin_page(b, ref, &guides[i]);
    buf_init(&text, PAGE_BYTES_MAX);
    description_append_with_base(&text, ref->description, str_from_cstr(guides[i].text));
    markdown_append(b, buf_str(&text), 0);
    buf_fini(&text);
    end_page(b);
}

static void render_index(struct reference *ref)
{
    struct buf *b = &ref->index;
    begin_page(b, ref, NULL);
    HTML(b, "<p>For generated clients: <a href=\"");
    html_text(b, ref->description->base);
    HTML(b, "/openapi.json\">openapi.json</a> (OpenAPI 3.1).</p>\n");
    openapi_append_introduction(b, ref->openapi);
    openapi_append_operations(b, ref->openapi);
    HTML(b, "<h2 id=\"schemas\">Schemas</h2>\n");
    openapi_append_schemas(b, ref->openapi);
    end_page(b);
}

/* ---- responding to requests ---- */

static enum next send(struct request *r, struct str type, struct str body)
{
    r->res.status = 200;
    r->res.content_type = type;
    response_set_constant_body(r, body);
    return NEXT_DONE;
}

static enum next no_page(struct request *r)
{
    r->res.status = r->res.status ? r->res.status : 404; /* 404, or 405 if the router has set it */
    r->res.content_type = STR("text/plain; charset=utf-8");
    buf_append(&r->res.body, r->res.status == 404
                                 ? STR("Page not found. The documentation begins at /docs.\n")
                                 : STR("This page accepts GET and HEAD only.\n"));
    return NEXT_DONE;
}

static enum next index_step(struct request *r)
{
    const struct reference *ref = r->app->ctx;
    return send(r, STR("text/html; charset=utf-8"), buf_str(&ref->index));
}

static enum next page_step(struct request *r)
{
    const struct reference *ref = r->app->ctx;
    for (size_t i = 0; i < GUIDES; i++)
        if (str_eq(r->path_parameter, str_from_cstr(guides[i].name)))
            return send(r, STR("text/html; charset=utf-8"), buf_str(&ref->pages[i]));
    if (str_eq(r->path_parameter, STR("style.css")))
        return send(r, STR("text/css; charset=utf-8"), buf_str(&ref->style));
    if (str_eq(r->path_parameter, STR("search.js")))
        return send(r, STR("text/javascript; charset=utf-8"), str_make(docs_js, docs_js_len));
    return no_page(r);
}

static const struct route index_route = {.path = "/docs", .methods = ROUTE_GET, .start = index_step},
                          page_route = {.path = "/docs/{name}", .methods = ROUTE_GET, .start = page_step};
const struct route *const reference_routes[] = {&index_route, &page_route, NULL};

static enum next start_step(struct request *r)
{
    return r->route->start(r);
}

static void reject(struct request *r, const char *message)
{
    r->res.content_type = STR("text/plain; charset=utf-8");
    buf_append(&r->res.body, str_from_cstr(message));
}

static void finish(struct request *r)
{
    response_add_field(r, STR("X-Request-Id"), r->id);
    response_add_lines(
        r, STR("Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; img-src "
               "data:; "
               "form-action 'none'; base-uri 'none'; frame-ancestors 'none'\r\n"
               "X-Frame-Options: DENY\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: same-origin\r\n"
               "Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n"
               "Cache-Control: no-cache\r\n"));
}

/* ---- creating and freeing ---- */

struct reference *reference_new(const struct description *description)
{
    struct reference *ref = xcalloc(1, sizeof *ref);
    ref->description = description;
    ref->http = (struct http_app){
        .ctx = ref, .start = start_step, .no_route = no_page, .reject = reject, .finish = finish};
    ref->openapi = openapi_parse(description->openapi);
    render_index(ref);
    for (size_t i = 0; i < GUIDES; i++)
        render_guide(ref, i);
    buf_init(&ref->style, PAGE_BYTES_MAX);
    buf_append(&ref->style, str_make(style_css, style_css_len));
    buf_append(&ref->style, str_make(docs_css, docs_css_len));
    openapi_free(ref->openapi);
    ref->openapi = NULL;
    return ref;
}

void reference_free(struct reference *ref)
{
    if (!ref)
        return;
    buf_fini(&ref->index);
    buf_fini(&ref->style);
    for (size_t i = 0; i < GUIDES; i++)
        buf_fini(&ref->pages[i]);
    free(ref);
}

const struct http_app *reference_app(const struct reference *reference)
{
    return &reference->http;
}
