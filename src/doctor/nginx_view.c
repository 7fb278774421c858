/* Finds every proxy_pass that leads to an address on which viewtally listens. */
#include "doctor/nginx_view.h"

#include "base/check.h"
#include "doctor/nginx_text.h"

#include <ctype.h>
#include <stdlib.h>

enum { TEXT_MAX = 16 << 20, ARENA_BYTES = 64 << 10 };

/* Begins the line before each file in the output of `nginx -T`. */
#define DUMP_MARK "# configuration file "

/* ---- addresses ---- */

/* Splits an address of [server] listen or proxy_pass, such as "127.0.0.1:8080", at the last colon. Returns
 * the port, or "80" if the address contains none. */
static struct str port_of(struct str address, struct str *host)
{
    const char *colon = address.len ? memrchr(address.p, ':', address.len) : NULL;
    if (!colon || address.p[address.len - 1] == ']') {
        *host = address;
        return STR("80");
    }
    *host = str_make(address.p, (size_t)(colon - address.p));
    return str_make(colon + 1, address.len - host->len - 1);
}

static bool is_local(struct str host)
{
    return str_eq(host, STR("localhost")) || str_starts_with(host, STR("127.")) || str_eq(host, STR("[::1]"));
}

static bool is_any(struct str host)
{
    return str_eq(host, STR("0.0.0.0")) || str_eq(host, STR("[::]"));
}

struct address_search {
    struct str address;
    bool found;
};

static void compare_address(void *ctx, struct str listen)
{
    struct address_search *s = ctx;
    struct str ours, theirs;
    if (str_eq(listen, s->address)) {
        s->found = true;
        return;
    }
    if (str_starts_with(listen, STR("unix:")) || str_starts_with(s->address, STR("unix:")))
        return;
    const bool same_port = str_eq(port_of(listen, &ours), port_of(s->address, &theirs));
    s->found = s->found || (same_port && (is_any(ours) || (is_local(ours) && is_local(theirs))));
}

/* Returns true if the name of an address contains "viewtally". Such an address is considered one of
 * viewtally, because [server] listen does not contain the address if systemd opens the socket. */
static bool has_our_name(struct str text)
{
    return text.len && memmem(text.p, text.len, "viewtally", 9);
}

static bool is_ours(const struct config *c, struct str address)
{
    struct address_search s = {.address = address};
    config_each_item(c->server.listen, compare_address, &s);
    return s.found || has_our_name(address);
}

/* ---- proxies ---- */

/* Returns the address or the name of the upstream in "http://NAME/path" or "http://unix:/path:/uri". */
static struct str target_of(struct str url)
{
    const char *slashes = url.len ? memmem(url.p, url.len, "://", 3) : NULL;
    struct str target, rest = slashes ? str_make(slashes + 3, url.len - (size_t)(slashes + 3 - url.p)) : url;
    if (!str_starts_with(rest, STR("unix:"))) {
        (void)str_cut(rest, '/', &target);
        return target;
    }
    (void)str_cut(str_make(rest.p + 5, rest.len - 5), ':', &target);
    return str_make(rest.p, 5 + target.len);
}

static const struct nginx_directive *find_upstream(const struct nginx_directive *root, struct str name)
{
    for (const struct nginx_directive *d = root; d; d = nginx_next_in_text(d))
        if (str_eq(nginx_word(d, 0), STR("upstream")) && str_eq(nginx_word(d, 1), name))
            return d;
    return NULL;
}

static void add_proxy(struct nginx_view *v, const struct config *c, const struct nginx_directive *pass)
{
    const struct str target = target_of(nginx_word(pass, 1));
    const struct nginx_directive *upstream = find_upstream(v->root, target), *server = NULL;
    struct str address = target;
    if (upstream) {
        address = (struct str){NULL, 0};
        while ((server = nginx_next_child(upstream, server, "server")) && !address.p)
            if (has_our_name(target) || is_ours(c, nginx_word(server, 1)))
                address = nginx_word(server, 1);
    } else if (!is_ours(c, address)) {
        address.p = NULL;
    }
    if (address.p)
        *VEC_ADD(&v->proxies) =
            (struct nginx_proxy){.location = pass->parent, .upstream = upstream, .address = address};
}

struct nginx_view *nginx_view_read(const char *file, const struct config *c)
{
    struct nginx_view *v = xcalloc(1, sizeof *v);
    arena_init(&v->arena, ARENA_BYTES);
    buf_init(&v->text, TEXT_MAX);
    const enum err err =
        file ? nginx_read_file(file, &v->text, &v->error) : nginx_run_dump(&v->text, &v->error);
    v->source = !err ? NGINX_READ : err == ERR_NOT_FOUND ? NGINX_ABSENT : NGINX_UNREADABLE;
    if (err)
        return v;
    v->root = nginx_parse(&v->arena, buf_str(&v->text), str_from_cstr(file ? file : "nginx -T"), &v->error);
    if (!v->root)
        v->source = NGINX_UNREADABLE;
    const struct str text = buf_str(&v->text);
    const bool is_dump = text.len && memmem(text.p, text.len, DUMP_MARK, strlen(DUMP_MARK));
    for (const struct nginx_directive *d = v->root; d; d = nginx_next_in_text(d)) {
        if (str_eq(nginx_word(d, 0), STR("proxy_pass")) && nginx_word(d, 1).p)
            add_proxy(v, c, d);
        else if (str_eq(nginx_word(d, 0), STR("include")) && !is_dump)
            v->lacks_includes = true;
    }
    return v;
}

void nginx_view_free(struct nginx_view *v)
{
    if (!v)
        return;
    VEC_FREE(&v->proxies);
    buf_fini(&v->text);
    arena_fini(&v->arena);
    free(v);
}

/* ---- parsing values ---- */

struct str nginx_value(const struct nginx_directive *block, const char *name, struct str initial)
{
    const struct nginx_directive *at = nginx_find_inherited(block, name);
    const struct str value = at ? nginx_word(nginx_next_child(at, NULL, name), 1) : initial;
    return value.p ? value : initial;
}

static int64_t unit_ms(struct str *text)
{
    static const struct {
        struct str name;
        int64_t ms;
    } units[] = {{{"ms", 2}, 1},      {{"s", 1}, 1000},     {{"m", 1}, 60000},
                 {{"h", 1}, 3600000}, {{"d", 1}, 86400000}, {{"w", 1}, 604800000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (str_starts_with(*text, units[i].name)) {
            *text = str_make(text->p + units[i].name.len, text->len - units[i].name.len);
            return units[i].ms;
        }
    return text->len && *text->p != ' ' ? -1 : 1000;
}

int64_t nginx_parse_time(struct str text)
{
    int64_t total = 0;
    if (!text.len)
        return -1;
    while (text.len) {
        size_t digits = 0;
        unsigned long long n;
        while (digits < text.len && isdigit((unsigned char)text.p[digits]))
            digits++;
        if (!str_to_u64(str_make(text.p, digits), INT32_MAX, &n))
            return -1;
        text = str_make(text.p + digits, text.len - digits);
        const int64_t unit = unit_ms(&text);
        if (unit < 0)
            return -1;
        total += (int64_t)n * unit;
        text = str_trim(text);
    }
    return total;
}

bool nginx_has_variable(struct str text, const char *name)
{
    const size_t len = strlen(name);
    for (size_t i = 0; i < text.len; i++) {
        struct str rest = str_make(text.p + i, text.len - i);
        if (*rest.p != '$')
            continue;
        const size_t brace = rest.len > 1 && rest.p[1] == '{';
        rest = str_make(rest.p + 1 + brace, rest.len - 1 - brace);
        if (!str_starts_with(rest, str_make(name, len)))
            continue;
        const char after = rest.len > len ? rest.p[len] : ' ';
        if (brace ? after == '}' : !isalnum((unsigned char)after) && after != '_')
            return true;
    }
    return false;
}
