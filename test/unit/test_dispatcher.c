/* Tests the dispatcher of webhooks without a server. test/flow/test_webhooks.py tests deliveries. */
#include "lib/capture.h"
#include "lib/temp_db.h"
#include "unit.h"

#include "store/ticket_lock.h"
#include "store/webhooks.h"
#include "vault/seal.h"
#include "webhook/webhook_service.h"

#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAIT_MS = 60 * 1000, POLL_MS = 5 };

static struct temp_db t;
static struct config config;
static uv_loop_t loop;
static struct ticket_lock *write_lock;
static struct webhook_service *service;

static void set_text(char **field, const char *text)
{
    free(*field);
    *field = strdup(text);
    assert_non_null(*field);
}

static int set_up(void **state)
{
    char key_path[128];
    struct error error;
    (void)state;
    if (sodium_init() < 0)
        return -1;
    temp_dir_init(&t);
    (void)snprintf(key_path, sizeof key_path, "%s/key", t.dir);
    assert_int_equal(seal_create_key_file(key_path, key_path, &error), OK);
    config_init(&config);
    set_text(&config.store.path, t.path);
    set_text(&config.secrets.key_file, key_path);
    assert_int_equal(uv_loop_init(&loop), 0);
    write_lock = ticket_lock_new();
    capture_begin();
    service = webhook_service_open(&loop, &config, write_lock);
    return 0;
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

static int tear_down(void **state)
{
    bool closed = false;
    (void)state;
    webhook_service_close(service, on_closed, &closed);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(closed);
    assert_int_equal(uv_loop_close(&loop), 0);
    (void)capture_end();
    ticket_lock_free(write_lock);
    config_fini(&config);
    temp_db_fini(&t);
    return 0;
}

static void wait_until(bool (*condition)(void))
{
    const uint64_t deadline = uv_hrtime() + (uint64_t)WAIT_MS * 1000000;
    while (!condition()) {
        assert_true(uv_hrtime() < deadline);
        uv_sleep(POLL_MS);
    }
}

/* ---- a database that is created after the start ---- */

static int64_t endpoint_row, event_id;

static bool is_failure_logged(void)
{
    return strstr(capture_text(),
                  "webhooks: nothing is delivered until the database and the HTTP client can be opened: ") !=
           NULL;
}

static bool has_passed_event(void)
{
    struct webhook_endpoint e;
    assert_int_equal(store_get_webhook(t.r, &t.arena, endpoint_row, &e), OK);
    return e.position == event_id;
}

/* Adds an endpoint that has not subscribed to its author's only event. So the dispatcher moves the endpoint's
 * position behind the event without sending anything. */
static void add_endpoint_and_event(void)
{
    test_begin(&t);
    struct author author = add_author(&t, 1);
    struct webhook_endpoint e = {.id = test_uuid(9, 1),
                                 .author_row = author.row,
                                 .url = STR("https://example.com/hook"),
                                 .types = 1 << EVENT_WENT_VIRAL,
                                 .secret = STR("sealed"),
                                 .created_at = TEST_DAY};
    assert_int_equal(store_insert_webhook(t.w, &e), OK);
    endpoint_row = e.row;
    struct video video = add_video(&t, &author, 0, 1, TEST_DAY);
    event_id = add_event(&t, &video, EVENT_MILESTONE_REACHED, 1000, TEST_DAY).id;
    test_commit(&t);
}

static void starts_as_soon_as_the_database_can_be_opened(void **state)
{
    (void)state;
    wait_until(is_failure_logged);
    temp_db_create(&t);
    add_endpoint_and_event();
    wait_until(has_passed_event);
    assert_non_null(
        strstr(capture_text(), "webhooks: the database and the HTTP client are open; deliveries start"));
}

static bool is_incomplete_copy_logged(void)
{
    return strstr(capture_text(), "is an incomplete copy") != NULL;
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* store_open() detects an incomplete copy only after it has opened the file. */
static void starts_as_soon_as_an_incomplete_copy_is_complete(void **state)
{
    char path[128];
    int applied;
    struct error error;
    (void)state;
    (void)snprintf(path, sizeof path, "%s/copy.db", t.dir);
    assert_int_equal(store_create(path, &applied, &error), OK);
    execute(path, "INSERT INTO meta (key, value) VALUES ('moving', 1)");
    assert_int_equal(rename(path, t.path), 0);
    wait_until(is_incomplete_copy_logged);
    execute(t.path, "DELETE FROM meta WHERE key = 'moving'");
    temp_db_create(&t);
    add_endpoint_and_event();
    wait_until(has_passed_event);
}

static void can_be_stopped_while_the_database_cannot_be_opened(void **state)
{
    (void)state;
    wait_until(is_failure_logged);
}

#define DISPATCHER_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        DISPATCHER_TEST(starts_as_soon_as_the_database_can_be_opened),
        DISPATCHER_TEST(starts_as_soon_as_an_incomplete_copy_is_complete),
        DISPATCHER_TEST(can_be_stopped_while_the_database_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
