/* Fixture for runs of the refresh: a database, one source, and a clock that the test sets. */
#ifndef VT_TEST_REFRESHING_H
#define VT_TEST_REFRESHING_H

#include "refresh/refresh.h"

#include "lib/importing.h"

/* [0]: wall clock, [1]: monotonic clock, ms. Shared by all tests of the program and their child processes. */
extern int64_t *test_clock_ms;

/* Group setup for cmocka: maps the clock and disables the log. */
int refreshing_map_clock(void **state);

struct refreshing {
    struct importing t;
    struct config config; /* store.path is t.db.path, spool_dir is `spool` */
    char spool[96];       /* in the directory of the test; created by the first run */
    struct refresh_report report;
};

/* Creates an empty database and a configuration for it, and sets the wall clock to IMPORT_NOW. */
void refreshing_init(struct refreshing *r);
void refreshing_fini(struct refreshing *r);

/* refreshing_try() makes one run. refreshing_run() does the same, and fails the test unless the run is
 * succeeded or partial. */
enum err refreshing_try(struct refreshing *r, const struct source *source);
void refreshing_run(struct refreshing *r, const struct source *source);

/* Returns the single integer of a query. */
int64_t refreshing_sql(const struct refreshing *r, const char *query);

#endif
