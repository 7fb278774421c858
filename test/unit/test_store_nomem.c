/* Makes SQLite's n-th allocation fail, alone or with all later ones: there must be an error and no partial
 * write. Allocations of viewtally's own code are not tested, because the process aborts if they fail. */
#include "lib/temp_db.h"
#include "lib/whole_step.h"

#include "base/log.h"
#include "store/sqlite/sqlite_store.h"
#include "store/sqlite/migrations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

static sqlite3_mem_methods below;
static int until_failure; /* 0: no failure */
static bool is_permanent;
static int failures;

static bool fails_now(void)
{
    if (until_failure == 0 || --until_failure > 0)
        return false;
    if (is_permanent)
        until_failure = 1;
    failures++;
    return true;
}

static void *failing_malloc(int size)
{
    return fails_now() ? NULL : below.xMalloc(size);
}

static void *failing_realloc(void *p, int size)
{
    return fails_now() ? NULL : below.xRealloc(p, size);
}

static void install(void)
{
    sqlite3_mem_methods methods;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &below), SQLITE_OK);
    methods = below;
    methods.xMalloc = failing_malloc;
    methods.xRealloc = failing_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
    /* Disables SQLite's preallocated memory, so that each use of memory is an allocation that can fail. */
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0), SQLITE_OK);
}

static void fail_at(int n, bool ever)
{
    until_failure = n;
    is_permanent = ever;
    failures = 0;
}

static struct temp_db t;

static int set_up(void **state)
{
    (void)state;
    log_set(LOG_ERROR + 1, LOG_TEXT);
    temp_db_init(&t);
    add_video_with_first_step(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fail_at(0, false);
    temp_db_fini(&t);
    return 0;
}

static bool on_video(void *ctx, const struct video *v, const struct book_ref *book)
{
    (void)v;
    (void)book;
    ++*(int *)ctx;
    return true;
}

static bool on_stats(void *ctx, const struct stats_video *row)
{
    return on_video(ctx, NULL, &row->book);
}

static enum err read_all(struct store *s)
{
    int rows = 0;
    struct store_read read = {.store = s};
    struct videos_query v = {.author_row = 1, .posted_from = INT64_MIN, .posted_to = INT64_MAX, .limit = 50};
    struct stats_query st = {.author_row = 1, .from = 0, .to = 100000, .limit = 50};
    struct stats_progress sp;
    (void)store_list_videos(&read, &v, on_video, &rows);
    if (!read.err)
        (void)store_list_stats(&read, &st, on_stats, &rows, &sp);
    if (!read.err)
        assert_int_equal(rows, 2);
    return read.err;
}

/* Opens a new connection for each n, because only a new connection has to allocate its pages. */
static int read_without_memory(bool ever)
{
    int n;
    for (n = 1; n < 2000; n++) {
        struct store *s = temp_db_open(&t, STORE_READ);
        fail_at(n, ever);
        enum err err = read_all(s);
        int failed = failures;
        fail_at(0, false);
        /* SQLite can survive some single failures. */
        assert_true(err == ERR_NOMEM || (err == OK && (!failed || !ever)));
        assert_int_equal(read_all(s), OK);
        store_close(s);
        if (!failed)
            break;
    }
    return n;
}

static void read_without_memory_fails_and_recovers(void **state)
{
    (void)state;
    int once = read_without_memory(false), ever = read_without_memory(true);
    assert_true(once > 3 && once < 2000);
    assert_true(ever > 3 && ever < 2000);
}

static int write_without_memory(bool ever)
{
    int n;
    int64_t views = views_of_last_step(t.path);
    for (n = 1; n < 2000; n++) {
        struct store *s = temp_db_open(&t, STORE_WRITE);
        fail_at(n, ever);
        enum err err = write_step(s, views + 1);
        int failed = failures;
        fail_at(0, false);
        assert_true(err == ERR_NOMEM || (err == OK && (!failed || !ever)));
        assert_false(sql_in_transaction(s->sql));
        if (!err)
            views++;
        assert_int_equal(views_of_last_step(t.path), views);
        assert_int_equal(write_step(s, ++views), OK);
        store_close(s);
        if (!failed)
            break;
    }
    return n;
}

static void write_without_memory_rolls_back_and_recovers(void **state)
{
    (void)state;
    int once = write_without_memory(false), ever = write_without_memory(true);
    assert_true(once > 10 && once < 2000);
    assert_true(ever > 10 && ever < 2000);
}

static void failed_open_has_an_error_text(void **state)
{
    (void)state;
    int n;
    for (n = 1; n < 20000; n += n < 200 ? 1 : 37) {
        struct store *s = NULL;
        struct error error = {0};
        fail_at(n, true);
        enum err err = store_open(
            &s, &(struct store_options){.path = t.path, .mode = STORE_READ, .busy_timeout_ms = 1}, &error);
        fail_at(0, false);
        if (!err) {
            store_close(s);
            break;
        }
        assert_int_equal(err, ERR_NOMEM);
        assert_non_null(strstr(error.text, "out of memory"));
    }
    assert_true(n > 200 && n < 20000);
}

static void failed_migration_has_an_error_text(void **state)
{
    (void)state;
    enum { ALLOCATIONS_MAX = 200000 };
    int n, applied;
    for (n = 1; n < ALLOCATIONS_MAX; n += n < 200 ? 7 : 331) {
        struct error error = {0};
        (void)snprintf(t.path, sizeof t.path, "%s/%d.db", t.dir, n);
        fail_at(n, true);
        enum err err = store_create(t.path, &applied, &error);
        fail_at(0, false);
        if (!err)
            break;
        assert_int_equal(err, ERR_NOMEM);
        assert_non_null(strstr(error.text, "out of memory"));
        const int before = applied; /* each migration is a transaction */
        assert_int_equal(store_create(t.path, &applied, &error), OK);
        assert_int_equal(before + applied, schema_migration_count);
    }
    assert_true(n > 200 && n < ALLOCATIONS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(read_without_memory_fails_and_recovers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(write_without_memory_rolls_back_and_recovers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_open_has_an_error_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_migration_has_an_error_text, set_up, tear_down),
    };
    install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
