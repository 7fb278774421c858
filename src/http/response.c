/* Builds responses: header fields, entity tags, and the head as text. */
#include "http/response.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "http/grammar.h"
#include "http/response_head.h"
#include "http/request.h"

#include <time.h>

void response_add_field(struct request *r, struct str name, struct str value)
{
    CHECK(r->res.field_count < RESPONSE_FIELDS_MAX);
    for (size_t i = 0; i < value.len; i++)
        CHECK(value.p[i] != '\r' && value.p[i] != '\n' && value.p[i] != '\0');
    r->res.fields[r->res.field_count++] = (struct response_field){.name = name, .value = value};
}

bool response_has_field(const struct request *r, struct str name)
{
    for (size_t i = 0; i < r->res.field_count; i++)
        if (str_eq(r->res.fields[i].name, name))
            return true;
    return false;
}

void response_add_lines(struct request *r, struct str lines)
{
    CHECK(r->res.field_count < RESPONSE_FIELDS_MAX);
    r->res.fields[r->res.field_count++] = (struct response_field){.value = lines};
}

void response_set_shared_body(struct request *r, struct shared_body *body)
{
    CHECK(!r->res.shared_body);
    r->res.shared_body = shared_body_acquire(body);
}

void response_replace_shared_body(struct request *r, struct shared_body *body)
{
    struct shared_body *old = r->res.shared_body;
    r->res.shared_body = shared_body_acquire(body);
    shared_body_release(old);
}

void response_set_constant_body(struct request *r, struct str body)
{
    r->res.constant_body = body;
}

void response_reset(struct request *r)
{
    struct response *res = &r->res;
    CHECK(!res->streaming);
    response_release_body(res);
    buf_reset(&res->body, res->body.cap);
    *res = (struct response){.body = res->body};
}

struct str response_make_etag(struct request *r, struct str text)
{
    char hash[HASH_TEXT_LEN];
    hash_128_text(text, hash);
    return arena_printf(&r->arena, "\"%.*s\"", HASH_TEXT_LEN, hash);
}

bool response_is_not_modified(const struct request *r, struct str etag)
{
    struct str list = r->field[FIELD_IF_NONE_MATCH];
    return list.p && (r->method == METHOD_GET || r->method == METHOD_HEAD) &&
           grammar_etag_matches(list, etag);
}

static const char *reason_of(int status)
{
    switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 410: return "Gone";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
    }
}

void response_release_body(struct response *res)
{
    shared_body_release(res->shared_body);
    res->shared_body = NULL;
}

struct str response_body(const struct response *res)
{
    if (res->shared_body)
        return shared_body_text(res->shared_body);
    return res->constant_body.p ? res->constant_body : buf_str(&res->body);
}

void response_apply_etag(struct request *r)
{
    struct response *res = &r->res;
    bool reads = r->method == METHOD_GET || r->method == METHOD_HEAD;
    if (res->status != 200 || !reads)
        return;
    if (!res->etag.p)
        res->etag = response_make_etag(r, response_body(res));
    if (response_is_not_modified(r, res->etag))
        res->status = 304;
}

bool response_has_body(const struct response *res)
{
    return res->status != 304 && res->status != 204;
}

/* Returns the value of the Date field (IMF-fixdate, RFC 9110, 5.6.7). Formats it once per second. */
static struct str date_text(struct date_cache *cache)
{
    int64_t second = clock_wall_ms() / SECOND_MS;
    if (second != cache->second) {
        time_t t = (time_t)second;
        struct tm tm;
        CHECK(gmtime_r(&t, &tm) &&
              strftime(cache->text, sizeof cache->text, "%a, %d %b %Y %H:%M:%S GMT", &tm) == 29);
        cache->second = second;
    }
    return str_make(cache->text, 29);
}

static void append_field(struct buf *b, struct str name, struct str value)
{
    char *to = buf_reserve(b, name.len + value.len + 4);
    if (!to)
        return;
    memcpy(to, name.p, name.len);
    to += name.len;
    *to++ = ':';
    *to++ = ' ';
    if (value.len)
        memcpy(to, value.p, value.len);
    to += value.len;
    *to++ = '\r';
    *to = '\n';
    b->len += name.len + value.len + 4;
}

static void append_fields(struct buf *b, const struct response *res)
{
    for (size_t i = 0; i < res->field_count; i++) {
        const struct response_field *f = &res->fields[i];
        if (f->name.p)
            append_field(b, f->name, f->value);
        else
            buf_append(b, f->value);
    }
}

static void append_status(struct buf *b, int status)
{
    char digits[20];
    buf_append(b, STR("HTTP/1.1 "));
    buf_append(b, str_make(digits, i64_format(status, digits)));
    buf_append_char(b, ' ');
    buf_append(b, str_from_cstr(reason_of(status)));
    buf_append(b, STR("\r\n"));
}

static void append_length(struct buf *b, size_t len)
{
    char digits[20];
    append_field(b, STR("Content-Length"), str_make(digits, i64_format((int64_t)len, digits)));
}

void response_write_head(const struct response *res, enum response_framing framing, bool keeps_alive,
                         bool http_1_0, struct date_cache *cache, struct buf *b)
{
    append_status(b, res->status);
    append_field(b, STR("Date"), date_text(cache));
    if (res->content_type.p && response_has_body(res))
        append_field(b, STR("Content-Type"), res->content_type);
    if (framing == FRAMING_CHUNKED)
        append_field(b, STR("Transfer-Encoding"), STR("chunked"));
    else if (framing == FRAMING_LENGTH && response_has_body(res))
        append_length(b, response_body(res).len);
    if (res->etag.p && (res->status == 200 || res->status == 304))
        append_field(b, STR("ETag"), res->etag);
    append_fields(b, res);
    if (!keeps_alive)
        append_field(b, STR("Connection"), STR("close"));
    else if (http_1_0)
        append_field(b, STR("Connection"), STR("keep-alive"));
    buf_append(b, STR("\r\n"));
}
