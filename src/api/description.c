/* Writes the configured URLs into the embedded OpenAPI document. */
#include "api/description.h"

#include "base/buf.h"
#include "base/check.h"

#include <stdlib.h>

extern const char openapi_json[];
extern const size_t openapi_json_len;

/* The configured servers replace this text of the committed document. The text is valid OpenAPI, so that
 * linters can read the committed document. */
#define SERVERS STR("\"servers\": [{ \"url\": \"" CONFIG_BASE_URL_DEFAULT "\" }]")

static void append_server(struct buf *b, struct str url)
{
    buf_append(b, STR("{ \"url\": \""));
    buf_append(b, url); /* a configured URL needs no escaping: see is_url() of the configuration */
    buf_append(b, STR("\" }"));
}

/* Appends `text` with `base` in place of the default base URL. */
static void append_with_base(struct buf *b, struct str text, struct str base)
{
    const struct str placeholder = STR(CONFIG_BASE_URL_DEFAULT);
    for (const char *p; (p = memmem(text.p, text.len, placeholder.p, placeholder.len));) {
        const size_t before = (size_t)(p - text.p);
        buf_append(b, str_make(text.p, before));
        buf_append(b, base);
        text = str_make(p + placeholder.len, text.len - before - placeholder.len);
    }
    buf_append(b, text);
}

static void append_document(struct buf *b, struct str url, struct str base, struct str direct)
{
    const struct str document = str_make(openapi_json, openapi_json_len);
    const char *servers = memmem(document.p, document.len, SERVERS.p, SERVERS.len);
    CHECK(servers);
    append_with_base(b, str_make(document.p, (size_t)(servers - document.p)), url);
    buf_append(b, STR("\"servers\": ["));
    append_server(b, base);
    if (direct.len && !str_eq(direct, base)) {
        buf_append(b, STR(", "));
        append_server(b, direct);
    }
    buf_append_char(b, ']');
    const char *rest = servers + SERVERS.len;
    append_with_base(b, str_make(rest, (size_t)(document.p + document.len - rest)), url);
}

/* Returns a copy of the buffer's content that is allocated with malloc(), and empties the buffer. */
static struct str take(struct buf *b)
{
    CHECK(!b->failed);
    struct str copy = str_make(xmalloc(b->len + 1), b->len);
    memcpy((char *)(uintptr_t)copy.p, b->p, b->len);
    buf_reset(b, b->cap);
    return copy;
}

struct description *description_new(const struct config *config)
{
    enum { BYTES_MAX = 4 << 20 };
    struct description *d = xcalloc(1, sizeof *d);
    const struct str url = str_from_cstr(config->server.base_url);
    struct buf b;
    buf_init(&b, BYTES_MAX);
    buf_append(&b, config_is_set(config, "server", "base_url") ? url : STR("/v1"));
    d->base = take(&b);
    buf_append(&b, d->base);
    buf_append(&b, STR("/docs"));
    d->docs = take(&b);
    append_document(&b, url, d->base, str_from_cstr(config->server.direct_url));
    d->openapi = take(&b);
    buf_append(&b, url);
    d->url = take(&b);
    buf_fini(&b);
    return d;
}

void description_free(struct description *d)
{
    if (!d)
        return;
    free((char *)(uintptr_t)d->base.p);
    free((char *)(uintptr_t)d->docs.p);
    free((char *)(uintptr_t)d->openapi.p);
    free((char *)(uintptr_t)d->url.p);
    free(d);
}

void description_append_with_base(struct buf *b, const struct description *d, struct str text)
{
    append_with_base(b, text, d->url);
}
