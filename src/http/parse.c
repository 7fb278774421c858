/* The only file that knows llhttp. No lenient flag is ever set.
 *
 * llhttp hands out fragments: a name, a value or the target is complete only in its `*_complete` callback, so
 * they are gathered in buffers and looked at there. A callback that refuses sets status and message and
 * returns REFUSE, which ends llhttp_execute(). Each request gets a freshly initialised llhttp: its own memory
 * of a connection (`Connection: close` seen, an upgrade) is not used. */
#include "http/parse.h"

#include "base/check.h"
#include "http/grammar.h"

#include <llhttp.h>
#include <stdlib.h>

enum { REFUSE = -1, NAME_MAX_BYTES = 64, EXTENSION_BYTES = 1024, TRAILER_BYTES = 4096, WIRE_FACTOR = 8 };

/* Fields that only the parser looks at stand behind the request's own. */
enum { SLOT_EXPECT = FIELD_COUNT, SLOT_TRANSFER_ENCODING, SLOT_COUNT, SLOT_NONE = -1 };

static const struct {
    const char *name; /* lower case */
    int slot;
} known_fields[] = {
    {"host", FIELD_HOST},
    {"authorization", FIELD_AUTHORIZATION},
    {"if-none-match", FIELD_IF_NONE_MATCH},
    {"accept", FIELD_ACCEPT},
    {"content-type", FIELD_CONTENT_TYPE},
    {"cookie", FIELD_COOKIE},
    {"origin", FIELD_ORIGIN},
    {"x-request-id", FIELD_X_REQUEST_ID},
    {"x-forwarded-for", FIELD_X_FORWARDED_FOR},
    {"x-forwarded-proto", FIELD_X_FORWARDED_PROTO},
    {"access-control-request-method", FIELD_ACCESS_CONTROL_REQUEST_METHOD},
    {"expect", SLOT_EXPECT},
    {"transfer-encoding", SLOT_TRANSFER_ENCODING},
};

struct parser {
    llhttp_t ll;
    struct request *r;
    const struct http_limits *limits;
    int status; /* of the refusal; 0: none */
    const char *message;
    size_t head_bytes;  /* given to llhttp before the head was complete */
    size_t field_bytes; /* in names and values and what separates them, of head or trailer */
    size_t lines;
    size_t wire_bytes; /* given to llhttp behind the head */
    size_t extension_bytes;
    size_t body_capacity;
    bool head_done, done, keeps_alive, wants_continue;
    int slot;
    size_t name_len;
    char name[NAME_MAX_BYTES];
    char protocol[8];
    size_t protocol_len;
    struct buf text; /* the target, then one value after the other */
    struct str value[SLOT_COUNT];
    unsigned char count[SLOT_COUNT];
};

static struct parser *parser_of(llhttp_t *ll)
{
    return ll->data;
}

static int refuse(struct parser *p, int status, const char *message)
{
    p->status = status;
    p->message = message;
    return REFUSE;
}

/* ---- request line ---- */

static int on_target(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    if (p->text.len + len > p->limits->target_bytes)
        return refuse(p, 414, "The request target is too long.");
    buf_append(&p->text, str_make(at, len));
    return 0;
}

static int on_target_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    p->r->target = arena_copy(&p->r->arena, buf_str(&p->text));
    p->field_bytes = p->text.len;
    p->text.len = 0;
    return 0;
}

static int on_protocol(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    for (size_t i = 0; i < len && p->protocol_len < sizeof p->protocol; i++)
        p->protocol[p->protocol_len++] = at[i];
    return 0;
}

/* ---- header and trailer fields ---- */

static int count_field_bytes(struct parser *p, size_t len)
{
    p->field_bytes += len;
    if (p->field_bytes > (p->head_done ? TRAILER_BYTES : p->limits->head_bytes))
        return refuse(p, 431, "The header fields are too large.");
    return 0;
}

static int on_field(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    for (size_t i = 0; i < len; i++, p->name_len++)
        if (p->name_len < NAME_MAX_BYTES)
            p->name[p->name_len] = at[i];
    return count_field_bytes(p, len);
}

static int slot_of(struct str name)
{
    for (size_t i = 0; i < sizeof known_fields / sizeof known_fields[0]; i++)
        if (str_eq_nocase(name, str_from_cstr(known_fields[i].name)))
            return known_fields[i].slot;
    return SLOT_NONE;
}

/* Trailers count against their limit and mean nothing (RFC 9110, 6.5.1). */
static int on_field_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    bool fits = p->name_len <= NAME_MAX_BYTES;
    p->slot = fits && !p->head_done ? slot_of(str_make(p->name, p->name_len)) : SLOT_NONE;
    p->name_len = 0;
    p->text.len = 0;
    if (++p->lines > p->limits->field_lines)
        return refuse(p, 431, "There are too many header fields.");
    return count_field_bytes(p, 4); /* ": " and the line end */
}

static int on_value(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    if (p->slot != SLOT_NONE)
        buf_append(&p->text, str_make(at, len));
    return count_field_bytes(p, len);
}

static int on_value_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    if (p->slot == SLOT_NONE)
        return 0;
    struct str value = str_trim(buf_str(&p->text)), *slot = &p->value[p->slot];
    *slot = p->count[p->slot]
                ? arena_printf(&p->r->arena, "%.*s, %.*s", (int)slot->len, slot->p, (int)value.len, value.p)
                : arena_copy(&p->r->arena, value);
    if (p->count[p->slot] < 255)
        p->count[p->slot]++;
    return 0;
}

/* ---- the complete head ---- */

static int check_version(struct parser *p)
{
    if (!str_eq(str_make(p->protocol, p->protocol_len), STR("HTTP")) || p->ll.http_major != 1 ||
        p->ll.http_minor > 1)
        return refuse(p, 505, "Only HTTP/1.1 and HTTP/1.0 are spoken here.");
    return 0;
}

static int check_host(struct parser *p)
{
    unsigned count = p->count[FIELD_HOST];
    if (count > 1 || (count == 0 && p->ll.http_minor == 1))
        return refuse(p, 400, "There must be exactly one Host header field.");
    if (count && !grammar_is_host(p->value[FIELD_HOST]))
        return refuse(p, 400, "The Host header field is not valid.");
    return 0;
}

static int check_target(struct parser *p)
{
    struct request *r = p->r;
    bool options = p->ll.method == HTTP_OPTIONS;
    if (!grammar_split_target(r->target, &r->path, &r->query) || (str_eq(r->path, STR("*")) && !options))
        return refuse(p, 400, "The request target is not valid.");
    return 0;
}

static int check_framing(struct parser *p)
{
    bool chunked = p->count[SLOT_TRANSFER_ENCODING];
    if (p->ll.method == HTTP_CONNECT)
        return refuse(p, 501, "CONNECT is not supported.");
    if (chunked && p->ll.http_minor == 0)
        return refuse(p, 400, "HTTP/1.0 has no Transfer-Encoding.");
    if (chunked && (p->count[SLOT_TRANSFER_ENCODING] > 1 ||
                    !str_eq_nocase(p->value[SLOT_TRANSFER_ENCODING], STR("chunked"))))
        return refuse(p, 501, "The only transfer coding supported is chunked.");
    if (!chunked && p->ll.content_length > p->limits->body_bytes)
        return refuse(p, 413, "The request body is too large.");
    return 0;
}

static int check_expect(struct parser *p)
{
    if (!p->count[SLOT_EXPECT] || p->ll.http_minor == 0)
        return 0;
    if (!str_eq_nocase(p->value[SLOT_EXPECT], STR("100-continue")))
        return refuse(p, 417, "The only expectation supported is 100-continue.");
    p->wants_continue = p->count[SLOT_TRANSFER_ENCODING] || p->ll.content_length > 0;
    return 0;
}

static enum http_method method_of(const llhttp_t *ll)
{
    switch (ll->method) {
    case HTTP_GET: return METHOD_GET;
    case HTTP_HEAD: return METHOD_HEAD;
    case HTTP_POST: return METHOD_POST;
    case HTTP_OPTIONS: return METHOD_OPTIONS;
    default: return METHOD_OTHER;
    }
}

static int on_head_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    struct request *r = p->r;
    p->head_done = true;
    p->field_bytes = 0;
    r->method = method_of(ll);
    memcpy(r->field, p->value, sizeof r->field);
    memcpy(r->field_count, p->count, sizeof r->field_count);
    /* An upgrade is never taken: the request is served as it stands, and what follows is the next one (RFC
     * 9110, 7.8). */
    ll->upgrade = 0;
    if (check_version(p) || check_framing(p) || check_host(p) || check_target(p) || check_expect(p))
        return REFUSE;
    return 0;
}

/* ---- body ---- */

static int on_body(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    struct str *body = &p->r->body;
    if (body->len + len > p->limits->body_bytes)
        return refuse(p, 413, "The request body is too large.");
    if (!p->body_capacity) {
        p->body_capacity =
            p->count[SLOT_TRANSFER_ENCODING] ? p->limits->body_bytes : ll->content_length + len;
        body->p = arena_alloc(&p->r->arena, p->body_capacity);
    }
    CHECK(body->len + len <= p->body_capacity);
    memcpy((char *)(uintptr_t)body->p + body->len, at, len);
    body->len += len;
    return 0;
}

/* llhttp counts no extension bytes (CVE-2024-22019): a chunk header may be endless. */
static int on_extension(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    (void)at;
    p->extension_bytes += len;
    return p->extension_bytes > EXTENSION_BYTES ? refuse(p, 413, "The chunk extensions are too large.") : 0;
}

static int on_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    p->done = true;
    p->keeps_alive = llhttp_should_keep_alive(ll);
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_protocol = on_protocol,
    .on_url = on_target,
    .on_url_complete = on_target_complete,
    .on_header_field = on_field,
    .on_header_field_complete = on_field_complete,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_head_complete,
    .on_chunk_extension_name = on_extension,
    .on_chunk_extension_value = on_extension,
    .on_body = on_body,
    .on_message_complete = on_complete,
};

/* ---- the parser ---- */

struct parser *parser_new(void)
{
    struct parser *p = xcalloc(1, sizeof *p);
    buf_init(&p->text, 64 << 10);
    return p;
}

void parser_free(struct parser *p)
{
    buf_fini(&p->text);
    free(p);
}

void parser_begin(struct parser *p, struct request *r, const struct http_limits *limits)
{
    struct buf text = p->text;
    buf_reset(&text, 4 << 10);
    *p = (struct parser){.r = r, .limits = limits, .text = text, .slot = SLOT_NONE};
    llhttp_init(&p->ll, HTTP_REQUEST, &settings);
    p->ll.data = p;
}

static enum parse fail_as_llhttp(struct parser *p)
{
    if (!p->status)
        (void)refuse(p, 400, "The request is not valid HTTP/1.1.");
    return PARSE_FAILED;
}

/* What the callbacks cannot see: white space, empty lines, chunk sizes. */
static enum parse check_wire(struct parser *p, bool was_in_head, size_t len)
{
    if (was_in_head && !p->head_done) {
        p->head_bytes += len;
        if (p->head_bytes > p->limits->head_bytes && !p->status)
            (void)refuse(p, 431, "The request head is too large.");
    } else if (!was_in_head) {
        p->wire_bytes += len;
        if (p->wire_bytes > WIRE_FACTOR * p->limits->body_bytes + TRAILER_BYTES)
            (void)refuse(p, 413, "The request body is too large.");
    }
    return p->status ? PARSE_FAILED : PARSE_MORE;
}

enum parse parser_feed(struct parser *p, struct str bytes, size_t *used)
{
    bool was_in_head = !p->head_done;
    CHECK(!p->status && !p->done);
    llhttp_errno_t e = llhttp_execute(&p->ll, bytes.p, bytes.len);
    *used = bytes.len;
    if (e == HPE_PAUSED && p->done) {
        *used = (size_t)(llhttp_get_error_pos(&p->ll) - bytes.p);
        return PARSE_DONE;
    }
    return e == HPE_OK ? check_wire(p, was_in_head, bytes.len) : fail_as_llhttp(p);
}

int parser_status(const struct parser *p)
{
    return p->status;
}

const char *parser_message(const struct parser *p)
{
    return p->message;
}

bool parser_is_in_body(const struct parser *p)
{
    return p->head_done && !p->done;
}

bool parser_takes_continue(struct parser *p)
{
    bool wants = p->wants_continue;
    p->wants_continue = false;
    return wants && parser_is_in_body(p);
}

bool parser_keeps_alive(const struct parser *p)
{
    return p->keeps_alive;
}

bool parser_is_http_1_0(const struct parser *p)
{
    return p->ll.http_major == 1 && p->ll.http_minor == 0;
}
