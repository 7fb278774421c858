/* Tests strings, arenas, buffers, UUIDs, hashes, lists, URL encoding and the writing of files. */
#include "unit.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "base/arena.h"
#include "base/file_write.h"
#include "base/hash.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/number.h"
#include "base/urlencode.h"
#include "base/uuid.h"

static void str_splits_and_trims(void **state)
{
    (void)state;
    struct str head, rest = str_cut(STR("a=b=c"), '=', &head);
    assert_str(head, "a");
    assert_str(rest, "b=c");
    rest = str_cut(STR("abc"), '=', &head);
    assert_str(head, "abc");
    assert_null(rest.p);
    rest = str_cut(STR("a="), '=', &head);
    assert_non_null(rest.p);
    assert_int_equal(rest.len, 0);
    assert_str(str_trim(STR(" \t x y\t ")), "x y");
    assert_int_equal(str_trim(STR(" \t")).len, 0);
    assert_true(str_eq_nocase(STR("BeArEr"), STR("bearer")));
    assert_false(str_eq_nocase(STR("bearer"), STR("beares")));
    /* Compares every pair of bytes at several positions: two different bytes may match only if they are the
     * upper and the lower case of one ASCII letter. */
    for (int pair = 0; pair < 256 * 256; pair++) {
        int x = pair >> 8, y = pair & 255;
        bool same = x == y || (x < 128 && y < 128 && isalpha(x) && isalpha(y) && (x | 32) == (y | 32));
        for (size_t at = 0; at < 19; at += 3) {
            char a[] = "abcdefghijklmnopqrs", b[] = "ABCDEFGHIJKLMNOPQRS";
            a[at] = (char)x;
            b[at] = (char)y;
            assert_int_equal(str_eq_nocase(str_make(a, 19), str_make(b, 19)), same);
        }
    }
    assert_true(str_cmp(STR("a"), STR("ab")) < 0 && str_cmp(STR("b"), STR("ab")) > 0 &&
                str_cmp(STR("x"), STR("x")) == 0);
}

static void str_to_u64_accepts_only_digits_in_range(void **state)
{
    static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "101", "18446744073709551616",
                                      "١"};
    unsigned long long v = 7;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(str_to_u64(str_from_cstr(bad[i]), 100, &v));
    assert_int_equal(v, 7);
    assert_true(str_to_u64(STR("100"), 100, &v) && v == 100);
    assert_true(str_to_u64(STR("007"), 100, &v) && v == 7);
    assert_true(str_to_u64(STR("5"), 5, &v) && v == 5);
    assert_false(str_to_u64(STR("7"), 5, &v));
    assert_false(str_to_u64(STR("1"), 0, &v));
    assert_true(str_to_u64(STR("18446744073709551615"), UINT64_MAX, &v) && v == UINT64_MAX);
    assert_false(str_to_u64(STR("18446744073709551616"), UINT64_MAX, &v));
}

static void str_is_utf8_rejects_ill_formed_sequences(void **state)
{
    static const char *const good[] = {
        "", "a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF"};
    static const char *const bad[] = {"\x80",
                                      "\xC0\x80",
                                      "\xC3",
                                      "\xE0\x80\x80",
                                      "\xED\xA0\x80",
                                      "\xF0\x80\x80\x80",
                                      "\xF4\x90\x80\x80",
                                      "\xFF",
                                      "a\xE2\x82",
                                      "\xE2\x82\x41"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_true(str_is_utf8(str_from_cstr(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(str_is_utf8(str_from_cstr(bad[i])));
}

static void str_cut_character_replaces_invalid_bytes(void **state)
{
    static const struct {
        struct str text, first;
        size_t used;
    } cases[] = {{STR("ab"), STR("a"), 1},
                 {STR("\xE2\x82\xAC!"), STR("\xE2\x82\xAC"), 3},
                 {STR("\xE2\x82"), STR("\xEF\xBF\xBD"), 1},
                 {STR("\xFF"), STR("\xEF\xBF\xBD"), 1},
                 {STR("\0a"), STR("\xEF\xBF\xBD"), 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct str rest = cases[i].text;
        assert_true(str_eq(str_cut_character(&rest), cases[i].first));
        assert_int_equal(cases[i].text.len - rest.len, cases[i].used);
    }
}

static void arena_memory_is_zeroed_and_aligned_after_a_reset(void **state)
{
    struct arena a;
    (void)state;
    arena_init(&a, 256);
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size < 2000; size += 37) {
            unsigned char *p = arena_alloc(&a, size);
            assert_int_equal((uintptr_t)p % 16, 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(p[i], 0);
            memset(p, 0xAA, size);
        }
        arena_reset(&a);
    }
    assert_str(arena_printf(&a, "%s-%d", "x", 42), "x-42");
    size_t before = arena_bytes(&a);
    struct str copy = arena_copy(&a, STR("abc"));
    /* Text is not aligned; other allocations are. */
    assert_int_equal(arena_bytes(&a), before + 4);
    assert_int_equal((uintptr_t)arena_alloc(&a, 1) % _Alignof(max_align_t), 0);
    assert_int_equal(copy.p[copy.len], '\0');
    arena_fini(&a);
}

#ifdef __SANITIZE_ADDRESS__
static void arena_overruns_are_reported(void **state)
{
    static const size_t sizes[] = {1, 7, 8, 100, 4096};
    struct arena a;
    (void)state;
    arena_init(&a, 1024);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const char *text = arena_alloc_text(&a, sizes[i]), *aligned = arena_alloc(&a, sizes[i]);
        assert_true(!__asan_address_is_poisoned(text + sizes[i] - 1) &&
                    __asan_address_is_poisoned(text + sizes[i]));
        assert_true(!__asan_address_is_poisoned(aligned + sizes[i] - 1) &&
                    __asan_address_is_poisoned(aligned + sizes[i]));
        arena_reset(&a);
        assert_true(__asan_address_is_poisoned(text) && __asan_address_is_poisoned(aligned));
    }
    arena_fini(&a);
}
#endif

static void buf_failure_is_sticky_until_reset(void **state)
{
    struct buf b;
    (void)state;
    buf_init(&b, 10);
    buf_append(&b, STR("12345"));
    buf_append(&b, STR("1234567"));
    assert_true(b.failed);
    buf_append(&b, STR("x"));
    assert_str(buf_str(&b), "12345");
    buf_reset(&b, 0);
    assert_false(b.failed);
    buf_append_i64(&b, -1234567890);
    assert_true(b.failed);
    buf_fini(&b);
    buf_init(&b, 1000);
    buf_append_i64(&b, INT64_MIN);
    buf_append_char(&b, ' ');
    buf_append_i64(&b, INT64_MAX);
    buf_printf(&b, " %d", 0);
    assert_str(buf_str(&b), "-9223372036854775808 9223372036854775807 0");
    buf_fini(&b);
}

static void uuids_are_parsed_and_formatted(void **state)
{
    static const char *const bad[] = {"",
                                      "0190163d-8694-739b-aea5-966c26f8ad9",
                                      "0190163d-8694-739b-aea5-966c26f8ad911",
                                      "0190163d8694-739b-aea5-966c26f8ad91a",
                                      "0190163g-8694-739b-aea5-966c26f8ad91",
                                      "{190163d-8694-739b-aea5-966c26f8ad91}"};
    struct uuid u;
    char text[UUID_TEXT_LEN];
    (void)state;
    assert_true(uuid_parse(STR("0190163D-8694-739B-aEA5-966C26F8AD91"), &u));
    uuid_format(&u, text);
    assert_str(str_make(text, sizeof text), "0190163d-8694-739b-aea5-966c26f8ad91");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(uuid_parse(str_from_cstr(bad[i]), &u));
    uint8_t random[16];
    memset(random, 0xFF, sizeof random);
    u = uuid_from_random(random);
    uuid_format(&u, text);
    assert_str(str_make(text, sizeof text), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

/* Clients store entity tags, so the hashes must be the same in every version and on every machine. */
static void hashes_do_not_change_between_versions(void **state)
{
    static char text[20000];
    char one[HASH_TEXT_LEN];
    uint64_t all = 0;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 2654435761u >> 13);
    for (size_t len = 0; len < sizeof text; len += len < 3000 ? 1 : 997) {
        hash_128_text(str_make(text + len % 7, len < 7 ? len : len - 7), one);
        all = hash_64(str_make(one, sizeof one), all);
    }
    hex_64_format(all, one);
    assert_str(str_make(one, HEX_64_LEN), "d5212168d8fd101c");
}

static void list_preserves_order(void **state)
{
    struct list head, a, b;
    (void)state;
    list_init(&head);
    list_init(&a);
    list_init(&b);
    list_remove(&a);
    list_add_last(&head, &a);
    list_add_last(&head, &b);
    assert_ptr_equal(head.next, &a);
    list_remove(&a);
    assert_ptr_equal(head.next, &b);
    list_remove(&b);
    assert_true(list_is_empty(&head));
}

static void urls_are_percent_encoded(void **state)
{
    (void)state;
    struct buf out;
    struct arena arena;
    buf_init(&out, 1000);
    url_append_encoded(&out, STR("aZ09-._~ /?&=%\xC3\xA9\n"));
    assert_str(buf_str(&out), "aZ09-._~%20%2F%3F%26%3D%25%C3%A9%0A");
    buf_fini(&out);

    arena_init(&arena, 4096);
    const struct url_field fields[] = {
        {"a", STR("1,2")}, {"left_out", {NULL, 0}}, {"b", STR("")}, {"c", STR("x&y=z, ")}};
    assert_str(url_encode(&arena, STR("a/b?")), "a%2Fb%3F");
    assert_str(url_with_fields(&arena, STR("/p?"), fields, 4), "/p?a=1,2&b=&c=x%26y%3Dz,%20");
    assert_str(url_with_fields(&arena, STR(""), fields + 1, 2), "b=");
    arena_fini(&arena);
}

static void closing_a_file_keeps_the_errno_of_an_earlier_failed_write(void **state)
{
    (void)state;
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    assert_true(file_write_all(full, "x", 0));
    errno = 0;
    assert_false(file_write_all(full, "x", 1));
    assert_int_equal(errno, ENOSPC);
    assert_true(file_close(full, true));
    errno = ENOSPC;
    assert_false(file_close(full, false)); /* closes it, but keeps errno */
    assert_int_equal(errno, ENOSPC);
    assert_false(file_close(full, true));
    assert_int_equal(errno, EBADF);
    assert_true(file_close(-1, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(str_splits_and_trims),
        cmocka_unit_test(str_to_u64_accepts_only_digits_in_range),
        cmocka_unit_test(str_is_utf8_rejects_ill_formed_sequences),
        cmocka_unit_test(str_cut_character_replaces_invalid_bytes),
        cmocka_unit_test(arena_memory_is_zeroed_and_aligned_after_a_reset),
#ifdef __SANITIZE_ADDRESS__
        cmocka_unit_test(arena_overruns_are_reported),
#endif
        cmocka_unit_test(buf_failure_is_sticky_until_reset),
        cmocka_unit_test(uuids_are_parsed_and_formatted),
        cmocka_unit_test(hashes_do_not_change_between_versions),
        cmocka_unit_test(list_preserves_order),
        cmocka_unit_test(urls_are_percent_encoded),
        cmocka_unit_test(closing_a_file_keeps_the_errno_of_an_earlier_failed_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
