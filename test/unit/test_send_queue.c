/* Tests the slots of deliveries: how many may be in flight, in all and to one origin. */
#include "unit.h"

#include "webhook/send_queue.h"

#include <stdio.h>

static void slots_of_an_origin_are_limited_and_can_be_reused(void **state)
{
    (void)state;
    struct send_queue q;
    send_queue_init(&q);
    const uint64_t slow = send_queue_origin(&q, STR("https://slow.example")),
                   other = send_queue_origin(&q, STR("https://other.example"));
    assert_int_not_equal(slow, other);
    for (int i = 0; i < SEND_QUEUE_SLOTS_PER_ORIGIN; i++) {
        assert_true(send_queue_has_slot(&q, slow));
        send_queue_enter(&q, slow);
    }
    assert_false(send_queue_has_slot(&q, slow));
    assert_true(send_queue_has_slot(&q, other));
    send_queue_leave(&q, slow);
    assert_true(send_queue_has_slot(&q, slow));
    for (int i = 1; i < SEND_QUEUE_SLOTS_PER_ORIGIN; i++)
        send_queue_leave(&q, slow);
    assert_int_equal(q.in_flight, 0);
    send_queue_fini(&q);
}

static void slots_of_all_origins_are_limited(void **state)
{
    (void)state;
    struct send_queue q;
    uint64_t origins[SEND_QUEUE_SLOTS];
    send_queue_init(&q);
    for (int i = 0; i < SEND_QUEUE_SLOTS; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "https://%d.example", i);
        origins[i] = send_queue_origin(&q, str_from_cstr(name));
        assert_true(send_queue_has_slot(&q, origins[i]));
        send_queue_enter(&q, origins[i]);
    }
    assert_false(send_queue_has_slot(&q, send_queue_origin(&q, STR("https://one.more"))));
    assert_false(send_queue_has_slot(&q, origins[0]));
    for (int i = 0; i < SEND_QUEUE_SLOTS; i++)
        send_queue_leave(&q, origins[i]);
    send_queue_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_of_an_origin_are_limited_and_can_be_reused),
        cmocka_unit_test(slots_of_all_origins_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
