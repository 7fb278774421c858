/* Tests the pauses between attempts to connect to Redis. */
#include "unit.h"

#include "base/backoff.h"

/* In many random sequences, each pause is between half and the whole of its limit, and comes close to both.
 */
static void pauses_double_up_to_five_seconds(void **state)
{
    static const int whole_ms[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000};
    (void)state;
    struct backoff b = {.random = 1};
    bool near_half[9] = {false}, near_whole[9] = {false};
    for (int round = 0; round < 2000; round++) {
        backoff_reset(&b);
        for (int i = 0; i < 9; i++) {
            const int pause = backoff_next(&b);
            assert_in_range(pause, whole_ms[i] / 2, whole_ms[i]);
            near_half[i] |= pause < whole_ms[i] * 6 / 10;
            near_whole[i] |= pause > whole_ms[i] * 9 / 10;
        }
    }
    for (int i = 0; i < 9; i++)
        assert_true(near_half[i] && near_whole[i]);
}

static void processes_do_not_reconnect_at_the_same_times(void **state)
{
    (void)state;
    struct backoff one = {.random = 1}, other = {.random = 2};
    int equal = 0;
    backoff_reset(&one);
    backoff_reset(&other);
    for (int i = 0; i < 20; i++)
        equal += backoff_next(&one) == backoff_next(&other);
    assert_true(equal < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_five_seconds),
        cmocka_unit_test(processes_do_not_reconnect_at_the_same_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
