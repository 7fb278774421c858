/* Tests that uses of API keys are collected and that none is lost on shutdown. */
#include "lib/temp_db.h"

#include "auth/key_usage.h"
#include "base/log.h"
#include "store/ticket_lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KEYS = 3 };

static struct temp_db t;
static uv_loop_t loop;
static struct writer *writer;
static struct key_usage *usage;
static struct key_owner owners[KEYS];

static void find_owner(int number, struct key_owner *out)
{
    uint8_t hash[KEY_HASH_LEN];
    struct store_read read = temp_db_read(&t);
    hash_of((uint64_t)number, hash);
    out->version = 0;
    assert_int_equal(store_resolve_key(&read, hash, out), NEXT_MORE);
    assert_int_equal(read.err, OK);
}

static int set_up(void **state)
{
    struct error error = {0};
    (void)state;
    log_set(LOG_ERROR + 1, LOG_TEXT);
    temp_db_init(&t);
    test_begin(&t);
    const struct author author = add_author(&t, 1);
    for (int i = 0; i < KEYS; i++)
        (void)add_key(&t, &author, (uint64_t)i);
    test_commit(&t);
    for (int i = 0; i < KEYS; i++)
        find_owner(i, &owners[i]);
    assert_int_equal(uv_loop_init(&loop), 0);
    const struct store_options options = {.path = t.path, .mode = STORE_WRITE, .busy_timeout_ms = 20};
    assert_int_equal(writer_open(&writer, &loop, &options, &error), OK);
    usage = key_usage_new(&loop, writer);
    return 0;
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

static void shut_down(void)
{
    bool closed = false;
    writer_close(writer, on_closed, &closed);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(closed);
}

static int tear_down(void **state)
{
    (void)state;
    key_usage_free(usage);
    assert_int_equal(uv_loop_close(&loop), 0);
    temp_db_fini(&t);
    return 0;
}

static bool is_stored(int number)
{
    struct key_owner owner;
    find_owner(number, &owner);
    return owner.last_used_at != TIME_NONE;
}

static void shutdown_stores_key_uses_of_a_running_job_and_later_key_uses(void **state)
{
    (void)state;
    ticket_lock_acquire(writer_lock(writer)); /* the job of the first use waits for this lock */
    for (int i = 0; i < KEYS; i++)
        key_usage_record(usage, &owners[i], STR(""));
    key_usage_close(usage);
    ticket_lock_release(writer_lock(writer));
    shut_down();
    for (int i = 0; i < KEYS; i++)
        assert_true(is_stored(i));
}

static void shutdown_writes_nothing_if_no_key_was_used(void **state)
{
    (void)state;
    key_usage_close(usage);
    assert_int_equal(writer_counts(writer)->waiting, 0);
    shut_down();
    assert_false(is_stored(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shutdown_stores_key_uses_of_a_running_job_and_later_key_uses, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(shutdown_writes_nothing_if_no_key_was_used, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
