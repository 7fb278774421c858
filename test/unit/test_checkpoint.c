/* Tests checkpoint jobs: the write-ahead log stays short under constant writes, and a long read that makes it
 * grow is reported. */
#include "lib/temp_db.h"

#include "base/log.h"
#include "store/checkpoint.h"
#include "store/ticket_lock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sqlite3.h>

/* The value of START_PAGES in checkpoint.c in builds with test seams. */
enum { START_PAGES = 500 };
enum { WAIT_MS = 60000, BLOCKING_PAGES = 150 };

static struct temp_db t;
static uv_loop_t loop;
static struct ticket_lock *write_lock;
static struct checkpointer *checkpointer;
static sqlite3 *other;

static int set_up(void **state)
{
    struct error error = {0};
    (void)state;
    log_set(LOG_ERROR + 1, LOG_TEXT);
    temp_db_init(&t);
    write_lock = ticket_lock_new();
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(checkpointer_open(&checkpointer, &loop, t.path, write_lock, &error), OK);
    assert_int_equal(sqlite3_open_v2(t.path, &other, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    return 0;
}

static void on_closed(void *ctx)
{
    ++*(int *)ctx;
}

static void close_checkpointer(void)
{
    int closed = 0;
    if (!checkpointer)
        return;
    checkpointer_close(checkpointer, on_closed, &closed);
    assert_int_equal(closed, 0); /* on_closed() must not be called before checkpointer_close() has returned */
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(closed, 1);
    checkpointer = NULL;
}

static int tear_down(void **state)
{
    (void)state;
    close_checkpointer();
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(uv_loop_close(&loop), 0);
    ticket_lock_free(write_lock);
    temp_db_fini(&t);
    return 0;
}

/* --- a writer on a thread of its own, one transaction after the other --- */

static struct {
    uv_thread_t thread;
    atomic_bool stop;
    atomic_int commits;
    struct store *store;
    atomic_int restarts; /* number of restarts of the log */
} writing;

static enum err write_one(uint64_t n)
{
    static char text[BLOCKING_PAGES * 4096];
    memset(text, 'x', sizeof text);
    struct author a = {.id = test_uuid('w', n), .name = str_make(text, sizeof text), .plan_active = true};
    ticket_lock_acquire(write_lock);
    enum err err = store_begin(writing.store);
    if (!err)
        err = store_insert_author(writing.store, &a);
    if (!err)
        err = store_commit(writing.store);
    ticket_lock_release(write_lock);
    return err;
}

static void on_thread(void *arg)
{
    (void)arg;
    int64_t before = 0;
    for (uint64_t n = 1; !atomic_load(&writing.stop); n++) {
        if (write_one(n))
            abort();
        const int64_t pages = store_get_log_state(writing.store).pages;
        if (pages < before)
            atomic_fetch_add(&writing.restarts, 1);
        before = pages;
        atomic_fetch_add(&writing.commits, 1);
    }
}

static void start_writing(void)
{
    struct error error = {0};
    const struct store_options options = {
        .path = t.path, .mode = STORE_WRITE, .busy_timeout_ms = 5000, .checkpointed = true};
    memset(&writing, 0, sizeof writing);
    assert_int_equal(store_open(&writing.store, &options, &error), OK);
    assert_int_equal(uv_thread_create(&writing.thread, on_thread, NULL), 0);
}

static void stop_writing(void)
{
    atomic_store(&writing.stop, true);
    assert_int_equal(uv_thread_join(&writing.thread), 0);
    store_close(writing.store);
}

/* Runs the loop until condition() returns true. */
static void wait_until(bool (*condition)(void))
{
    const uint64_t deadline = uv_hrtime() + (uint64_t)WAIT_MS * 1000000;
    while (!condition()) {
        assert_true(uv_hrtime() < deadline);
        (void)uv_run(&loop, UV_RUN_ONCE);
    }
}

static const struct checkpoint_counts *counts(void)
{
    return checkpointer_get_counts(checkpointer);
}

static void exec(const char *sql)
{
    assert_int_equal(sqlite3_exec(other, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* --- tests --- */

static bool log_has_restarted(void)
{
    return atomic_load(&writing.restarts) >= 3;
}

static void write_ahead_log_restarts_under_constant_writes(void **state)
{
    (void)state;
    start_writing();
    wait_until(log_has_restarted);
    stop_writing();
    assert_true(counts()->done >= 1);
    assert_int_equal(counts()->failed, 0);
}

static bool is_too_long(void)
{
    return counts()->too_long;
}

static bool is_short(void)
{
    return !counts()->too_long && counts()->log.pending < START_PAGES;
}

static void long_read_is_reported(void **state)
{
    (void)state;
    start_writing();
    exec("BEGIN; SELECT count(*) FROM authors");
    wait_until(is_too_long);
    const int commits = atomic_load(&writing.commits);
    exec("COMMIT");
    wait_until(is_short);
    assert_true(atomic_load(&writing.commits) > commits);
    stop_writing();
    assert_int_equal(counts()->failed, 0);
}

static bool log_is_long(void)
{
    return counts()->log.pending >= START_PAGES;
}

static void checkpoint_waits_only_briefly_for_another_writing_process(void **state)
{
    (void)state;
    exec("PRAGMA wal_autocheckpoint = 0; CREATE TABLE filler (x BLOB); BEGIN IMMEDIATE;"
         "INSERT INTO filler VALUES (zeroblob(4000000)); COMMIT; BEGIN IMMEDIATE");
    wait_until(log_is_long);
    const uint64_t done = counts()->done;
    while (counts()->done == done)
        (void)uv_run(&loop, UV_RUN_ONCE);
    /* All pages are copied, although another connection holds the write lock. */
    assert_int_equal(counts()->log.pending, 0);
    exec("COMMIT");
    close_checkpointer();
}

static void short_write_ahead_log_starts_no_checkpoint_job(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_int_equal(counts()->done + counts()->failed, 0);
}

#define CHECKPOINT_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECKPOINT_TEST(write_ahead_log_restarts_under_constant_writes),
        CHECKPOINT_TEST(long_read_is_reported),
        CHECKPOINT_TEST(checkpoint_waits_only_briefly_for_another_writing_process),
        CHECKPOINT_TEST(short_write_ahead_log_starts_no_checkpoint_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
