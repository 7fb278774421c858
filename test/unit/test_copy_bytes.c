/* Tests copy_bytes() and move_bytes() with all small sizes and alignments, and copy_bytes() also with sizes
 * around its limits. */
#include "unit.h"

#include "base/copy_bytes.h"

#include <string.h>

enum { MARGIN = 32, BYTES_MAX = 5000 };

/* Copies `n` bytes between buffers at these alignments. The bytes before and after the target must not
 * change. */
static void copy_and_compare(size_t n, size_t to, size_t from)
{
    static unsigned char source[BYTES_MAX + 2 * MARGIN], target[BYTES_MAX + 2 * MARGIN];
    for (size_t i = 0; i < n + 2 * MARGIN; i++) {
        source[i] = (unsigned char)(i * 7 + i / 256 + 1);
        target[i] = 0xEE;
    }
    assert_ptr_equal(copy_bytes(target + MARGIN / 2 + to, source + from, n), target + MARGIN / 2 + to);
    for (size_t i = 0; i < n + 2 * MARGIN; i++) {
        const size_t begin = MARGIN / 2 + to;
        const unsigned char expected = i >= begin && i < begin + n ? source[from + i - begin] : 0xEE;
        if (target[i] != expected)
            fail_msg("byte %zu of a copy of %zu bytes is %d, not %d", i, n, target[i], expected);
    }
}

static void copies_every_small_size_at_every_alignment(void **state)
{
    (void)state;
    for (size_t n = 0; n <= 300; n++)
        for (size_t align = 0; align < 16; align++) {
            copy_and_compare(n, align, 0);
            copy_and_compare(n, 0, align);
        }
}

static void copies_long_blocks(void **state)
{
    (void)state;
    static const size_t sizes[] = {1023, 1024, 2047, 2048, 2049, 4096, BYTES_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t align = 0; align < 16; align += 5)
            copy_and_compare(sizes[i], align, 16 - align);
}

/* Moves bytes within one buffer, in both directions and by every small distance. */
static void moves_overlapping_ranges(void **state)
{
    (void)state;
    enum { ROOM = 400 };
    unsigned char buffer[ROOM], expected[ROOM];
    for (size_t n = 0; n < 130; n++)
        for (size_t to = 0; to < 200; to++) {
            const size_t from = 100;
            for (size_t i = 0; i < ROOM; i++)
                buffer[i] = expected[i] = (unsigned char)(i * 7 + 1);
            for (size_t i = 0; i < n; i++)
                expected[to + i] = buffer[from + i];
            assert_ptr_equal(move_bytes(buffer + to, buffer + from, n), buffer + to);
            assert_memory_equal(buffer, expected, ROOM);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_every_small_size_at_every_alignment),
        cmocka_unit_test(copies_long_blocks),
        cmocka_unit_test(moves_overlapping_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
