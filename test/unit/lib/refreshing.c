/* Sets up a database, a configuration and a clock for runs. */
#include "lib/refreshing.h"

#include "base/clock.h"
#include "base/log.h"
#include "lib/dump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

int64_t *test_clock_ms;

int refreshing_map_clock(void **state)
{
    (void)state;
    char path[] = "/tmp/viewtally-clock-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && ftruncate(fd, 16) == 0);
    test_clock_ms = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(test_clock_ms, MAP_FAILED);
    assert_int_equal(setenv("VIEWTALLY_TEST_CLOCK", path, 1), 0);
    assert_true(clock_use_test_file());
    (void)close(fd);
    (void)unlink(path);
    log_set(LOG_ERROR + 1, LOG_TEXT);
    return 0;
}

void refreshing_init(struct refreshing *r)
{
    memset(r, 0, sizeof *r);
    importing_init(&r->t);
    config_init(&r->config);
    free(r->config.store.path);
    free(r->config.refresh.spool_dir);
    (void)snprintf(r->spool, sizeof r->spool, "%s/spool", r->t.db.dir);
    r->config.store.path = strdup(r->t.db.path);
    r->config.refresh.spool_dir = strdup(r->spool);
    test_clock_ms[0] = IMPORT_NOW;
}

void refreshing_fini(struct refreshing *r)
{
    config_fini(&r->config);
    importing_fini(&r->t);
}

enum err refreshing_try(struct refreshing *r, const struct source *source)
{
    const struct refresh_options options = {.config = &r->config,
                                            .rules = step_rules_from_config(&r->config),
                                            .sources = {{source}},
                                            .cause = CAUSE_COMMAND};
    return refresh_run(&options, &r->report);
}

void refreshing_run(struct refreshing *r, const struct source *source)
{
    assert_int_equal(refreshing_try(r, source), OK);
    assert_true(r->report.state == RUN_SUCCEEDED || r->report.state == RUN_PARTIAL);
}

int64_t refreshing_sql(const struct refreshing *r, const char *query)
{
    return query_i64(r->t.db.path, query);
}
