/* Tests the parser: a stream results in the expected requests wherever it is split, and each limit is exact
 * to the byte. */
#include "unit.h"

#include "http/parse.h"

#include <stdio.h>
#include <stdlib.h>

static const struct http_limits LIMITS = {
    .head_bytes = 16 << 10, .target_bytes = 8 << 10, .field_lines = 100, .body_bytes = 16 << 10};

/* ---- reading a stream ---- */

static void describe_field(struct buf *out, const struct request *r, enum http_field f, const char *name)
{
    if (r->field[f].p)
        buf_printf(out, " %s%d=%.*s", name, r->field_count[f], (int)r->field[f].len, r->field[f].p);
}

/* Appends a summary of the request, ended by '|': method, path, query, fields, body, and whether the
 * connection stays open. */
static void describe(struct buf *out, const struct parser *p, const struct request *r)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "OPTIONS", "OTHER"};
    buf_printf(out, "%s %.*s", methods[r->method], (int)r->path.len, r->path.p);
    if (r->query.p)
        buf_printf(out, "?%.*s", (int)r->query.len, r->query.p);
    describe_field(out, r, FIELD_AUTHORIZATION, "auth");
    describe_field(out, r, FIELD_X_REQUEST_ID, "id");
    describe_field(out, r, FIELD_ACCEPT, "accept");
    if (r->body.len)
        buf_printf(out, " body=%.*s", (int)r->body.len, r->body.p);
    buf_printf(out, "%s%s|", parser_is_http_1_0(p) ? " 1.0" : "", parser_keeps_alive(p) ? "" : " close");
}

struct reader {
    struct parser *parser;
    struct request r;
    struct http_limits limits;
    struct buf out;
    bool begun, failed, closed;
    bool head_parsed; /* the parser has returned PARSE_HEAD for this request */
};

static void reader_init(struct reader *rd, const struct http_limits *limits)
{
    *rd = (struct reader){.parser = parser_new(STR("")), .limits = *limits};
    arena_init(&rd->r.arena, 8 << 10);
    buf_init(&rd->out, 1 << 20);
}

static void reader_fini(struct reader *rd)
{
    parser_free(rd->parser);
    arena_fini(&rd->r.arena);
    buf_fini(&rd->out);
}

static void begin(struct reader *rd)
{
    arena_reset(&rd->r.arena);
    struct arena arena = rd->r.arena;
    rd->r = (struct request){.arena = arena};
    parser_begin(rd->parser, &rd->r, &rd->limits);
    rd->begun = true;
    rd->head_parsed = false;
}

/* Parses requests in sequence, like a connection, and stops at a request that is rejected or closes the
 * connection. */
static void reader_feed(struct reader *rd, struct str bytes)
{
    enum parse result = PARSE_MORE;
    while (!rd->failed && !rd->closed && (bytes.len || result == PARSE_HEAD)) {
        size_t used = SIZE_MAX;
        if (!rd->begun)
            begin(rd);
        result = parser_feed(rd->parser, bytes, &used);
        assert_true(used <= bytes.len);
        bytes = str_make(bytes.p + used, bytes.len - used);
        if (result == PARSE_HEAD) {
            assert_false(rd->head_parsed);
            rd->head_parsed = true;
        } else if (result == PARSE_DONE) {
            assert_true(rd->head_parsed);
            rd->begun = false;
            rd->closed = !parser_keeps_alive(rd->parser);
            describe(&rd->out, rd->parser, &rd->r);
        } else if (result == PARSE_FAILED) {
            rd->failed = true;
            assert_true(parser_status(rd->parser) >= 400 && *parser_message(rd->parser));
            buf_printf(&rd->out, "%d", parser_status(rd->parser));
        } else if (result == PARSE_MORE) {
            assert_int_equal(bytes.len, 0);
        }
    }
}

/* Replaces the content of `out` by the description of the requests in `stream`. The parser gets the stream in
 * pieces of `step` bytes if `step` is not 0, or in two pieces divided at `cut` if `cut` is not 0, or whole.
 */
static void read_stream(struct str stream, size_t cut, size_t step, const struct http_limits *limits,
                        struct buf *out)
{
    struct reader rd;
    reader_init(&rd, limits);
    for (size_t at = 0; at < stream.len;) {
        size_t n = step ? step : at == 0 && cut ? cut : stream.len - at;
        if (n > stream.len - at)
            n = stream.len - at;
        /* Parses a heap copy of exactly this size, so that AddressSanitizer detects reads beyond it. */
        char *piece = malloc(n);
        assert_non_null(piece);
        memcpy(piece, stream.p + at, n);
        reader_feed(&rd, str_make(piece, n));
        free(piece);
        at += n;
    }
    if (!rd.failed && !rd.closed && rd.begun && !parser_has_only_empty_lines(rd.parser))
        buf_printf(&rd.out, "...");
    buf_reset(out, SIZE_MAX);
    buf_append(out, buf_str(&rd.out));
    reader_fini(&rd);
}

static void expect_meaning(const char *name, struct str stream, struct str want,
                           const struct http_limits *limits)
{
    struct buf got;
    buf_init(&got, 1 << 20);
    /* Splits the stream at each position, then into pieces of 1, 2, 3 and 7 bytes. */
    for (size_t i = 0; i < stream.len + 4; i++) {
        static const size_t steps[] = {1, 2, 3, 7};
        bool cut = i < stream.len;
        read_stream(stream, cut ? i : 0, cut ? 0 : steps[i - stream.len], limits, &got);
        if (!str_eq(buf_str(&got), want))
            fail_msg("%s, %s %zu: got %.*s, want %.*s", name, cut ? "cut at" : "in pieces, variant",
                     cut ? i : i - stream.len, (int)got.len, got.p ? got.p : "", (int)want.len, want.p);
    }
    buf_fini(&got);
}

/* ---- requests ---- */

#define H      "Host: a\r\n"
#define GET(x) "GET " x " HTTP/1.1\r\n" H "\r\n"

struct meaning {
    const char *stream, *want;
};

static void expect_meanings(const struct meaning *meanings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        expect_meaning(meanings[i].stream, str_from_cstr(meanings[i].stream), str_from_cstr(meanings[i].want),
                       &LIMITS);
}

#define EXPECT(...)                                                                                          \
    do {                                                                                                     \
        static const struct meaning meanings[] = {__VA_ARGS__};                                              \
        expect_meanings(meanings, sizeof meanings / sizeof *meanings);                                       \
    } while (0)

static void parses_requests(void **state)
{
    (void)state;
    EXPECT(
        {GET("/"), "GET /|"}, {GET("/a?b=c"), "GET /a?b=c|"}, {GET("/a") GET("/b"), "GET /a|GET /b|"},
        {"HEAD /a HTTP/1.1\r\n" H "\r\n", "HEAD /a|"}, {"PUT /a HTTP/1.1\r\n" H "\r\n", "OTHER /a|"},
        {"OPTIONS * HTTP/1.1\r\n" H "\r\n", "OPTIONS *|"}, {GET("http://x/a"), "GET /a|"},
        {"GET / HTTP/1.1\r\nhOsT:a\r\nAUTHORIZATION: \t b c \t\r\nX-Request-Id:\r\n\r\n",
         "GET / auth1=b c id1=|"},
        {"GET / HTTP/1.1\r\n" H "Accept: a\r\nX: y\r\nAccept:b\r\nACCEPT: \r\n\r\n", "GET / accept3=a, b, |"},
        {"GET / HTTP/1.1\r\n" H
         "Accept-: a\r\nAccep: b\r\nX-Very-Long-Name-That-Nobody-Looks-At-At-All: c\r\n\r\n",
         "GET /|"},
        {"GET /", "..."}, {"", ""});
}

static void keep_alive_depends_on_version_and_connection(void **state)
{
    (void)state;
    EXPECT({"GET / HTTP/1.0\r\n\r\n" GET("/b"), "GET / 1.0 close|"},
           {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" GET("/b"), "GET / 1.0|GET /b|"},
           {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "GET / 1.0 close|"},
           {"GET / HTTP/1.1\r\n" H "Connection: close\r\n\r\n" GET("/b"), "GET / close|"},
           {"GET / HTTP/1.1\r\n" H "Connection: close\t\r\n\r\n", "GET / close|"},
           {"GET / HTTP/1.1\r\n" H "Connection: x, CLOSE\r\n\r\n", "GET / close|"},
           {"GET / HTTP/1.1\r\n" H "Connection: keep-alive\r\n\r\n", "GET /|"});
}

/* RFC 9110, 7.8: a server may ignore an upgrade; the connection continues with HTTP/1.1. */
static void ignores_upgrades(void **state)
{
    (void)state;
    EXPECT(
        {"GET / HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n" GET("/b"), "GET /|GET /b|"},
        {"POST / HTTP/1.1\r\n" H
         "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nxy" GET("/b"),
         "POST / body=xy|GET /b|"},
        {"POST / HTTP/1.1\r\n" H
         "Connection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n" GET(
             "/b"),
         "POST / body=x|GET /b|"},
        {"CONNECT a:1 HTTP/1.1\r\n" H "\r\n" GET("/b"), "501"}, {"CONNECT / HTTP/1.1\r\n" H "\r\n", "501"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"});
}

static void reads_bodies(void **state)
{
    (void)state;
#define POST  "POST /p HTTP/1.1\r\n" H
#define CHUNK POST "Transfer-Encoding: chunked\r\n\r\n"
    EXPECT({POST "Content-Length: 3\r\n\r\nabc" GET("/b"), "POST /p body=abc|GET /b|"},
           {POST "Content-Length: 0\r\n\r\n" GET("/b"), "POST /p|GET /b|"},
           {POST "Content-Length: 0003\r\n\r\nabc", "POST /p body=abc|"},
           {POST "\r\n" GET("/b"), "POST /p|GET /b|"},
           {POST "Content-Length: 7\t\r\n\r\n1234567", "POST /p body=1234567|"},
           {"GET /g HTTP/1.1\r\n" H "Content-Length: 4\r\n\r\nGET " GET("/b"), "GET /g body=GET |GET /b|"},
           {CHUNK "3\r\nabc\r\n0\r\n\r\n" GET("/b"), "POST /p body=abc|GET /b|"},
           {CHUNK "1\r\na\r\n2;x=y;z=\"q;r\"\r\nbc\r\n00;e\r\n\r\n" GET("/b"), "POST /p body=abc|GET /b|"},
           {CHUNK "00A\r\n0123456789\r\n0\r\n\r\n", "POST /p body=0123456789|"},
           {CHUNK "1\r\na\r\n0\r\nAuthorization: x\r\nHost: b\r\n\r\n" GET("/b"), "POST /p body=a|GET /b|"},
           {POST "Transfer-Encoding: ChunKed\r\n\r\n0\r\n\r\n", "POST /p|"},
           {POST "Content-Length: 4\r\n\r\nabc", "..."}, {CHUNK "3\r\nabc\r\n", "..."});
}

static void rejects_bad_framing(void **state)
{
    (void)state;
#define LENGTH(v) {POST "Content-Length: " v "\r\n\r\nabc", "400"}
#define CODING(v, status)                                                                                    \
    {                                                                                                        \
        POST "Transfer-Encoding: " v "\r\n\r\n0\r\n\r\n" GET("/b"), status                                   \
    }
    EXPECT(LENGTH("+3"), LENGTH("-3"), LENGTH("0x3"), LENGTH("3,3"), LENGTH("3 3"), LENGTH(""), LENGTH("3a"),
           LENGTH("\"3\""), {POST "Content-Length: 18446744073709551616\r\n\r\n", "400"},
           {POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "400"},
           {POST "Content-Length : 3\r\n\r\nabc", "400"}, {POST "Content-Length:\r\n 3\r\n\r\nabc", "400"},
           {POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "400"},
           {POST "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", "400"},
           CODING("gzip, chunked", "501"), CODING("chunked, gzip", "400"), CODING("chunked, chunked", "400"),
           CODING("identity", "400"), CODING("", "400"), CODING("xchunked", "400"),
           CODING("chunked;q=1", "400"), CODING(", chunked", "400"), CODING("\vchunked", "400"),
           {POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", "501"},
           {POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "400"},
           {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"});
    EXPECT({CHUNK "x\r\n", "400"}, {CHUNK "-1\r\n", "400"}, {CHUNK "0x1\r\n", "400"},
           {CHUNK "1 \r\na", "400"}, {CHUNK "1\na", "400"}, {CHUNK "1\r\nab\r\n", "400"},
           {CHUNK "1\r\na\n", "400"}, {CHUNK "1\r\na0\r\n", "400"}, {CHUNK "\r\n", "400"},
           {CHUNK "11111111111111111\r\n", "400"}, {CHUNK "1;\r\na", "400"}, {CHUNK "1;a\"\r\n", "400"},
           {CHUNK "1;a=\"b\r\n", "400"}, {CHUNK "0\r\nX y\r\n\r\n", "400"},
           {CHUNK "0\r\nX: y\r\n z\r\n\r\n", "400"});
}

static void malformed_request_lines_are_rejected(void **state)
{
    (void)state;
#define LINE(line, status) {line "\r\n" H "\r\n", status}
    EXPECT(LINE("GET  / HTTP/1.1", "400"), LINE("GET /  HTTP/1.1", "400"), LINE("GET / HTTP/1.1 ", "400"),
           LINE(" GET / HTTP/1.1", "400"), LINE("GET\t/ HTTP/1.1", "400"), LINE("GET /\tHTTP/1.1", "400"),
           LINE("GET HTTP/1.1", "400"), LINE("GET a HTTP/1.1", "400"), LINE("GET * HTTP/1.1", "400"),
           LINE("GET /# HTTP/1.1", "400"), LINE("GET /| HTTP/1.1", "400"),
           LINE("GET http:///a HTTP/1.1", "400"), LINE("BREW / HTTP/1.1", "501"),
           LINE("get / HTTP/1.1", "501"), LINE("GETX / HTTP/1.1", "501"), LINE("GE@ / HTTP/1.1", "400"),
           LINE("GET: / HTTP/1.1", "400"), LINE("(GET) / HTTP/1.1", "400"), LINE("GET / HTTP/2.0", "505"),
           LINE("GET / HTTP/1.2", "505"), LINE("GET / HTTP/0.9", "505"), LINE("GET / HTTP/9.9", "505"),
           LINE("GET / HTTP/1", "400"), LINE("GET / HTTP/1.", "400"), LINE("GET / HTTP/1.10", "400"),
           LINE("GET / HTTP/01.1", "400"), LINE("GET / HTTP/ 1.1", "400"), LINE("GET / http/1.1", "400"),
           LINE("GET / HTTPS/1.1", "400"), LINE("GET / RTSP/1.0", "400"), LINE("SOURCE / ICE/1.0", "400"),
           LINE("DESCRIBE / RTSP/1.0", "400"), LINE("DESCRIBE / HTTP/1.1", "400"), {"GET /\r\n\r\n", "505"},
           {"GET / HTTP/1.1\n" H "\r\n", "400"}, {"GET / HTTP/1.1\r" H "\r\n", "400"},
           {"GET / HTTP/1.1\r\r\n" H "\r\n", "400"});
}

static void at_most_eight_empty_lines_before_a_request_are_skipped(void **state)
{
    (void)state;
    EXPECT({"\r\n" GET("/"), "GET /|"}, {GET("/a") "\r\n" GET("/b"), "GET /a|GET /b|"},
           {"\r\n\r\n\r\n" GET("/"), "GET /|"}, {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n" GET("/"), "GET /|"},
           {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n" GET("/"), "400"}, {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n", ""},
           {"\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r", "400"}, {"\n" GET("/"), "400"}, {"\r" GET("/"), "400"},
           {"\r\n\n" GET("/"), "400"}, {"\r\r\n" GET("/"), "400"}, {"\r\n", ""}, {"\r\n\r", ""},
           {" \r\n" GET("/"), "400"});
}

static void malformed_field_lines_are_rejected(void **state)
{
    (void)state;
#define FIELD(line) {"GET / HTTP/1.1\r\n" H line "\r\n\r\n", "400"}
    EXPECT(FIELD("X : y"), FIELD("X\t: y"), FIELD(": y"), FIELD("X y"), FIELD("X"), FIELD("X y: z"),
           FIELD("X: y\r\n z"), FIELD("X: y\r\n\tz"), FIELD("X: y\rz"), FIELD("X\r: y"), FIELD("X: y\nZ: a"),
           FIELD("X: \x01"), FIELD("X: \x7f"), FIELD("X(: y"), FIELD("X\xff: y"), FIELD("X@: y"),
           {"GET / HTTP/1.1\r\n " H "\r\n", "400"}, {"GET / HTTP/1.1\r\n" H "\rX", "400"},
           {"GET / HTTP/1.1\r\n" H "X: caf\xc3\xa9 \xff\r\n\r\n", "GET /|"},
           {"GET / HTTP/1.1\r\n" H "X:\r\nY:y\r\n\r\n", "GET /|"});
    static const char nul[] = "GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n";
    expect_meaning("NUL in a value", str_make(nul, sizeof nul - 1), STR("400"), &LIMITS);
}

static void requires_exactly_one_valid_host(void **state)
{
    (void)state;
    EXPECT({"GET / HTTP/1.1\r\n\r\n", "400"}, {"GET / HTTP/1.1\r\n" H H "\r\n", "400"},
           {"GET / HTTP/1.1\r\n" H "X: y\r\nhost: b\r\n\r\n", "400"},
           {"GET http://a/ HTTP/1.1\r\n\r\n", "400"}, {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400"},
           {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400"}, {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "400"},
           {"GET / HTTP/1.0\r\nHost: a b\r\n\r\n", "400"}, {"GET / HTTP/1.0\r\n" H H "\r\n", "400"},
           {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET /|"},
           {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET /|"});
}

static void expect_supports_only_100_continue(void **state)
{
    (void)state;
    EXPECT({POST "Expect: 100-continue\r\nContent-Length: 1\r\n\r\na", "POST /p body=a|"},
           {POST "Expect: 100-CONTINUE\r\n\r\n", "POST /p|"}, {POST "Expect: 42\r\n\r\n", "417"},
           {POST "Expect: 100-continue, x\r\n\r\n", "417"}, {POST "Expect:\r\n\r\n", "417"},
           {"POST / HTTP/1.0\r\nExpect: 42\r\n\r\n", "POST / 1.0 close|"});
}

static bool expects_continue(const char *head)
{
    struct reader rd;
    size_t used;
    reader_init(&rd, &LIMITS);
    begin(&rd);
    assert_int_equal(parser_feed(rd.parser, str_from_cstr(head), &used), PARSE_HEAD);
    bool wants = parser_expects_continue(rd.parser);
    reader_fini(&rd);
    return wants;
}

/* RFC 9110, 10.1.1: ignore the expectation from HTTP/1.0 clients and for requests without a body. */
static void continue_is_expected_only_with_a_body_and_http_1_1(void **state)
{
    (void)state;
    assert_true(expects_continue(POST "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
    assert_true(expects_continue(POST "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"));
    assert_false(expects_continue(POST "Expect: 100-continue\r\n\r\n"));
    assert_false(expects_continue(POST "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n"));
    assert_false(expects_continue(POST "Content-Length: 1\r\n\r\n"));
    assert_false(expects_continue("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"));
}

/* The access log needs the parsed parts of a rejected request. The error response needs the method,
 * because a response to HEAD has no body. */
static void rejected_request_contains_the_parts_that_were_parsed(void **state)
{
    struct reader rd;
    size_t used;
    (void)state;
    reader_init(&rd, &LIMITS);
    begin(&rd);
    struct str stream = STR("HEAD /a?b HTTP/1.1\r\nX-Request-Id: abc\r\nHost: a\r\nHost: a\r\n\r\n");
    assert_int_equal(parser_feed(rd.parser, stream, &used), PARSE_FAILED);
    assert_int_equal(rd.r.method, METHOD_HEAD);
    assert_str(rd.r.target, "/a?b");
    assert_str(rd.r.field[FIELD_X_REQUEST_ID], "abc");
    begin(&rd);
    assert_int_equal(parser_feed(rd.parser, STR("GET /abc"), &used), PARSE_MORE);
    assert_int_equal(parser_feed(rd.parser, STR("\x01"), &used), PARSE_FAILED);
    assert_str(rd.r.target, "/abc");
    reader_fini(&rd);
}

/* ---- limits ---- */

static struct http_limits small_limits(void)
{
    return (struct http_limits){.head_bytes = 200, .target_bytes = 50, .field_lines = 4, .body_bytes = 100};
}

/* Parses `before`, then `n` times `c`, then `after`, with small limits. Expects a description that begins
 * with `want`, wherever the stream is split. */
static void expect_at_size(const char *before, char c, size_t n, const char *after, const char *want)
{
    struct http_limits limits = small_limits();
    struct buf stream;
    buf_init(&stream, 1 << 20);
    buf_append(&stream, str_from_cstr(before));
    for (size_t i = 0; i < n; i++)
        buf_append_char(&stream, c);
    buf_append(&stream, str_from_cstr(after));
    struct buf got;
    buf_init(&got, 1 << 20);
    read_stream(buf_str(&stream), 0, 0, &limits, &got);
    size_t prefix_len = got.len < strlen(want) ? got.len : strlen(want);
    if (!str_eq(str_make(got.p, prefix_len), str_from_cstr(want)))
        fail_msg("%zu times %c: got %.*s, want %s", n, c, (int)got.len, got.p, want);
    expect_meaning(before, buf_str(&stream), buf_str(&got), &limits);
    buf_fini(&got);
    buf_fini(&stream);
}

static void limits_the_size_of_the_head(void **state)
{
    static const char before[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ", after[] = "\r\n\r\n";
    size_t room = 200 - (sizeof before - 1) - (sizeof after - 1);
    (void)state;
    expect_at_size(before, 'x', room, after, "GET /|");
    expect_at_size(before, 'x', room + 1, after, "431");
    expect_at_size(before, 'x', room + 1000, "", "431");
    expect_at_size(before, ' ', room + 1, after, "431"); /* optional white space counts */
    expect_at_size("GET / HTTP/1.1\r\nHost: a\r\n", 'x', 300, "", "431");
    /* Bytes of the body and of the next request do not count. */
    expect_at_size("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\nX: "
                   "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
                   "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n\r\n",
                   'b', 100, GET("/b"), "POST / body=bbb");
}

static void limits_the_target(void **state)
{
    (void)state;
    expect_at_size("GET /", 'x', 49, " HTTP/1.1\r\n" H "\r\n", "GET /xxx");
    expect_at_size("GET /", 'x', 50, " HTTP/1.1\r\n" H "\r\n", "414");
    expect_at_size("GET /?", 'x', 49, " HTTP/1.1\r\n" H "\r\n", "414");
    expect_at_size("GET http://a/", 'x', 42, " HTTP/1.1\r\n" H "\r\n", "414");
    expect_at_size("GET /", 'x', 1000, "", "414");
}

static void limits_the_number_of_field_lines(void **state)
{
    struct http_limits limits = small_limits();
    (void)state;
    expect_meaning("four", STR("GET / HTTP/1.1\r\n" H "A:\r\nB:\r\nC:\r\n\r\n"), STR("GET /|"), &limits);
    expect_meaning("five", STR("GET / HTTP/1.1\r\n" H "A:\r\nB:\r\nC:\r\nD:\r\n\r\n"), STR("431"), &limits);
    expect_meaning(
        "trailers too",
        STR("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\nA:\r\nB:\r\nC:\r\n\r\n"),
        STR("431"), &limits);
}

static void limits_the_body(void **state)
{
    (void)state;
    expect_at_size("POST / HTTP/1.1\r\n" H "Content-Length: 100\r\n\r\n", 'x', 100, "", "POST / body=xxx");
    expect_at_size("POST / HTTP/1.1\r\n" H "Content-Length: 101\r\n\r\n", 'x', 0, "",
                   "413"); /* before the body arrives */
    expect_at_size("POST / HTTP/1.1\r\n" H "Content-Length: 9223372036854775808\r\n\r\n", 'x', 0, "", "413");
    expect_at_size("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n64\r\n", 'x', 100,
                   "\r\n0\r\n\r\n", "POST / body=xxx");
    expect_at_size("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n65\r\n", 'x', 101,
                   "\r\n0\r\n\r\n", "413");
    expect_at_size("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n64\r\n", 'x', 100,
                   "\r\n1\r\nx\r\n0\r\n\r\n", "413");
    expect_at_size("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFF\r\n", 'x', 101,
                   "", "413");
}

/* Chunk extensions, trailer fields, and a chunk size with endless leading zeros (like CVE-2024-22019) are
 * limited. */
static void limits_chunk_framing(void **state)
{
    static const char head[] = "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n";
    char before[128];
    (void)state;
    (void)snprintf(before, sizeof before, "%s1;", head);
    expect_at_size(before, 'e', 1024, "\r\nx\r\n0\r\n\r\n", "POST / body=x|");
    expect_at_size(before, 'e', 1025, "\r\nx\r\n0\r\n\r\n", "413");
    (void)snprintf(before, sizeof before, "%s1;e=", head);
    expect_at_size(before, 'e', 1024, "\r\nx\r\n0\r\n\r\n",
                   "413"); /* the limit applies to the sum of names and values */
    (void)snprintf(before, sizeof before, "%s1;e\r\nx\r\n1;", head);
    expect_at_size(before, 'e', 1024, "\r\nx\r\n0\r\n\r\n",
                   "413"); /* the limit applies to the sum of all chunks */
    (void)snprintf(before, sizeof before, "%s0\r\nX: ", head);
    expect_at_size(before, 't', 4095, "\r\n\r\n", "POST /|");
    expect_at_size(before, 't', 4096, "\r\n\r\n", "431");
    (void)snprintf(before, sizeof before, "%s", head);
    expect_at_size(before, '0', 8 * 100 + 4096, "", "...");
    expect_at_size(before, '0', 8 * 100 + 4096 + 1, "", "413");
}

/* ---- random bytes ---- */

/* Splitting random bytes does not change the result, and nothing is read beyond the pieces
 * (AddressSanitizer). */
static void random_bytes_parse_equally_however_they_are_split(void **state)
{
    static const char *const words[] = {"GET ",
                                        "POST ",
                                        "/",
                                        "/a",
                                        " HTTP/1.1\r\n",
                                        " HTTP/1.0\r\n",
                                        "Host: a\r\n",
                                        "\r\n",
                                        "\r",
                                        "\n",
                                        "Content-Length: 3\r\n",
                                        "Transfer-Encoding: chunked\r\n",
                                        "abc",
                                        "1\r\na\r\n",
                                        "0\r\n\r\n",
                                        ":",
                                        " ",
                                        "Connection: close\r\n",
                                        "X: y\r\n",
                                        ";e=f",
                                        "\x80",
                                        "Expect: 100-continue\r\n"};
    unsigned long long seed = 20260711;
    struct buf whole, pieces, stream;
    (void)state;
    buf_init(&whole, 1 << 20);
    buf_init(&pieces, 1 << 20);
    buf_init(&stream, 1 << 20);
    for (int round = 0; round < 4000; round++) {
        buf_reset(&stream, SIZE_MAX);
        if (round % 4) /* most streams start with a valid prefix */
            buf_append(&stream, STR("POST / HTTP/1.1\r\nHost: a\r\n"));
        for (int n = 0; n < 12; n++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            buf_append(&stream, str_from_cstr(words[(seed >> 33) % (sizeof words / sizeof *words)]));
        }
        read_stream(buf_str(&stream), 0, 0, &LIMITS, &whole);
        read_stream(buf_str(&stream), 0, 1 + (size_t)(seed >> 60), &LIMITS, &pieces);
        if (!str_eq(buf_str(&whole), buf_str(&pieces)))
            fail_msg("round %d: %.*s | %.*s | %.*s", round, (int)stream.len, stream.p, (int)whole.len,
                     whole.p, (int)pieces.len, pieces.p);
    }
    buf_fini(&whole);
    buf_fini(&pieces);
    buf_fini(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_requests),
        cmocka_unit_test(keep_alive_depends_on_version_and_connection),
        cmocka_unit_test(ignores_upgrades),
        cmocka_unit_test(reads_bodies),
        cmocka_unit_test(rejects_bad_framing),
        cmocka_unit_test(malformed_request_lines_are_rejected),
        cmocka_unit_test(at_most_eight_empty_lines_before_a_request_are_skipped),
        cmocka_unit_test(malformed_field_lines_are_rejected),
        cmocka_unit_test(requires_exactly_one_valid_host),
        cmocka_unit_test(expect_supports_only_100_continue),
        cmocka_unit_test(continue_is_expected_only_with_a_body_and_http_1_1),
        cmocka_unit_test(rejected_request_contains_the_parts_that_were_parsed),
        cmocka_unit_test(limits_the_size_of_the_head),
        cmocka_unit_test(limits_the_target),
        cmocka_unit_test(limits_the_number_of_field_lines),
        cmocka_unit_test(limits_the_body),
        cmocka_unit_test(limits_chunk_framing),
        cmocka_unit_test(random_bytes_parse_equally_however_they_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
