/* Tests shared bodies: small ones in memory, large ones in sealed files, and large ones in memory if no
 * descriptor is free.
 */
#include "unit.h"

#include "http/descriptors.h"
#include "http/shared_body.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGE = SHARED_BODY_FILE_MIN_BYTES, FEWEST = 31 };

static struct str pattern(char *to, size_t len)
{
    for (size_t i = 0; i < len; i++)
        to[i] = (char)('a' + i % 23);
    return str_make(to, len);
}

static void body_below_the_minimum_is_in_memory(void **state)
{
    (void)state;
    char bytes[LARGE - 1];
    const struct str text = pattern(bytes, sizeof bytes);
    struct shared_body *body = shared_body_new(text);
    assert_false(shared_body_is_file(body));
    assert_true(str_eq(shared_body_text(body), text));
    shared_body_release(body);
}

static void empty_body_is_stored(void **state)
{
    (void)state;
    struct shared_body *body = shared_body_new(STR(""));
    assert_int_equal(shared_body_text(body).len, 0);
    shared_body_release(body);
    shared_body_release(NULL);
}

static void body_lives_until_the_last_reference_is_released(void **state)
{
    (void)state;
    char bytes[LARGE];
    struct shared_body *body = shared_body_new(pattern(bytes, sizeof bytes));
    assert_ptr_equal(shared_body_acquire(body), body);
    shared_body_release(body);
    assert_true(str_eq(shared_body_text(body), str_make(bytes, sizeof bytes)));
    shared_body_release(body);
}

static int newest_descriptor(void)
{
    const int fd = dup(0);
    (void)close(fd);
    return fd;
}

static void file_is_sealed_and_is_closed_when_the_body_is_released(void **state)
{
    (void)state;
    char bytes[LARGE], path[64];
    const int fd = newest_descriptor();
    struct shared_body *body = shared_body_new(pattern(bytes, sizeof bytes));
    assert_true(shared_body_is_file(body));
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    const int again = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(again < 0 || pwrite(again, "x", 1, 0) < 0);
    if (again >= 0)
        (void)close(again);
    shared_body_release(body);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void body_in_a_file_is_sent_completely(void **state)
{
    (void)state;
    char bytes[LARGE], received[LARGE];
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct shared_body *body = shared_body_new(pattern(bytes, sizeof bytes));
    assert_int_equal(shared_body_send(body, pair[0]), LARGE);
    assert_int_equal(recv(pair[1], received, sizeof received, MSG_WAITALL), LARGE);
    assert_memory_equal(received, bytes, LARGE);
    shared_body_release(body);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void shared_bodies_use_at_most_a_quarter_of_the_descriptors(void **state)
{
    (void)state;
    char bytes[LARGE];
    int copies[FEWEST], count = 0;
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    while (newest_descriptor() < FEWEST) /* otherwise the spare descriptors would be more than the limit */
        copies[count++] = dup(0);
    few.rlim_cur = (rlim_t)(newest_descriptor() + 1) * 4;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    struct shared_body *last = shared_body_new(pattern(bytes, sizeof bytes));
    struct shared_body *above = shared_body_new(pattern(bytes, sizeof bytes));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(shared_body_is_file(last));
    assert_false(shared_body_is_file(above));
    assert_true(str_eq(shared_body_text(above), str_make(bytes, sizeof bytes)));
    shared_body_release(last);
    shared_body_release(above);
    while (count)
        (void)close(copies[--count]);
}

static void shared_bodies_use_only_descriptors_that_are_not_reserved(void **state)
{
    (void)state;
    char bytes[LARGE];
    const struct str text = pattern(bytes, sizeof bytes);
    const int all = descriptors_reserve(INT_MAX);
    struct shared_body *none = shared_body_new(text);
    descriptors_unreserve(1);
    struct shared_body *first = shared_body_new(text), *second = shared_body_new(text);
    assert_false(shared_body_is_file(none));
    assert_true(shared_body_is_file(first));
    assert_false(shared_body_is_file(second));
    shared_body_release(first);
    struct shared_body *third = shared_body_new(text);
    assert_true(shared_body_is_file(third));
    shared_body_release(none);
    shared_body_release(second);
    shared_body_release(third);
    descriptors_unreserve(all - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_below_the_minimum_is_in_memory),
        cmocka_unit_test(empty_body_is_stored),
        cmocka_unit_test(body_lives_until_the_last_reference_is_released),
        cmocka_unit_test(file_is_sealed_and_is_closed_when_the_body_is_released),
        cmocka_unit_test(body_in_a_file_is_sent_completely),
        cmocka_unit_test(shared_bodies_use_at_most_a_quarter_of_the_descriptors),
        cmocka_unit_test(shared_bodies_use_only_descriptors_that_are_not_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
