/* Parses every sample in test/data/platforms and compares the result with the expectation in the sample. */
#include "unit.h"

#include "lib/sample.h"

#include <stdlib.h>

static void check_sample(void *ctx, const char *name, struct str text)
{
    int *bad = ctx;
    struct sample *s = calloc(1, sizeof *s);
    struct arena arena;
    struct buf got;
    arena_init(&arena, 64 << 10);
    buf_init(&got, 1 << 20);
    bool good = sample_parse(s, text);
    if (good) {
        sample_play(&arena, s);
        sample_print(s, &got);
        good = str_eq(buf_str(&got), s->expected);
    }
    if (!good)
        print_message("%s:\nexpected\n%.*sgot\n%.*s\n", name, (int)s->expected.len, s->expected.p,
                      (int)got.len, got.p ? got.p : "");
    *bad += !good;
    sample_fini(s);
    buf_fini(&got);
    arena_fini(&arena);
    free(s);
}

static void samples_parse_to_their_expected_results(void **state)
{
    (void)state;
    int bad = 0;
    assert_true(sample_for_each(check_sample, &bad) > 20);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples_parse_to_their_expected_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
