/* Texts in pages that a socket takes without a copy. */
#include "unit.h"

#include "base/page_file.h"
#include "lib/memory_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAGE = 4096 };

static struct page_file *file_of(size_t bytes)
{
    struct page_file *f = page_file_new(bytes);
    if (!f)
        skip(); /* this system has none to give */
    return f;
}

/* A text of its own for each seed. */
static struct str text_of(unsigned seed, size_t len)
{
    char *p = malloc(len + 1);
    for (size_t i = 0; i < len; i++)
        p[i] = (char)('a' + (i * 7 + seed * 31 + i / PAGE) % 26);
    return str_make(p, len);
}

static bool equals_text_of(struct str s, unsigned seed, size_t len)
{
    struct str want = text_of(seed, len);
    bool equal = str_eq(s, want);
    free((char *)(uintptr_t)want.p);
    return equal;
}

static struct str keep(struct page_file *f, unsigned seed, size_t len)
{
    struct str text = text_of(seed, len), kept = page_file_keep(f, text);
    free((char *)(uintptr_t)text.p);
    return kept;
}

static void what_is_kept_can_be_read(void **state)
{
    (void)state;
    static const size_t lens[] = {1, PAGE - 1, PAGE, PAGE + 1, 20000, 3 * PAGE};
    enum { COUNT = sizeof lens / sizeof lens[0] };
    struct page_file *f = file_of(64 * PAGE);
    struct str kept[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        kept[i] = keep(f, i, lens[i]);
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(equals_text_of(kept[i], i, lens[i]));
    for (unsigned i = 0; i < COUNT; i += 2)
        page_file_drop(f, kept[i]);
    for (unsigned i = 1; i < COUNT; i += 2)
        assert_true(equals_text_of(kept[i], i, lens[i]));
    assert_int_equal(page_file_room(1), PAGE);
    assert_int_equal(page_file_room(PAGE), PAGE);
    assert_int_equal(page_file_room(PAGE + 1), 2 * PAGE);
    page_file_free(f);
}

static void there_is_room_for_so_many_bytes_and_no_more(void **state)
{
    (void)state;
    struct page_file *f = file_of(10 * PAGE + 100);
    assert_null(keep(f, 1, 0).p);
    assert_null(keep(f, 1, 10 * PAGE + 1).p);
    struct str six = keep(f, 1, 6 * PAGE), four = keep(f, 2, 3 * PAGE + 1);
    assert_non_null(six.p);
    assert_non_null(four.p);
    assert_null(keep(f, 3, 1).p);
    page_file_drop(f, six);
    assert_null(keep(f, 3, 6 * PAGE + 1).p);
    six = keep(f, 3, 6 * PAGE);
    assert_true(equals_text_of(six, 3, 6 * PAGE) && equals_text_of(four, 2, 3 * PAGE + 1));
    page_file_free(f);
    page_file_free(NULL);
    assert_null(page_file_new(0));
}

/* Places of all sizes, over and over: each text stays what it was for as long as it is kept. */
static void places_are_used_again(void **state)
{
    (void)state;
    enum { PLACES = 24, ROUNDS = 20000 };
    struct page_file *f = file_of(40 * PAGE);
    struct str kept[PLACES] = {{NULL, 0}};
    unsigned seeds[PLACES], random = 1, refused = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random = random * 1664525 + 1013904223;
        unsigned place = (random >> 8) % PLACES;
        if (kept[place].p) {
            assert_true(equals_text_of(kept[place], seeds[place], kept[place].len));
            page_file_drop(f, kept[place]);
        }
        seeds[place] = round;
        kept[place] = keep(f, round, 1 + (random >> 12) % (5 * PAGE));
        refused += !kept[place].p;
    }
    assert_in_range(refused, 1, ROUNDS / 2);
    page_file_free(f);
}

static void memory_is_given_back(void **state)
{
    (void)state;
    struct page_file *f = file_of(1000 * PAGE);
    assert_int_equal(memory_file_bytes(), 0);
    struct str large = keep(f, 1, 900 * PAGE), small = keep(f, 2, 1);
    assert_int_equal(memory_file_bytes(), 901 * PAGE);
    page_file_drop(f, large);
    assert_int_equal(memory_file_bytes(), PAGE);
    page_file_drop(f, small);
    assert_int_equal(memory_file_bytes(), 0);
    page_file_free(f);
    assert_int_equal(memory_file_bytes(), -1);
}

static void connect_pair(int pair[2])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(pair[0], (struct sockaddr *)&at, sizeof at), 0);
    pair[1] = accept(listener, NULL, NULL);
    close(listener);
}

/* The socket holds the pages of a text that was dropped, and of which the place has been taken by others. */
static void what_is_on_its_way_does_not_change(void **state)
{
    (void)state;
    enum { LEN = 40000, OTHERS = 200 };
    struct page_file *f = file_of(12 * PAGE);
    int pair[2], in_its_place = 0;
    static char got[LEN];
    connect_pair(pair);
    struct str first = keep(f, 1, LEN);
    assert_int_equal(page_file_send(f, first, pair[0]), LEN);
    page_file_drop(f, first);
    for (unsigned i = 0; i < OTHERS; i++) {
        struct str other = keep(f, 100 + i, LEN);
        assert_true(equals_text_of(other, 100 + i, LEN));
        in_its_place += other.p == first.p;
        page_file_drop(f, other);
    }
    assert_true(in_its_place > 0);
    assert_int_equal(recv(pair[1], got, LEN, MSG_WAITALL), LEN);
    assert_true(equals_text_of(str_make(got, LEN), 1, LEN));
    close(pair[0]);
    close(pair[1]);
    page_file_free(f);
}

static void parts_are_sent_and_errors_are_told(void **state)
{
    (void)state;
    struct page_file *f = file_of(12 * PAGE);
    int pair[2];
    char got[1000];
    connect_pair(pair);
    struct str other = keep(f, 4, 10), text = keep(f, 5, 9000), part = str_make(text.p + 7001, sizeof got);
    assert_non_null(other.p);
    assert_int_equal(page_file_send(f, part, pair[0]), sizeof got);
    assert_int_equal(recv(pair[1], got, sizeof got, MSG_WAITALL), sizeof got);
    assert_memory_equal(got, part.p, sizeof got);
    assert_int_equal(page_file_send(f, part, -1), -1);
    assert_int_equal(errno, EBADF);
    close(pair[0]);
    close(pair[1]);
    page_file_free(f);
}

/* It would end the process. */
static void there_is_none_where_files_may_not_be_so_large(void **state)
{
    (void)state;
    struct rlimit before, small;
    page_file_free(file_of(100 * PAGE));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 100 * PAGE, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_null(page_file_new(100 * PAGE));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    page_file_free(file_of(100 * PAGE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_can_be_read),
        cmocka_unit_test(there_is_room_for_so_many_bytes_and_no_more),
        cmocka_unit_test(places_are_used_again),
        cmocka_unit_test(memory_is_given_back),
        cmocka_unit_test(what_is_on_its_way_does_not_change),
        cmocka_unit_test(parts_are_sent_and_errors_are_told),
        cmocka_unit_test(there_is_none_where_files_may_not_be_so_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
