/* Calls of Meta's connectors and their responses, in memory. */
#include "graph_rig.h"

#include "base/json.h"

#include <stdlib.h>

void graph_rig_init(struct graph_rig *r, const struct platform_desc *desc, const char *const *ids)
{
    *r = (struct graph_rig){
        .desc = desc,
        .options = {.origins = {"https://api.example", "https://token.example", "https://consent.example"},
                    .graph_version = "v26.0"}};
    arena_init(&r->arena, 4096);
    for (size_t n = 0; ids[n]; n++) {
        r->items[n].id = str_from_cstr(ids[n]);
        r->items[n].posted_at = 1795000000000;
        r->call.item_count++;
    }
    r->call.options = &r->options;
    r->call.account_id = STR("17841400000000000");
    r->call.access_token = STR("TOKEN");
    r->call.dropped = STR("");
    r->call.now_ms = 1795200000000;
    r->call.items = r->items;
}

void graph_rig_fini(struct graph_rig *r)
{
    arena_fini(&r->arena);
}

struct str graph_rig_json(struct graph_rig *r, const char *text)
{
    struct str s = arena_copy(&r->arena, str_from_cstr(text));
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] == '\'')
            ((char *)(uintptr_t)s.p)[i] = '"';
    return s;
}

static struct str take(struct graph_rig *r, struct buf *b)
{
    struct str s = arena_copy(&r->arena, buf_str(b));
    buf_fini(b);
    return s;
}

struct str graph_rig_entry(struct graph_rig *r, int code, const char *body)
{
    struct buf b;
    if (!body)
        return STR("null");
    buf_init(&b, 8 << 20);
    buf_printf(
        &b, "{\"code\":%d,\"headers\":[{\"name\":\"Content-Type\",\"value\":\"text/javascript\"}],\"body\":",
        code);
    json_str(&b, graph_rig_json(r, body));
    buf_append_char(&b, '}');
    return take(r, &b);
}

struct str graph_rig_batch(struct graph_rig *r, const struct str *entries, size_t count)
{
    struct buf b;
    buf_init(&b, 8 << 20);
    buf_append_char(&b, '[');
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_append_char(&b, ',');
        buf_append(&b, entries[i]);
    }
    buf_append_char(&b, ']');
    return take(r, &b);
}

void graph_rig_header(struct graph_rig *r, const char *name, const char *value)
{
    r->headers[r->header_count++] = (struct http_header){str_from_cstr(name), str_from_cstr(value)};
}

struct outcome graph_rig_parse(struct graph_rig *r, int status, struct str body)
{
    char *copy = malloc(body.len + !body.len);
    memcpy(copy, body.p, body.len);
    struct http_response response = {status, str_make(copy, body.len), r->headers, r->header_count};
    r->got = r->desc->parse(&r->arena, &r->call, &response);
    free(copy);
    return r->got;
}

struct outcome graph_rig_parse_text(struct graph_rig *r, int status, const char *text)
{
    return graph_rig_parse(r, status, graph_rig_json(r, text));
}

void graph_rig_build(struct graph_rig *r)
{
    r->desc->build(&r->arena, &r->call, &r->request);
}

static int hex(char c)
{
    return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

static struct str decode(struct graph_rig *r, struct str s)
{
    char *p = arena_alloc(&r->arena, s.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        assert_true(s.p[i] > ' ' && s.p[i] != '"' && s.p[i] != '+');
        if (s.p[i] == '%') {
            p[n++] = (char)(hex(s.p[i + 1]) << 4 | hex(s.p[i + 2]));
            i += 2;
        } else {
            p[n++] = s.p[i];
        }
    }
    return str_make(p, n);
}

struct str graph_rig_field(struct graph_rig *r, const char *name)
{
    struct str field, key;
    for (struct str rest = r->request.body; rest.p && rest.len;) {
        rest = str_cut(rest, '&', &field);
        struct str value = str_cut(field, '=', &key);
        if (str_eq(key, str_from_cstr(name)))
            return decode(r, value);
    }
    return (struct str){NULL, 0};
}

void assert_counts(const struct platform_item *item, int64_t views, int64_t likes, int64_t comments,
                   int64_t shares, int64_t saves)
{
    assert_int_equal(item->counts[COUNT_VIEWS], views);
    assert_int_equal(item->counts[COUNT_LIKES], likes);
    assert_int_equal(item->counts[COUNT_COMMENTS], comments);
    assert_int_equal(item->counts[COUNT_SHARES], shares);
    assert_int_equal(item->counts[COUNT_SAVES], saves);
}

void assert_outcome(struct outcome o, enum outcome_kind kind, enum outcome_scope scope, const char *code)
{
    assert_string_equal(outcome_kind_name(o.kind), outcome_kind_name(kind));
    assert_str(o.code, code);
    if (kind == OUTCOME_RETRY)
        assert_int_equal(o.scope, scope);
}
