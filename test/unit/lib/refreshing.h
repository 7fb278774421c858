/* Runs of the refresh on a database of the test's own, with one source and a clock that the test moves. */
#ifndef VT_TEST_REFRESHING_H
#define VT_TEST_REFRESHING_H

#include "refresh/refresh.h"

#include "lib/importing.h"

/* [0] the wall clock in ms, [1] the monotonic one; of all tests of the program, and of processes they fork.
 */
extern int64_t *the_clock;

/* Of the whole program: maps the clock and silences the log. A cmocka group set-up. */
int refreshing_map_clock(void **state);

struct refreshing {
    struct importing t;
    struct config config; /* its store.path is t.db.path, its spool_dir `spool` */
    char spool[96];       /* in the directory of the test; made by the first run over it */
    struct refresh_report report;
};

/* The clock stands at IMPORT_NOW. */
void refreshing_init(struct refreshing *r);
void refreshing_fini(struct refreshing *r);

/* One run, which may end in any way, and one that has to come to its end. */
enum err refreshing_try(struct refreshing *r, const struct source *source);
void refreshing_run(struct refreshing *r, const struct source *source);

/* The one integer that the query gives. */
int64_t refreshing_sql(const struct refreshing *r, const char *query);

#endif
