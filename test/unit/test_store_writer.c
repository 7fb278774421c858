/* Tests the writer queue: the order of jobs, one completion per job, rollback, closing. */
#include "lib/shim_vfs.h"
#include "lib/temp_db.h"

#include "base/log.h"
#include "store/ticket_lock.h"
#include "store/writer.h"
#include "store/writer_call.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct temp_db t;
static uv_loop_t loop;
static struct writer *writer;

static int set_up(void **state)
{
    (void)state;
    struct error error = {0};
    shim_install();
    log_set(LOG_ERROR + 1, LOG_TEXT);
    temp_db_init(&t);
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(
        writer_open(&writer, &loop,
                    &(struct store_options){.path = t.path, .mode = STORE_WRITE, .busy_timeout_ms = 20},
                    &error),
        OK);
    return 0;
}

static void on_closed(void *ctx)
{
    ++*(int *)ctx;
}

/* Closes the writer and asserts that the loop then ends, because the queue has no handles left. */
static void close_writer(void)
{
    int closed = 0;
    if (!writer)
        return;
    writer_close(writer, on_closed, &closed);
    assert_int_equal(closed, 0); /* on_closed() must not be called before writer_close() has returned */
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(closed, 1);
    writer = NULL;
}

static int tear_down(void **state)
{
    (void)state;
    shim_hook(NULL, NULL);
    close_writer();
    assert_int_equal(uv_loop_close(&loop), 0);
    temp_db_fini(&t);
    return 0;
}

/* --- jobs --- */

enum { JOBS = 200 };

struct test_job {
    struct writer_job job;
    int number;
    enum err work_result; /* of `work` */
    int run_order;        /* 1: the first to run */
    int done_order, done_count;
    enum err result;
};

static int ran, finished; /* `ran` is counted on pool threads, one at a time */
static struct test_job jobs[JOBS];

static enum err insert_author(struct writer_job *job, struct store *store)
{
    struct test_job *j = (struct test_job *)(void *)job;
    struct author a = {.id = test_uuid('a', (uint64_t)j->number), .name = STR("A"), .plan_active = true};
    j->run_order = ++ran;
    enum err err = store_insert_author(store, &a);
    return err ? err : j->work_result;
}

static enum err read_author(struct writer_job *job, struct store *store)
{
    struct test_job *j = (struct test_job *)(void *)job;
    struct author a;
    const struct uuid id = test_uuid('a', (uint64_t)j->number);
    return store_find_author(store, &t.arena, &id, &a);
}

static void on_done(struct writer_job *job, enum err err)
{
    struct test_job *j = (struct test_job *)(void *)job;
    j->done_order = ++finished;
    j->done_count++;
    j->result = err;
}

static struct test_job *new_job(int number, enum err work_result)
{
    struct test_job *j = &jobs[number];
    *j = (struct test_job){
        .job = {.work = insert_author, .done = on_done}, .number = number, .work_result = work_result};
    return j;
}

static struct test_job *new_read(int number)
{
    struct test_job *j = new_job(number, OK);
    j->job.work = read_author;
    j->job.only_reads = true;
    return j;
}

static void reset_counts(void)
{
    ran = finished = 0;
    memset(jobs, 0, sizeof jobs);
}

static bool author_exists(int number)
{
    struct author a;
    const struct uuid id = test_uuid('a', (uint64_t)number);
    enum err err = store_find_author(t.r, &t.arena, &id, &a);
    assert_true(err == OK || err == ERR_NOT_FOUND);
    return err == OK;
}

/* --- tests --- */

static void jobs_run_in_order_and_complete_once(void **state)
{
    (void)state;
    reset_counts();
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(writer_submit(writer, &new_job(i, OK)->job), OK);
    assert_int_equal(finished, 0); /* `done` must not be called before writer_submit() has returned */
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    for (int i = 0; i < JOBS; i++) {
        assert_int_equal(jobs[i].run_order, i + 1);
        assert_int_equal(jobs[i].done_order, i + 1);
        assert_int_equal(jobs[i].done_count, 1);
        assert_int_equal(jobs[i].result, OK);
        assert_true(author_exists(i));
    }
}

static void failed_job_is_rolled_back_and_others_commit(void **state)
{
    (void)state;
    reset_counts();
    for (int i = 0; i < 30; i++)
        assert_int_equal(writer_submit(writer, &new_job(i, i % 3 == 1 ? ERR_INVALID : OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(jobs[i].result, i % 3 == 1 ? ERR_INVALID : OK);
        assert_int_equal(author_exists(i), i % 3 != 1);
    }
    /* This job fails with a result of the store (the id exists), which is not a database failure. */
    assert_int_equal(writer_submit(writer, &new_job(0, OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(jobs[0].result, ERR_EXISTS);
}

static void only_database_errors_count_as_failures(void **state)
{
    (void)state;
    reset_counts();
    assert_int_equal(writer_submit(writer, &new_job(0, OK)->job), OK);
    assert_int_equal(writer_submit(writer, &new_job(1, ERR_FULL)->job), OK);
    assert_int_equal(writer_counts(writer)->waiting, 2);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(writer_submit(writer, &new_job(0, OK)->job), OK); /* ERR_EXISTS */
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(writer_counts(writer)->failed, 0);
    assert_false(writer_counts(writer)->is_failing);
    assert_int_equal(store_begin(t.w), OK); /* another connection holds the write lock */
    assert_int_equal(writer_submit(writer, &new_job(2, OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    store_rollback(t.w);
    assert_int_equal(jobs[2].result, ERR_BUSY);
    assert_int_equal(writer_counts(writer)->failed, 1);
    assert_true(writer_counts(writer)->is_failing);
    assert_int_equal(writer_counts(writer)->waiting, 0);
    assert_int_equal(writer_counts(writer)->times.counts[METRICS_BOUNDS], 0);
    assert_int_equal(writer_submit(writer, &new_job(1, ERR_FULL)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(writer_counts(writer)->is_failing); /* a job that fails with its own result does not prove
                                                       that the database works again */
    assert_int_equal(writer_submit(writer, &new_read(0)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(jobs[0].result == OK && writer_counts(writer)->is_failing);
    assert_int_equal(writer_submit(writer, &new_job(3, OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_false(writer_counts(writer)->is_failing);
    assert_int_equal(writer_counts(writer)->failed, 1);
}

static void on_limit(uv_timer_t *limit)
{
    (void)limit;
}

static void job_that_only_reads_waits_for_no_writer(void **state)
{
    uv_timer_t limit;
    (void)state;
    reset_counts();
    assert_int_equal(uv_timer_init(&loop, &limit), 0);
    assert_int_equal(writer_submit(writer, &new_job(0, OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    ticket_lock_acquire(writer_lock(writer));
    assert_int_equal(store_begin(t.w), OK);
    assert_int_equal(uv_timer_start(&limit, on_limit, 10 * 1000, 0), 0);
    assert_int_equal(writer_submit(writer, &new_read(0)->job), OK);
    while (finished == 1 && uv_is_active((uv_handle_t *)&limit))
        (void)uv_run(&loop, UV_RUN_ONCE);
    const bool has_finished = finished == 2;
    store_rollback(t.w);
    ticket_lock_release(writer_lock(writer));
    uv_close((uv_handle_t *)&limit, NULL);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(has_finished);
    assert_int_equal(jobs[0].result, OK);
    uint64_t timed = 0;
    for (int i = 0; i <= METRICS_BOUNDS; i++)
        timed += writer_counts(writer)->times.counts[i];
    assert_int_equal(timed, 1); /* write transactions only */
}

static void on_done_submit_next(struct writer_job *job, enum err err)
{
    struct test_job *j = (struct test_job *)(void *)job;
    on_done(job, err);
    if (j->number + 1 < 20) {
        struct test_job *next = new_job(j->number + 1, OK);
        next->job.done = on_done_submit_next;
        assert_int_equal(writer_submit(writer, &next->job), OK);
    }
}

static void callback_can_submit_another_job(void **state)
{
    (void)state;
    reset_counts();
    struct test_job *first = new_job(0, OK);
    first->job.done = on_done_submit_next;
    assert_int_equal(writer_submit(writer, &first->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(finished, 20);
    assert_true(author_exists(19));
}

static void on_done_free(struct writer_job *job, enum err err)
{
    ++finished;
    assert_int_equal(err, OK);
    free(job);
}

static void callback_can_free_the_job(void **state)
{
    (void)state;
    reset_counts();
    for (int i = 0; i < 20; i++) {
        struct test_job *j = calloc(1, sizeof *j);
        j->job = (struct writer_job){.work = insert_author, .done = on_done_free};
        j->number = i;
        assert_int_equal(writer_submit(writer, &j->job), OK);
    }
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(finished, 20);
}

static void closing_the_writer_runs_the_waiting_jobs(void **state)
{
    (void)state;
    int closed = 0;
    reset_counts();
    for (int i = 0; i < 50; i++)
        assert_int_equal(writer_submit(writer, &new_job(i, OK)->job), OK);
    writer_close(writer, on_closed, &closed);
    assert_int_equal(writer_submit(writer, &new_job(50, OK)->job), ERR_CANCELED);
    assert_int_equal(closed, 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    writer = NULL;
    assert_int_equal(closed, 1);
    assert_int_equal(finished, 50);
    assert_int_equal(jobs[50].done_count, 0);
    for (int i = 0; i < 50; i++)
        assert_true(jobs[i].result == OK && author_exists(i));
}

static void full_queue_rejects_jobs(void **state)
{
    (void)state;
    int accepted = 0;
    struct test_job *many = calloc(20000, sizeof *many);
    reset_counts();
    for (int i = 0; i < 20000; i++) {
        many[i] = (struct test_job){
            .job = {.work = insert_author, .done = on_done}, .number = i, .work_result = ERR_INVALID};
        enum err err = writer_submit(writer, &many[i].job);
        assert_true(err == OK || err == ERR_FULL);
        accepted += err == OK;
    }
    assert_int_equal(accepted, 10000);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    for (int i = 0; i < 20000; i++)
        assert_int_equal(many[i].done_count, i < accepted);
    assert_int_equal(writer_submit(writer, &new_job(0, OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(jobs[0].result, OK);
    free(many);
}

static void job_fails_with_busy_while_another_writer_holds_the_lock(void **state)
{
    (void)state;
    reset_counts();
    test_begin(&t); /* holds the lock */
    assert_int_equal(writer_submit(writer, &new_job(0, OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(jobs[0].result, ERR_BUSY);
    assert_int_equal(jobs[0].run_order, 0); /* `work` did not run */
    store_rollback(t.w);
    assert_int_equal(writer_submit(writer, &new_job(0, OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(jobs[0].result, OK);
}

static enum err increment(struct store *store, void *data)
{
    (void)store;
    ++*(int *)data;
    return OK;
}

static void on_wake(struct waiter *w)
{
    (void)w;
    finished++;
}

static void call_changes_its_data_only_if_work_runs(void **state)
{
    struct waiter waiter = {.wake = on_wake};
    enum err result = OK;
    int value = 7;
    (void)state;
    reset_counts();
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            test_begin(&t); /* holds the lock */
        assert_int_equal(writer_call(writer, &waiter, &result, increment, &value, sizeof value), NEXT_WAIT);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
        store_rollback(t.w);
        assert_int_equal(result, i == 0 ? ERR_BUSY : OK);
        assert_int_equal(value, 7 + i);
    }
    assert_int_equal(finished, 2);
}

static int fail_sync(void *ctx, enum shim_op op, enum shim_file file, const char *path)
{
    (void)ctx;
    (void)path;
    return op == SHIM_SYNC && file == SHIM_WAL ? 1034 /* SQLITE_IOERR_FSYNC */ : 0;
}

static void failed_sync_fails_the_job(void **state)
{
    (void)state;
    reset_counts();
    shim_hook(fail_sync, NULL);
    assert_int_equal(writer_submit(writer, &new_job(0, OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    shim_hook(NULL, NULL);
    assert_int_equal(jobs[0].result, ERR_IO);
    assert_false(author_exists(0));
    assert_int_equal(writer_submit(writer, &new_job(1, OK)->job), OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(jobs[1].result, OK);
    assert_false(author_exists(0));
    assert_true(author_exists(1));
}

static void open_fails_without_a_database(void **state)
{
    (void)state;
    struct writer *w = NULL;
    struct error error = {0};
    const struct store_options o = {.path = "/nonexistent/t.db", .mode = STORE_WRITE};
    assert_int_equal(writer_open(&w, &loop, &o, &error), ERR_NOT_FOUND);
    assert_null(w);
    assert_non_null(strstr(error.text, "/nonexistent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_run_in_order_and_complete_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_job_is_rolled_back_and_others_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_database_errors_count_as_failures, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_that_only_reads_waits_for_no_writer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(callback_can_submit_another_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(callback_can_free_the_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(closing_the_writer_runs_the_waiting_jobs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_queue_rejects_jobs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(job_fails_with_busy_while_another_writer_holds_the_lock, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(call_changes_its_data_only_if_work_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_sync_fails_the_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(open_fails_without_a_database, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
