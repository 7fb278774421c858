/* Tests the packed columns: unpacking returns what was packed, and rejects bytes that packing would not have
 * written. */
#include "lib/random.h"

#include "store/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct buf b;

static int set_up(void **state)
{
    (void)state;
    buf_init(&b, 65536);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buf_fini(&b);
    return 0;
}

/* Returns a random count: numbers of every length, and the ends of the range. */
static int64_t random_count(void)
{
    switch (random_u64() % 8) {
    case 0: return COUNT_NONE;
    case 1: return 0;
    case 2: return COUNT_MAX;
    default: return (int64_t)(random_u64() >> (11 + random_u64() % 53));
    }
}

static int64_t random_time(void)
{
    switch (random_u64() % 4) {
    case 0: return TIME_NONE;
    case 1: return INT64_MAX;
    default: return (int64_t)random_u64() >> random_u64() % 64;
    }
}

static size_t random_posts(struct post *posts, const char *text, size_t text_len)
{
    size_t count = 0;
    for (int p = 0; p < PLATFORM_COUNT; p++) {
        if (random_u64() % 2)
            continue;
        struct post *post = &posts[count++];
        post->platform = (enum platform)p;
        post->post_id = str_make(text, random_u64() % 256);
        post->url = random_u64() % 3 ? str_make(text, random_u64() % text_len) : str_make(NULL, 0);
        post->posted_at = random_time();
        post->updated_at = random_time();
        for (int i = 0; i < COUNT_KINDS; i++)
            post->counts[i] = random_count();
    }
    return count;
}

static void assert_same_post(const struct post *a, const struct post *c)
{
    assert_int_equal(a->platform, c->platform);
    assert_true(str_eq(a->post_id, c->post_id));
    assert_true(str_eq(a->url, c->url));
    assert_int_equal(!a->url.p, !c->url.p);
    assert_int_equal(a->posted_at, c->posted_at);
    assert_int_equal(a->updated_at, c->updated_at);
    assert_memory_equal(a->counts, c->counts, sizeof a->counts);
}

static void packed_posts_unpack_to_the_same_posts(void **state)
{
    (void)state;
    static char text[2048];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)random_u64();
    for (int round = 0; round < 5000; round++) {
        struct post in[PLATFORM_COUNT], out[PLATFORM_COUNT];
        size_t out_count, count = random_posts(in, text, sizeof text);
        buf_reset(&b, 65536);
        pack_posts(&b, in, count);
        assert_false(b.failed);
        assert_true(unpack_posts(buf_str(&b), out, &out_count));
        assert_int_equal(out_count, count);
        for (size_t i = 0; i < count; i++)
            assert_same_post(&in[i], &out[i]);
    }
}

static void packed_milestones_unpack_to_the_same_milestones(void **state)
{
    (void)state;
    for (int round = 0; round < 5000; round++) {
        struct milestone in[MILESTONES_MAX], out[MILESTONES_MAX];
        size_t out_count, count = random_u64() % (MILESTONES_MAX + 1);
        int64_t value = 0;
        for (size_t i = 0; i < count; i++) {
            value += 1 + (int64_t)(random_u64() >> (17 + random_u64() % 40));
            in[i] = (struct milestone){.value = value, .reached_at = random_time()};
        }
        buf_reset(&b, 65536);
        pack_milestones(&b, in, count);
        assert_true(unpack_milestones(buf_str(&b), out, &out_count));
        assert_int_equal(out_count, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(in[i].value, out[i].value);
            assert_int_equal(in[i].reached_at, out[i].reached_at);
        }
    }
}

enum column { POSTS, MILESTONES };

/* Returns whether the column can be unpacked. Unpacks a heap copy of exactly this size, so that
 * AddressSanitizer detects a read past the end. */
static bool accepted(const char *p, size_t len, enum column column)
{
    struct post post_room[PLATFORM_COUNT];
    struct milestone milestone_room[MILESTONES_MAX];
    size_t count;
    char *copy = malloc(len ? len : 1);
    memcpy(copy, p, len);
    struct str packed = str_make(copy, len);
    bool ok = column == POSTS ? unpack_posts(packed, post_room, &count)
                              : unpack_milestones(packed, milestone_room, &count);
    free(copy);
    return ok;
}

static void pack_an_example(void)
{
    const struct post posts[2] = {
        {.platform = PLATFORM_TIKTOK,
         .post_id = STR("abc"),
         .url = STR("https://example.org/"),
         .posted_at = 1},
        {.platform = PLATFORM_YOUTUBE, .post_id = STR("d"), .posted_at = TIME_NONE, .counts = {COUNT_MAX}},
    };
    buf_reset(&b, 65536);
    pack_posts(&b, posts, 2);
}

static void rejects_truncated_and_extended_columns(void **state)
{
    (void)state;
    pack_an_example();
    assert_true(accepted(b.p, b.len, POSTS));
    for (size_t len = 1; len < b.len; len++)
        assert_false(accepted(b.p, len, POSTS));
    buf_append_char(&b, 0);
    assert_false(accepted(b.p, b.len, POSTS));
    buf_reset(&b, 65536);
    pack_milestones(&b, (struct milestone[]){{1000, 5}, {10000, 1782864000000}}, 2);
    for (size_t len = 1; len < b.len; len++)
        assert_false(accepted(b.p, len, MILESTONES));
    buf_append_char(&b, 0);
    assert_false(accepted(b.p, b.len, MILESTONES));
}

/* A column with changed bytes is rejected, or packs to the same bytes again. */
static void column_with_changed_bytes_is_rejected_or_packs_to_the_same_bytes(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct post posts[PLATFORM_COUNT];
        size_t count;
        pack_an_example();
        for (uint64_t n = 1 + random_u64() % 3; n; n--)
            b.p[random_u64() % b.len] = (char)random_u64();
        size_t len = b.len;
        char *copy = malloc(len);
        memcpy(copy, b.p, len);
        if (unpack_posts(str_make(copy, len), posts, &count)) {
            buf_reset(&b, 65536);
            pack_posts(&b, posts, count);
            assert_int_equal(b.len, len);
            assert_memory_equal(b.p, copy, len);
        }
        free(copy);
    }
}

static void rejects_malicious_values(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        struct str packed;
        enum column column;
    } cases[] = {
        {"version 2", STR("\2\1\1\0"), MILESTONES},
        {"no milestones, but a head", STR("\1\0"), MILESTONES},
        {"37 milestones", STR("\1\45"), MILESTONES},
        {"a value twice", STR("\1\2\1\0\1\0"), MILESTONES},
        {"values descending", STR("\1\2\2\0\1\0"), MILESTONES},
        {"value 2^53", STR("\1\1\x80\x80\x80\x80\x80\x80\x80\x10\0"), MILESTONES},
        {"not the shortest form", STR("\1\1\x81\0\0"), MILESTONES},
        {"65 bits", STR("\1\1\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\2"), MILESTONES},
        {"eleven bytes", STR("\1\1\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), MILESTONES},
        {"six posts", STR("\1\6"), POSTS},
        {"platform 5", STR("\1\1\5\0\0\0\0\0\0\0\0\0"), POSTS},
        {"a platform twice", STR("\1\2\1\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0"), POSTS},
        {"count 2^53", STR("\1\1\0\0\0\x81\x80\x80\x80\x80\x80\x80\x10\0\0\0\0\0\0"), POSTS},
        {"text longer than the rest", STR("\1\1\0\0\0\0\0\0\0\0\2x\0"), POSTS},
        {"text of 2^64 - 1 bytes", STR("\1\1\0\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1x\0"),
         POSTS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (accepted(cases[i].packed.p, cases[i].packed.len, cases[i].column))
            fail_msg("accepted: %s", cases[i].why);
    /* A valid counterpart of the invalid columns above. */
    assert_true(accepted("\1\1\0\0\0\0\0\0\0\0\1x\0", 13, POSTS));
    assert_true(accepted("\1\1\1\0", 4, MILESTONES));
    assert_true(accepted("", 0, POSTS));
    assert_true(accepted("", 0, MILESTONES));
}

/* Writes a varint of `len` bytes whose last byte is `last`, and sets `*value` to its value. Returns `len`. */
static size_t put_number(char *to, size_t len, unsigned char last, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = i + 1 < len ? (unsigned char)(0x80 | random_u64()) : last;
        to[i] = (char)byte;
        if (i < 10)
            *value |= (uint64_t)(byte & 0x7f) << 7 * i;
    }
    return len;
}

/* Unpacks times of all lengths, with and without other bytes after them. Only the shortest form is accepted.
 */
static void varints_of_every_length_are_accepted_only_in_their_shortest_form(void **state)
{
    (void)state;
    static const unsigned char lasts[] = {0, 1, 2, 0x40, 0x7f};
    for (int round = 0; round < 200; round++)
        for (size_t len = 1; len <= 11; len++)
            for (size_t i = 0; i < sizeof lasts; i++) {
                char packed[64] = "\1\1\0", *exact;
                struct post post[PLATFORM_COUNT];
                struct milestone milestone[MILESTONES_MAX];
                uint64_t v;
                size_t n = put_number(packed + 3, len, lasts[i], &v), count;
                bool good = (lasts[i] || len == 1) && (len < 10 || (len == 10 && lasts[i] == 1));
                int64_t time = (int64_t)(v >> 1 ^ (v & 1 ? UINT64_MAX : 0));
                assert_int_equal(unpack_posts(str_make(packed, 3 + n + 8), post, &count), good);
                assert_true(!good || post[0].posted_at == time);
                exact = malloc(3 + n);
                memcpy(exact, packed, 3 + n);
                assert_int_equal(unpack_milestones(str_make(exact, 3 + n), milestone, &count), good);
                assert_true(!good || milestone[0].reached_at == time);
                free(exact);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packed_posts_unpack_to_the_same_posts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(packed_milestones_unpack_to_the_same_milestones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejects_truncated_and_extended_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(column_with_changed_bytes_is_rejected_or_packs_to_the_same_bytes,
                                        set_up, tear_down),
        cmocka_unit_test(rejects_malicious_values),
        cmocka_unit_test(varints_of_every_length_are_accepted_only_in_their_shortest_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
