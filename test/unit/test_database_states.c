/* Tests the job that reads the states of a database server. The functions that query the database are
 * replaced
 * (`--wrap` in the Makefile), and the test runs the job itself, in place of the thread of the writer queue.
 */
#include "unit.h"

#include "admin/database_states.h"
#include "config/value.h"

#include <stdlib.h>
#include <string.h>

static struct writer_job *submitted;
static enum err submit_result;
static int64_t units_seen;
static char bulk_seen[16];

/* The symbols that --wrap creates. */
enum err __wrap_writer_submit(struct writer *w, struct writer_job *job);
enum err __wrap_platform_health_read(struct store *s, const struct config *config, enum platform_api api,
                                     int64_t now_ms, struct platform_health *out);
enum err __wrap_store_count_webhook_states(struct store *s, struct webhook_counts *out);
enum err __wrap_store_read_server_load(struct store *s, struct store_server_load *out);

enum err __wrap_writer_submit(struct writer *w, struct writer_job *job)
{
    (void)w;
    submitted = submit_result ? NULL : job;
    return submit_result;
}

enum err __wrap_platform_health_read(struct store *s, const struct config *config, enum platform_api api,
                                     int64_t now_ms, struct platform_health *out)
{
    (void)s;
    (void)now_ms;
    units_seen = config->platform[PLATFORM_YOUTUBE].units_per_day;
    (void)snprintf(bulk_seen, sizeof bulk_seen, "%s", config->platform[PLATFORM_PINTEREST].bulk);
    *out = (struct platform_health){.api = api};
    return OK;
}

enum err __wrap_store_count_webhook_states(struct store *s, struct webhook_counts *out)
{
    (void)s;
    *out = (struct webhook_counts){.failing = 0};
    return OK;
}

enum err __wrap_store_read_server_load(struct store *s, struct store_server_load *out)
{
    (void)s;
    *out = (struct store_server_load){.connections = 1};
    return OK;
}

static void set(struct config *c, const char *section, const char *name, const char *value)
{
    struct buf why;
    size_t at;
    buf_init(&why, 256);
    assert_true(value_set(c, config_find_key(section, name, &at), str_from_cstr(value), &why));
    buf_fini(&why);
}

static void reload_does_not_change_the_configuration_of_a_job_in_progress(void **state)
{
    struct config config;
    (void)state;
    config_init(&config);
    set(&config, "store", "url", "postgresql://viewtally@db.example/viewtally");
    set(&config, "youtube", "units_per_day", "5000");
    set(&config, "pinterest", "bulk", "on");
    struct database_states *s = database_states_new(&config);
    submit_result = OK;
    database_states_update(s, NULL, NULL);
    assert_non_null(submitted);
    set(&config, "youtube", "units_per_day", "7000"); /* a reload frees and replaces the values */
    set(&config, "pinterest", "bulk", "off");
    assert_int_equal(submitted->work(submitted, NULL), OK);
    assert_int_equal(units_seen, 5000);
    assert_string_equal(bulk_seen, "on");
    submitted->done(submitted, OK);
    assert_non_null(database_states_get_platforms(s));
    database_states_update(s, NULL, NULL);
    assert_int_equal(submitted->work(submitted, NULL), OK);
    assert_int_equal(units_seen, 7000);
    submitted->done(submitted, OK);
    database_states_free(s);
    config_fini(&config);
}

static void job_that_the_writer_queue_rejects_is_submitted_by_the_next_scrape(void **state)
{
    struct config config;
    (void)state;
    config_init(&config);
    set(&config, "store", "url", "postgresql://viewtally@db.example/viewtally");
    struct database_states *s = database_states_new(&config);
    submit_result = ERR_FULL;
    database_states_update(s, NULL, NULL);
    assert_null(submitted);
    submit_result = OK;
    database_states_update(s, NULL, NULL);
    assert_non_null(submitted);
    submitted->done(submitted, ERR_IO);
    assert_null(database_states_get_platforms(s));
    database_states_free(s);
    config_fini(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reload_does_not_change_the_configuration_of_a_job_in_progress),
        cmocka_unit_test(job_that_the_writer_queue_rejects_is_submitted_by_the_next_scrape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
