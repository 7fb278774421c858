/* Parses arbitrary bytes as requests, whole and in pieces. Checks that both ways give the same requests,
 * that both or neither fail, and that no part exceeds its limit. The first byte selects the size of the
 * pieces. */
#include "base/check.h"
#include "http/parse.h"

#include <stdlib.h>

static const struct http_limits LIMITS = {
    .head_bytes = 512, .target_bytes = 128, .field_lines = 8, .body_bytes = 256};

/* The result of parsing a stream. */
struct meaning {
    uint64_t hash; /* of the parsed requests */
    int requests;  /* number of parsed requests */
    int status;    /* of the error with which the stream was rejected; 0: it was not rejected */
};

static void fold(struct meaning *m, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        m->hash = (m->hash ^ (unsigned char)s.p[i]) * 1099511628211u;
    m->hash = (m->hash ^ (s.p ? s.len + 2 : 1)) * 1099511628211u;
}

static void fold_request(struct meaning *m, const struct parser *p, const struct request *r)
{
    CHECK(r->target.len <= LIMITS.target_bytes && r->body.len <= LIMITS.body_bytes);
    CHECK(r->path.len && (r->path.p[0] == '/' || str_eq(r->path, STR("*"))));
    fold(m, r->path);
    fold(m, r->query);
    fold(m, r->body);
    for (int f = 0; f < FIELD_COUNT; f++) {
        CHECK((r->field[f].p != NULL) == (r->field_count[f] > 0));
        CHECK(!r->field[f].len || !memchr(r->field[f].p, '\n', r->field[f].len));
        fold(m, r->field[f]);
    }
    m->hash = m->hash * 31 + r->method * 4u + parser_keeps_alive(p) * 2u + parser_is_http_1_0(p);
    m->requests++;
}

struct reader {
    struct parser *parser;
    struct request r;
    struct meaning meaning;
    bool begun, ended;
};

static void feed(struct reader *rd, struct str bytes)
{
    enum parse result = PARSE_MORE;
    while (!rd->ended && (bytes.len || result == PARSE_HEAD)) {
        size_t used;
        if (!rd->begun) {
            arena_reset(&rd->r.arena);
            struct arena arena = rd->r.arena;
            rd->r = (struct request){.arena = arena};
            parser_begin(rd->parser, &rd->r, &LIMITS);
            rd->begun = true;
        }
        result = parser_feed(rd->parser, bytes, &used);
        CHECK(used <= bytes.len && (result != PARSE_MORE || used == bytes.len));
        bytes = str_make(bytes.p + used, bytes.len - used);
        if (result == PARSE_DONE) {
            fold_request(&rd->meaning, rd->parser, &rd->r);
            rd->begun = false;
            rd->ended = !parser_keeps_alive(rd->parser);
        } else if (result == PARSE_FAILED) {
            rd->ended = true;
            rd->meaning.status = parser_status(rd->parser);
            CHECK(rd->meaning.status >= 400 && rd->meaning.status < 600);
        }
    }
}

static struct meaning read_stream(struct str stream, size_t step)
{
    struct reader rd = {.parser = parser_new(STR(""))};
    arena_init(&rd.r.arena, 1024);
    while (stream.len) {
        size_t n = step < stream.len ? step : stream.len;
        char *piece = malloc(n); /* exact size, so that AddressSanitizer detects reads beyond it */
        CHECK(piece);
        memcpy(piece, stream.p, n);
        feed(&rd, str_make(piece, n));
        free(piece);
        stream = str_make(stream.p + n, stream.len - n);
    }
    arena_fini(&rd.r.arena);
    parser_free(rd.parser);
    return rd.meaning;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct str stream = str_make((const char *)data + 1, size - 1);
    struct meaning whole = read_stream(stream, stream.len), pieces = read_stream(stream, 1 + data[0] % 64);
    CHECK(whole.hash == pieces.hash && whole.requests == pieces.requests);
    CHECK(!whole.status == !pieces.status); /* the statuses may differ, because the pieces decide which of two
                                               errors is found first */
    return 0;
}
