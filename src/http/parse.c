/* The only file that includes llhttp. Never sets one of its lenient flags.
 *
 *   START --first byte of a request line--> HEAD --empty line--> BODY --end--> DONE
 *   skip_empty_lines(): empty lines          on_head_complete()   on_complete()
 *
 * llhttp reports fragments, which are collected in buffers: a name, a value or the target is complete only in
 * its `*_complete` callback, which checks it. A callback that rejects the request sets status and message and
 * returns REJECT, which ends llhttp_execute(). llhttp is initialized again for each request, so the state
 * that it has for the connection (`Connection: close` seen, an upgrade) is not used.
 *
 * Limits are exact: llhttp never gets more bytes than the limit allows, so that the result does not depend on
 * how the stream was split into reads. */
#include "http/parse.h"

#include "base/check.h"
#include "http/grammar.h"

#include <limits.h>
#include <llhttp.h>
#include <stdlib.h>

enum {
    REJECT = -1,
    NAME_MAX_BYTES = 64,    /* the stored part of a field name; all known names are shorter */
    VERSION_MAX_BYTES = 8,  /* the stored part of the version; "1.1" is enough */
    EMPTY_LINES_BYTES = 16, /* maximum size of the empty lines before a request line; a server must accept at
                               least one (RFC 9112, 2.2) */
    EXTENSION_BYTES = 1024, /* maximum size of the extensions of all chunks together */
    TRAILER_BYTES = 4096,
    WIRE_FACTOR = 8, /* a chunked body with its framing may be this many times the size limit of the body */
    TEXT_RETAINED = 4 << 10, /* maximum capacity that the text buffer keeps between requests */
};

/* Fields that only the parser uses; their numbers follow enum http_field. */
enum { SLOT_EXPECT = FIELD_COUNT, SLOT_TRANSFER_ENCODING, SLOT_COUNT, SLOT_NONE = -1 };

#define NAME(literal)                                                                                        \
    {                                                                                                        \
        (literal), sizeof(literal) - 1                                                                       \
    }

static const struct {
    struct str name; /* lower case */
    int slot;
} known_fields[] = {
    {NAME("host"), FIELD_HOST},
    {NAME("authorization"), FIELD_AUTHORIZATION},
    {NAME("if-none-match"), FIELD_IF_NONE_MATCH},
    {NAME("accept"), FIELD_ACCEPT},
    {NAME("accept-encoding"), FIELD_ACCEPT_ENCODING},
    {NAME("content-type"), FIELD_CONTENT_TYPE},
    {NAME("cookie"), FIELD_COOKIE},
    {NAME("origin"), FIELD_ORIGIN},
    {NAME("sec-fetch-site"), FIELD_SEC_FETCH_SITE},
    {NAME("x-request-id"), FIELD_X_REQUEST_ID},
    {NAME("x-forwarded-for"), FIELD_X_FORWARDED_FOR},
    {NAME("x-forwarded-proto"), FIELD_X_FORWARDED_PROTO},
    {NAME("traceparent"), FIELD_TRACEPARENT},
    {NAME("x-viewtally-timing"), FIELD_X_VIEWTALLY_TIMING},
    {NAME("access-control-request-method"), FIELD_ACCESS_CONTROL_REQUEST_METHOD},
    {NAME("expect"), SLOT_EXPECT},
    {NAME("transfer-encoding"), SLOT_TRANSFER_ENCODING},
};

enum phase { PHASE_START, PHASE_HEAD, PHASE_BODY, PHASE_DONE };

/* One line of a known field, as offsets into parser.text. */
struct value_line {
    int slot;
    uint32_t offset, len;
};

struct parser {
    llhttp_t ll;
    struct request *r;
    const struct http_limits *limits;
    enum phase phase;
    int status; /* status code of the rejection; 0 if not rejected */
    const char *message;
    const char *input;   /* the bytes that llhttp is reading */
    size_t before_input; /* bytes of the request that precede `input` */
    size_t line_end;     /* offset at which the most recently read part of the request ends */
    size_t empty_bytes;  /* bytes of the empty lines before the request line */
    size_t head_left;    /* number of bytes that may still be added to the head */
    size_t wire_left;    /* number of bytes of body and framing that may still be read */
    size_t extension_left, trailer_left, lines_left;
    size_t body_capacity;
    bool after_cr, keeps_alive, expects_continue, lacks_memory;
    int slot;           /* the field that is being parsed */
    size_t value_begin; /* offset of the field's value in `text` */
    size_t name_len, protocol_len, version_len;
    char name[NAME_MAX_BYTES];
    char protocol[VERSION_MAX_BYTES], version[VERSION_MAX_BYTES];
    struct str extra_field; /* name of FIELD_EXTRA; empty: no such field is parsed */
    struct buf text;        /* bytes of the request target, followed by the values of all known fields */
    struct value_line lines[HTTP_FIELD_LINES_MAX];
    size_t line_count;
    struct str value[SLOT_COUNT]; /* set by join_values() */
    unsigned char count[SLOT_COUNT];
};

static struct parser *parser_of(llhttp_t *ll)
{
    return ll->data;
}

static int reject(struct parser *p, int status, const char *message)
{
    p->status = status;
    p->message = message;
    return REJECT;
}

/* Appends a fragment to a text. `size` bytes are enough for every valid value; further bytes are counted but
 * not stored. */
static void collect(char *to, size_t *to_len, size_t size, const char *at, size_t len)
{
    if (*to_len < size)
        memcpy(to + *to_len, at, len < size - *to_len ? len : size - *to_len);
    *to_len += len;
}

static bool is_text(const char *text, size_t len, struct str want)
{
    return len == want.len && memcmp(text, want.p, len) == 0;
}

/* ---- request line ---- */

/* Called for each fragment of the request line. Checks that exactly one space separates the parts of the line
 * (RFC 9112, 3), because llhttp accepts any number of spaces. `first` is true for the first fragment of a
 * part. */
static int check_gap(struct parser *p, bool first, const char *at, size_t len)
{
    size_t begin = p->before_input + (size_t)(at - p->input);
    if (first && p->line_end && begin != p->line_end + 1)
        return reject(p, 400, "The parts of the request line must be separated by one space.");
    p->line_end = begin + len;
    return 0;
}

static int on_method(llhttp_t *ll, const char *at, size_t len)
{
    return check_gap(parser_of(ll), false, at, len);
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

static int on_method_complete(llhttp_t *ll)
{
    parser_of(ll)->r->method = method_of(ll);
    return 0;
}

static int on_target(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    if (check_gap(p, p->text.len == 0, at, len))
        return REJECT;
    size_t room = p->limits->target_bytes - p->text.len;
    buf_append(&p->text, str_make(at, len < room ? len : room));
    return len > room ? reject(p, 414, "The request target is too long.") : 0;
}

static int on_target_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    struct request *r = p->r;
    r->target = arena_copy(&r->arena, buf_str(&p->text));
    p->text.len = 0;
    bool valid = grammar_split_target(r->target, &r->path, &r->query);
    if (ll->method == HTTP_CONNECT)
        return reject(p, 501, "CONNECT is not supported.");
    if (!valid || (str_eq(r->path, STR("*")) && ll->method != HTTP_OPTIONS))
        return reject(p, 400, "The request target is not valid.");
    return 0;
}

static int on_protocol(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    bool first = p->protocol_len == 0;
    collect(p->protocol, &p->protocol_len, sizeof p->protocol, at, len);
    return check_gap(p, first, at, len);
}

static int on_protocol_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    return is_text(p->protocol, p->protocol_len, STR("HTTP")) ? 0 : reject(p, 400, "Not an HTTP request.");
}

static int reject_version(struct parser *p)
{
    return reject(p, 505, "The supported versions are HTTP/1.1 and HTTP/1.0.");
}

static int on_version(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    collect(p->version, &p->version_len, sizeof p->version, at, len);
    return 0;
}

static int on_version_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    bool known = ll->http_major == 1 && ll->http_minor <= 1;
    return known ? 0 : reject_version(p);
}

/* ---- header and trailer fields ---- */

/* Counts `len` bytes of a trailer field against the size limit of trailer fields. Header fields need no
 * counting here, because execute() limits the head as a whole. */
static int count_trailer(struct parser *p, size_t len)
{
    if (p->phase != PHASE_BODY)
        return 0;
    if (len > p->trailer_left)
        return reject(p, 431, "The trailer fields are too large.");
    p->trailer_left -= len;
    return 0;
}

static int on_field(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    collect(p->name, &p->name_len, sizeof p->name, at, len);
    return count_trailer(p, len);
}

static int slot_of(const struct parser *p, struct str name)
{
    for (size_t i = 0; i < sizeof known_fields / sizeof known_fields[0]; i++)
        if (name.len == known_fields[i].name.len && str_eq_nocase(name, known_fields[i].name))
            return known_fields[i].slot;
    return p->extra_field.len && str_eq_nocase(name, p->extra_field) ? (int)FIELD_EXTRA : SLOT_NONE;
}

/* Ignores trailer fields (RFC 9110, 6.5.1), but counts them against the limit of header lines. */
static int on_field_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    bool fits = p->name_len <= NAME_MAX_BYTES && p->phase == PHASE_HEAD;
    p->slot = fits ? slot_of(p, str_make(p->name, p->name_len)) : SLOT_NONE;
    p->name_len = 0;
    p->value_begin = p->text.len;
    if (p->lines_left-- == 0)
        return reject(p, 431, "There are too many header fields.");
    return 0;
}

static int on_value(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    if (p->slot != SLOT_NONE)
        buf_append(&p->text, str_make(at, len));
    return count_trailer(p, len);
}

static int on_value_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    if (p->slot == SLOT_NONE)
        return 0;
    struct str value = str_trim(str_make(p->text.p + p->value_begin, p->text.len - p->value_begin));
    p->lines[p->line_count++] = (struct value_line){
        .slot = p->slot, .offset = (uint32_t)(value.p - p->text.p), .len = (uint32_t)value.len};
    return 0;
}

/* ---- checks of the complete head ---- */

static size_t joined_size(const struct parser *p, int slot)
{
    size_t size = 0;
    for (size_t i = 0; i < p->line_count; i++)
        if (p->lines[i].slot == slot)
            size += p->lines[i].len + strlen(", ");
    return size;
}

static void append_value(struct str *joined, struct str value)
{
    char *end = (char *)(uintptr_t)joined->p + joined->len;
    memcpy(end, value.p, value.len);
    joined->len += value.len;
}

/* Joins the lines of each field to one value (RFC 9110, 5.3), once at the end of the head: joining line by
 * line would take quadratic time. */
static void join_values(struct parser *p)
{
    for (size_t i = 0; i < p->line_count; i++) {
        const struct value_line *line = &p->lines[i];
        struct str *joined = &p->value[line->slot];
        if (joined->p)
            append_value(joined, STR(", "));
        else
            joined->p = arena_alloc(&p->r->arena, joined_size(p, line->slot));
        append_value(joined, str_make(p->text.p + line->offset, line->len));
        if (p->count[line->slot] < UCHAR_MAX)
            p->count[line->slot]++;
    }
    p->line_count = 0;
    p->lacks_memory = p->lacks_memory || p->text.failed;
    buf_reset(&p->text, TEXT_RETAINED);
}

/* Stores the values of the header fields in the request. Call it also for a request that is rejected, because
 * its response contains the X-Request-Id. */
static void publish_fields(struct parser *p)
{
    join_values(p);
    memcpy(p->r->field, p->value, sizeof p->r->field);
    memcpy(p->r->field_count, p->count, sizeof p->r->field_count);
}

static int check_host(struct parser *p)
{
    unsigned count = p->count[FIELD_HOST];
    if (count > 1 || (count == 0 && p->ll.http_minor == 1))
        return reject(p, 400, "There must be exactly one Host header field.");
    if (count && !grammar_is_host(p->value[FIELD_HOST]))
        return reject(p, 400, "The Host header field is not valid.");
    return 0;
}

static int check_framing(struct parser *p)
{
    struct str codings = p->value[SLOT_TRANSFER_ENCODING];
    if (!codings.p && p->ll.content_length > p->limits->body_bytes)
        return reject(p, 413, "The request body is too large.");
    if (!codings.p || (str_eq_nocase(codings, STR("chunked")) && p->ll.http_minor == 1))
        return 0;
    if (p->ll.http_minor == 0)
        return reject(p, 400, "HTTP/1.0 does not support Transfer-Encoding.");
    if (grammar_ends_with_chunked(codings))
        return reject(p, 501, "The only supported transfer coding is chunked.");
    return reject(p, 400, "The Transfer-Encoding does not define the end of the body.");
}

static int check_expect(struct parser *p)
{
    if (!p->count[SLOT_EXPECT] || p->ll.http_minor == 0)
        return 0;
    if (!str_eq_nocase(p->value[SLOT_EXPECT], STR("100-continue")))
        return reject(p, 417, "The only supported expectation is 100-continue.");
    p->expects_continue = p->count[SLOT_TRANSFER_ENCODING] || p->ll.content_length > 0;
    return 0;
}

static int on_head_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    /* HTTP/0.9 has no version, so on_version_complete() was not called. */
    if (p->version_len == 0)
        return reject_version(p);
    join_values(p);
    if (check_framing(p) || check_host(p) || check_expect(p))
        return REJECT;
    p->phase = PHASE_BODY;
    return HPE_PAUSED;
}

/* ---- body ---- */

static int on_body(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    struct str *body = &p->r->body;
    if (len > p->limits->body_bytes - body->len)
        return reject(p, 413, "The request body is too large.");
    if (!p->body_capacity) {
        /* ll->content_length no longer includes this fragment. */
        p->body_capacity =
            p->count[SLOT_TRANSFER_ENCODING] ? p->limits->body_bytes : ll->content_length + len;
        body->p = arena_alloc(&p->r->arena, p->body_capacity);
    }
    CHECK(body->len + len <= p->body_capacity);
    memcpy((char *)(uintptr_t)body->p + body->len, at, len);
    body->len += len;
    return 0;
}

/* Limits the size of chunk extensions, because llhttp does not (CVE-2024-22019). */
static int on_extension(llhttp_t *ll, const char *at, size_t len)
{
    struct parser *p = parser_of(ll);
    (void)at;
    if (len > p->extension_left)
        return reject(p, 413, "The chunk extensions are too large.");
    p->extension_left -= len;
    return 0;
}

static int on_complete(llhttp_t *ll)
{
    struct parser *p = parser_of(ll);
    p->phase = PHASE_DONE;
    /* For HTTP/1.0 llhttp looks only for keep-alive, but `keep-alive, close` means close. */
    p->keeps_alive = llhttp_should_keep_alive(ll) && !(ll->flags & F_CONNECTION_CLOSE);
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_method = on_method,
    .on_method_complete = on_method_complete,
    .on_url = on_target,
    .on_url_complete = on_target_complete,
    .on_protocol = on_protocol,
    .on_protocol_complete = on_protocol_complete,
    .on_version = on_version,
    .on_version_complete = on_version_complete,
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

/* ---- running the parser ---- */

struct parser *parser_new(struct str extra_field)
{
    struct parser *p = try_calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->extra_field = extra_field;
    buf_init_fallible(&p->text, 64 << 10);
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
    CHECK(limits->field_lines <= HTTP_FIELD_LINES_MAX);
    buf_reset(&text, TEXT_RETAINED);
    *p = (struct parser){
        .r = r,
        .limits = limits,
        .head_left = limits->head_bytes,
        .wire_left = WIRE_FACTOR * limits->body_bytes + TRAILER_BYTES,
        .extension_left = EXTENSION_BYTES,
        .trailer_left = TRAILER_BYTES,
        .lines_left = limits->field_lines,
        .slot = SLOT_NONE,
        .extra_field = p->extra_field,
        .text = text,
    };
    llhttp_init(&p->ll, HTTP_REQUEST, &settings);
    p->ll.data = p;
}

/* Skips a few empty lines before a request line (RFC 9112, 2.2). llhttp would accept any number of them, and
 * also a bare CR or LF. */
static bool skip_empty_lines(struct parser *p, struct str *bytes)
{
    while (p->phase == PHASE_START && bytes->len) {
        char c = *bytes->p;
        if (p->after_cr ? c != '\n' : c == '\n') {
            (void)reject(p, 400, "A line must end with CR LF.");
            return false;
        }
        if (c != '\r' && c != '\n') {
            p->phase = PHASE_HEAD;
            break;
        }
        if (p->empty_bytes++ == EMPTY_LINES_BYTES) {
            (void)reject(p, 400, "There are too many empty lines before the request.");
            return false;
        }
        p->after_cr = c == '\r';
        *bytes = str_make(bytes->p + 1, bytes->len - 1);
    }
    return true;
}

/* Translates an error of llhttp: 501 for an unknown method, 505 for an unsupported version, 400 for
 * everything else. */
static void translate_error(struct parser *p, llhttp_errno_t e)
{
    const char *at = llhttp_get_error_pos(&p->ll);
    bool whole_version = p->version_len == 3 && p->version[1] == '.' && !is_text(p->version, 3, STR("1.1")) &&
                         !is_text(p->version, 3, STR("1.0"));
    if (e == HPE_INVALID_METHOD && at && grammar_is_token_char(*at))
        (void)reject(p, 501, "The method is not supported.");
    else if (e == HPE_PAUSED_H2_UPGRADE || (e == HPE_INVALID_VERSION && whole_version))
        (void)reject_version(p);
    else
        (void)reject(p, 400, "The request is not valid HTTP.");
}

/* Passes as many bytes to llhttp as the limit allows. Returns the number of bytes consumed. */
static size_t execute(struct parser *p, struct str bytes)
{
    size_t *left = p->phase == PHASE_HEAD ? &p->head_left : &p->wire_left;
    size_t n = bytes.len < *left ? bytes.len : *left;
    p->input = bytes.p;
    llhttp_errno_t e = llhttp_execute(&p->ll, bytes.p, n);
    if (e == HPE_PAUSED) {
        n = (size_t)(llhttp_get_error_pos(&p->ll) - bytes.p);
        llhttp_resume(&p->ll);
    } else if (e != HPE_OK && !p->status) {
        translate_error(p, e);
    }
    *left -= n;
    p->before_input += n;
    if (n < bytes.len && *left == 0 && e == HPE_OK)
        (void)(p->phase == PHASE_HEAD ? reject(p, 431, "The request head is too large.")
                                      : reject(p, 413, "The request body is too large."));
    return n;
}

static enum parse fail(struct parser *p)
{
    if (!p->r->target.p && p->text.len)
        p->r->target = arena_copy(&p->r->arena, buf_str(&p->text));
    publish_fields(p);
    return PARSE_FAILED;
}

enum parse parser_feed(struct parser *p, struct str bytes, size_t *used)
{
    CHECK(!p->status && p->phase != PHASE_DONE);
    struct str rest = bytes;
    *used = bytes.len;
    if (!skip_empty_lines(p, &rest))
        return fail(p);
    if (p->phase == PHASE_START)
        return PARSE_MORE;
    bool was_in_head = p->phase == PHASE_HEAD;
    size_t n = execute(p, rest);
    *used = bytes.len - rest.len + n;
    if (p->status)
        return fail(p);
    if (p->phase == PHASE_DONE)
        return PARSE_DONE;
    if (was_in_head && p->phase == PHASE_BODY) {
        publish_fields(p);
        return PARSE_HEAD;
    }
    return PARSE_MORE;
}

bool parser_lacks_memory(const struct parser *p)
{
    return p->lacks_memory || p->text.failed;
}

int parser_status(const struct parser *p)
{
    return p->status;
}

const char *parser_message(const struct parser *p)
{
    return p->message;
}

bool parser_has_only_empty_lines(const struct parser *p)
{
    return p->phase == PHASE_START;
}

bool parser_expects_continue(const struct parser *p)
{
    return p->expects_continue;
}

bool parser_keeps_alive(const struct parser *p)
{
    return p->keeps_alive;
}

bool parser_is_http_1_0(const struct parser *p)
{
    return p->ll.http_major == 1 && p->ll.http_minor == 0;
}
