/* Tests header fields that are sent in several lines: their joined value, and the memory that they need. */
#include "unit.h"

#include "http/parse.h"

#include <malloc.h>

static const struct http_limits LIMITS = {
    .head_bytes = 16 << 10, .target_bytes = 8 << 10, .field_lines = 100, .body_bytes = 16 << 10};

/* A parser and its request. */
struct reader {
    struct parser *parser;
    struct request r;
    enum parse result;
};

static void reader_init(struct reader *rd)
{
    *rd = (struct reader){.parser = parser_new(STR(""))};
    arena_init(&rd->r.arena, 8 << 10);
    parser_begin(rd->parser, &rd->r, &LIMITS);
}

static void reader_fini(struct reader *rd)
{
    parser_free(rd->parser);
    arena_fini(&rd->r.arena);
}

static void reader_feed(struct reader *rd, struct str bytes)
{
    size_t used;
    rd->result = parser_feed(rd->parser, bytes, &used);
    assert_int_equal(used, bytes.len);
}

enum { REPEATED_LINES = 90, REPEATED_VALUE = 150 };

/* Makes a request head with many lines of one field. The request announces a body that does not follow. */
static void make_repeated(struct buf *head, const char *name)
{
    buf_init(head, 64 << 10);
    buf_printf(head, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n");
    for (int i = 0; i < REPEATED_LINES; i++)
        buf_printf(head, "%s: %0*d\r\n", name, REPEATED_VALUE - (int)strlen(name), i);
    buf_printf(head, "\r\n");
}

/* Returns the number of allocated bytes with glibc. musl has no function for this. */
static size_t heap_bytes(void)
{
#ifdef __GLIBC__
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

static void repeated_fields_need_at_most_three_times_the_memory_of_the_head(void **state)
{
    (void)state;
    static const char *const names[] = {"Accept", "Cookie", "If-None-Match", "X-Forwarded-For", "X-Unknown"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf head;
        struct reader rd;
        make_repeated(&head, names[i]);
        reader_init(&rd);
        const size_t before = heap_bytes();
        size_t most = 0;
        for (size_t at = 0; at < head.len; at += 100) {
            reader_feed(&rd, str_make(head.p + at, head.len - at < 100 ? head.len - at : 100));
            most = heap_bytes() - before > most ? heap_bytes() - before : most;
        }
        assert_int_equal(rd.result, PARSE_HEAD);
        assert_true(most <= 3 * head.len);
        assert_true(arena_bytes(&rd.r.arena) <= 2 * head.len);
        reader_fini(&rd);
        buf_fini(&head);
    }
}

static void repeated_fields_are_joined_in_order(void **state)
{
    (void)state;
    struct reader rd;
    reader_init(&rd);
    reader_feed(&rd, STR("POST / HTTP/1.1\r\nAccept: \r\nHost: a\r\nCookie:  a=1 \r\naccept: x\r\n"
                         "Authorization: Bearer k\r\nACCEPT:\r\nCookie: b=2\r\nAuthorization: Bearer l\r\n"
                         "Content-Length: 1\r\n\r\n"));
    assert_str(rd.r.field[FIELD_ACCEPT], ", x, ");
    assert_int_equal(rd.r.field_count[FIELD_ACCEPT], 3);
    assert_str(rd.r.field[FIELD_COOKIE], "a=1, b=2");
    assert_str(rd.r.field[FIELD_AUTHORIZATION], "Bearer k, Bearer l");
    assert_int_equal(rd.r.field_count[FIELD_AUTHORIZATION], 2);
    assert_int_equal(rd.r.field_count[FIELD_HOST], 1);
    assert_null(rd.r.field[FIELD_ORIGIN].p);
    reader_fini(&rd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_fields_need_at_most_three_times_the_memory_of_the_head),
        cmocka_unit_test(repeated_fields_are_joined_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
