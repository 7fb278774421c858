/* Tests scheduled backups without a server: names, retention, the snapshot of a copy, the lease. The linker
 * replaces store_read_lease(), so that the database can be locked in the middle of a backup, and fcntl(), so
 * that a draft can be locked before the backup locks it. */
#include "backup/backup_dir.h"
#include "backup/backup_file.h"
#include "backup/backup_run.h"
#include "backup/backup_schedule.h"
#include "base/clock.h"
#include "lib/temp_db.h"
#include "jobs/lease.h"
#include "store/backups.h"
#include "store/ticket_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define DAY INT64_C(1782864000000) /* 2026-07-01T00:00:00Z, a Wednesday */

enum { FILLING_AUTHORS = 20000, STEPS_MAX = 100 };

static struct temp_db t;
static struct config config;
static char directory[80];
static int lease_reads, locked_from, locked_to; /* the database is locked for these reads of a lease */

enum err __real_store_read_lease(struct store *s, enum lease_kind kind, struct lease_row *out);
enum err __wrap_store_read_lease(struct store *s, enum lease_kind kind, struct lease_row *out);

enum err __wrap_store_read_lease(struct store *s, enum lease_kind kind, struct lease_row *out)
{
    const int n = ++lease_reads;
    return n >= locked_from && n <= locked_to ? ERR_BUSY : __real_store_read_lease(s, kind, out);
}

static void lock_lease_reads(int from, int to)
{
    lease_reads = 0;
    locked_from = from;
    locked_to = to;
}

static bool locks_next_draft;
static int locked_draft = -1;

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...);

int __wrap_fcntl(int fd, int command, ...)
{
    va_list ap;
    char path[32];
    va_start(ap, command);
    void *argument = va_arg(ap, void *);
    va_end(ap);
    if (command == F_OFD_SETLK && locks_next_draft) {
        locks_next_draft = false;
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        locked_draft = open(path, O_RDWR | O_CLOEXEC);
        assert_int_equal(__real_fcntl(locked_draft, command, argument), 0);
    }
    return __real_fcntl(fd, command, argument);
}

static int set_up(void **state)
{
    (void)state;
    temp_db_init(&t);
    config_init(&config);
    (void)snprintf(directory, sizeof directory, "%s/backups", t.dir);
    assert_int_equal(mkdir(directory, 0700), 0);
    free(config.backup.directory);
    config.backup.directory = strdup(directory);
    free(config.store.path);
    config.store.path = strdup(t.path);
    return 0;
}

static int count_files(void)
{
    int count = 0;
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_type == DT_REG;
    closedir(dir);
    return count;
}

static int tear_down(void **state)
{
    char command[512];
    struct backup_list list;
    struct error error;
    (void)state;
    lock_lease_reads(0, 0);
    assert_int_equal(backup_dir_list(directory, &list, &error), OK);
    for (size_t i = 0; i < list.entries.count; i++) {
        (void)snprintf(command, sizeof command, "%s/%s", directory, list.entries.items[i].name);
        assert_int_equal(unlink(command), 0);
    }
    VEC_FREE(&list.entries);
    assert_int_equal(rmdir(directory), 0);
    config_fini(&config);
    temp_db_fini(&t);
    return 0;
}

/* --- drafts --- */

static void draft_that_another_process_has_locked_first_is_not_used(void **state)
{
    const struct store_options from = {.path = t.path, .mode = STORE_READ};
    struct backup_draft draft;
    struct stat locked, used;
    struct error error;
    char target[96];
    (void)state;
    (void)snprintf(target, sizeof target, "%s/copy.db", directory);
    locks_next_draft = true;
    assert_int_equal(backup_draft_make(&draft, &from, target, NULL, &error), OK);
    assert_int_equal(fstat(locked_draft, &locked), 0);
    assert_int_equal(stat(draft.path, &used), 0);
    assert_true(used.st_ino != locked.st_ino && locked.st_nlink == 0);
    (void)close(locked_draft);
    backup_draft_discard(&draft);
    assert_int_equal(count_files(), 0);
}

/* --- names --- */

static void names_sort_by_time_and_can_be_parsed(void **state)
{
    char first[BACKUP_NAME_MAX], second[BACKUP_NAME_MAX];
    int64_t at;
    uint32_t id;
    (void)state;
    backup_name_format(DAY + 999, 0x00c0ffee, first);
    assert_string_equal(first, "viewtally-20260701T000000Z-00c0ffee.db");
    backup_name_format(DAY + SECOND_MS, 0, second);
    assert_true(strcmp(first, second) < 0);
    assert_true(backup_name_parse(str_from_cstr(first), &at, &id));
    assert_int_equal(at, DAY);
    assert_int_equal(id, 0x00c0ffee);
}

static void names_of_other_files_are_rejected(void **state)
{
    static const char *const names[] = {
        "",
        "viewtally.db",
        "viewtally-20260701T000000Z-00c0ffee.db.",
        "viewtally-20260701T000000Z-00c0ffee.dbx",
        "viewtally-20260701T000000Z-00C0FFEE.db",
        "viewtally-20260701T000000Z-00c0ffe.db",
        "viewtally-20260701T000000Z 00c0ffee.db",
        "viewtally-20261301T000000Z-00c0ffee.db",
        "viewtally-20260701T240000Z-00c0ffee.db",
        "Viewtally-20260701T000000Z-00c0ffee.db",
        ".viewtally-20260701T000000Z-00c0ffee.d",
        "viewtally-2026070aT000000Z-00c0ffee.db",
    };
    int64_t at;
    uint32_t id;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (backup_name_parse(str_from_cstr(names[i]), &at, &id))
            fail_msg("%s", names[i]);
}

/* --- retention --- */

/* Asserts which backups the rule keeps. Each element of `minutes` is a backup that started so many minutes
 * after DAY; `expected` has a 'k' for each that is kept, and a '-' for each that is deleted. */
static void assert_kept(const struct retention *rule, const int *minutes, const char *expected)
{
    int64_t times[16] = {0};
    bool keep[16];
    const size_t count = strlen(expected);
    for (size_t i = 0; i < count; i++)
        times[i] = DAY + minutes[i] * MINUTE_MS;
    retention_select(rule, times, count, keep);
    for (size_t i = 0; i < count; i++)
        if (keep[i] != (expected[i] == 'k'))
            fail_msg("backup %zu must %s, but is %s", i, keep[i] ? "be deleted" : "be kept",
                     keep[i] ? "kept" : "deleted");
}

static void newest_backup_of_each_period_is_kept(void **state)
{
    enum { HOUR = 60, A_DAY = 24 * HOUR };
    const int hours[] = {0, 30, 59, HOUR, HOUR + 59, 5 * HOUR};
    const int days[] = {0, A_DAY - 1, A_DAY, 3 * A_DAY, 3 * A_DAY + 1};
    /* Day 5 is a Monday. The first backup is made at the beginning of DAY. The other backups are made at
     * the start of two Mondays, and one minute before. */
    const int weeks[] = {0, 5 * A_DAY - 1, 5 * A_DAY, 12 * A_DAY - 1, 12 * A_DAY};
    (void)state;
    assert_kept(&(struct retention){.hourly = 2}, hours, "----kk");
    /* Hours without a backup do not use up the number of hours to keep. */
    assert_kept(&(struct retention){.hourly = 3}, hours, "--k-kk");
    assert_kept(&(struct retention){.hourly = 99}, hours, "--k-kk");
    assert_kept(&(struct retention){.daily = 2}, days, "--k-k");
    assert_kept(&(struct retention){.daily = 3}, days, "-kk-k");
    assert_kept(&(struct retention){.weekly = 2}, weeks, "---kk");
    assert_kept(&(struct retention){.weekly = 9}, weeks, "-k-kk");
    assert_kept(&(struct retention){.hourly = 1, .daily = 2, .weekly = 0}, days, "--k-k");
    assert_kept(&(struct retention){0}, days, "----k");
}

/* --- the copy --- */

struct disturbance {
    int steps, limit;
};

/* Called between two steps of the copy. Commits a change on another connection. */
static bool disturb(void *ctx)
{
    struct disturbance *d = ctx;
    if (++d->steps > d->limit)
        return false;
    test_begin(&t);
    (void)add_author(&t, FILLING_AUTHORS + d->steps);
    test_commit(&t);
    return true;
}

static void fill(void)
{
    test_begin(&t);
    for (int i = 1; i <= FILLING_AUTHORS; i++)
        (void)add_author(&t, i);
    test_commit(&t);
}

static bool on_author(void *ctx, const struct author *author)
{
    (void)author;
    ++*(int *)ctx;
    return true;
}

static void commits_during_a_copy_do_not_restart_it_and_are_not_copied(void **state)
{
    struct temp_db copy = {0};
    struct error error;
    struct disturbance d = {.limit = STEPS_MAX};
    const struct store_progress progress = {.step = disturb, .ctx = &d};
    int authors = 0;
    (void)state;
    fill();
    (void)snprintf(copy.path, sizeof copy.path, "%s/copy.db", directory);
    assert_int_equal(close(open(copy.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    if (store_back_up(t.path, copy.path, &progress, &error))
        fail_msg("the copy failed after %d steps: %s", d.steps, error.text);
    assert_true(d.steps > 1);
    copy.r = temp_db_open(&copy, STORE_READ);
    assert_int_equal(store_list_authors(copy.r, on_author, &authors), OK);
    assert_int_equal(authors, FILLING_AUTHORS);
    store_close(copy.r);
    assert_int_equal(unlink(copy.path), 0);
}

static void copy_can_be_canceled(void **state)
{
    char path[300];
    struct error error;
    struct disturbance d = {.limit = 1};
    const struct store_progress progress = {.step = disturb, .ctx = &d};
    (void)state;
    fill();
    (void)snprintf(path, sizeof path, "%s/copy.db", directory);
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    assert_int_equal(store_back_up(t.path, path, &progress, &error), ERR_CANCELED);
    assert_int_equal(unlink(path), 0);
}

/* --- the lease --- */

static void backup_is_made_only_by_the_holder_of_the_lease(void **state)
{
    struct lease lease;
    struct lease_row row;
    struct backup_report report;
    const struct backup_options options = {.config = &config};
    (void)state;
    lease_init(&lease, LEASE_BACKUP);
    test_begin(&t);
    assert_int_equal(lease_acquire(&lease, t.w, &row), OK);
    test_commit(&t);
    assert_int_equal(backup_run(&options, &report), ERR_BUSY);
    assert_non_null(strstr(report.why, lease.holder));
    assert_int_equal(count_files(), 0);
    test_begin(&t);
    assert_int_equal(lease_release(&lease, t.w), OK);
    test_commit(&t);
    assert_int_equal(backup_run(&options, &report), OK);
    assert_true(report.done && report.bytes > 0);
    assert_int_equal(count_files(), 1);
}

static void lock_while_the_lease_is_read_is_not_reported_as_a_backup_in_progress(void **state)
{
    struct backup_report report;
    const struct backup_options options = {.config = &config};
    (void)state;
    lock_lease_reads(1, 100);
    assert_int_equal(backup_run(&options, &report), ERR_TIMEOUT);
    assert_string_equal(report.why, "another process has locked the database for too long");
    lock_lease_reads(1, 1);
    assert_int_equal(backup_run(&options, &report), OK);
    assert_true(report.done);
}

static void backup_and_refresh_have_separate_leases(void **state)
{
    struct lease lease;
    struct lease_row row;
    struct backup_report report;
    const struct backup_options options = {.config = &config};
    (void)state;
    lease_init(&lease, LEASE_REFRESH);
    test_begin(&t);
    assert_int_equal(lease_acquire(&lease, t.w, &row), OK);
    test_commit(&t);
    assert_int_equal(backup_run(&options, &report), OK);
    assert_true(report.done);
}

/* If a locked database were reported as a backup by another process, the schedule would start a full copy
 * every five seconds. */
static void locked_database_is_not_reported_as_a_backup_in_progress(void **state)
{
    struct backup_report report;
    const struct backup_options options = {.config = &config};
    (void)state;
    config.store.busy_timeout_ms = 1;
    test_begin(&t);
    assert_int_equal(backup_run(&options, &report), ERR_TIMEOUT);
    assert_string_equal(report.why, "another process has locked the database for too long");
    test_commit(&t);
    assert_int_equal(backup_run(&options, &report), OK);
    assert_true(report.done);
}

/* A failure would be logged with the time of a retry that the stopping server does not make. */
static void backup_that_is_stopped_while_the_database_is_locked_is_canceled(void **state)
{
    struct backup_report report;
    atomic_bool stop = true;
    const struct backup_options stopping = {.config = &config, .stop = &stop};
    (void)state;
    config.store.busy_timeout_ms = 1;
    test_begin(&t);
    assert_int_equal(backup_run(&stopping, &report), ERR_CANCELED);
    test_commit(&t);
}

static void stopped_backup_leaves_no_file_and_releases_the_lease(void **state)
{
    struct backup_report report;
    atomic_bool stop = true;
    const struct backup_options stopping = {.config = &config, .stop = &stop}, options = {.config = &config};
    struct backup_state stored;
    (void)state;
    assert_int_equal(backup_run(&stopping, &report), ERR_CANCELED);
    assert_int_equal(count_files(), 0);
    assert_int_equal(store_get_backup_state(t.w, &stored), OK);
    assert_int_equal(stored.failed_at, TIME_NONE);
    assert_int_equal(backup_run(&options, &report), OK);
    assert_int_equal(count_files(), 1);
}

static void backup_that_is_not_due_is_not_made(void **state)
{
    struct backup_report report;
    const struct slot_rule rule = backup_rule(&config);
    const struct backup_options options = {.config = &config, .rule = &rule};
    (void)state;
    assert_int_equal(backup_run(&options, &report), OK);
    assert_true(report.done);
    assert_int_equal(backup_run(&options, &report), OK);
    assert_false(report.done);
    assert_int_equal(count_files(), 1);
}

/* The first read of the lease acquires it, the second one releases it. */
static void lease_is_released_after_a_lock_although_no_backup_is_due(void **state)
{
    struct backup_report report;
    const struct slot_rule rule = backup_rule(&config);
    const struct backup_options options = {.config = &config, .rule = &rule};
    struct lease_row row;
    (void)state;
    assert_int_equal(backup_run(&options, &report), OK);
    lock_lease_reads(2, 2);
    assert_int_equal(backup_run(&options, &report), OK);
    assert_false(report.done);
    assert_int_equal(store_read_lease(t.w, LEASE_BACKUP, &row), OK);
    assert_string_equal(row.holder, "");
    lock_lease_reads(2, 100);
    assert_int_equal(backup_run(&options, &report), ERR_TIMEOUT);
    assert_string_equal(report.why, "another process has locked the database for too long");
}

/* --- the schedule --- */

static void on_completed(void *ctx)
{
    (void)ctx;
    fail();
}

static void on_closed(void *ctx)
{
    *(bool *)ctx = true;
}

/* The read of the schedule completes in a later loop iteration, as it does with PostgreSQL. */
static void schedule_that_is_closed_while_it_reads_the_store_starts_no_backup(void **state)
{
    uv_loop_t loop;
    struct store *store;
    struct error error;
    struct ticket_lock *write_lock = ticket_lock_new();
    bool closed = false;
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(setenv("VIEWTALLY_TEST_LATE_READS", "1", 1), 0);
    const struct store_options options = {.path = t.path, .mode = STORE_READ, .loop = &loop};
    assert_int_equal(store_open(&store, &options, &error), OK);
    assert_int_equal(unsetenv("VIEWTALLY_TEST_LATE_READS"), 0);
    struct backup_schedule *s = backup_schedule_open(&loop, &config, store, write_lock, on_completed, NULL);
    (void)uv_run(&loop, UV_RUN_NOWAIT); /* begins the read */
    assert_int_equal(backup_schedule_status(s)->next_at, TIME_NONE);
    backup_schedule_close(s, on_closed, &closed);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(closed);
    assert_int_equal(count_files(), 0);
    store_close(store);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    ticket_lock_free(write_lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(draft_that_another_process_has_locked_first_is_not_used, set_up,
                                        tear_down),
        cmocka_unit_test(names_sort_by_time_and_can_be_parsed),
        cmocka_unit_test(names_of_other_files_are_rejected),
        cmocka_unit_test(newest_backup_of_each_period_is_kept),
        cmocka_unit_test_setup_teardown(commits_during_a_copy_do_not_restart_it_and_are_not_copied, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(copy_can_be_canceled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(backup_is_made_only_by_the_holder_of_the_lease, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lock_while_the_lease_is_read_is_not_reported_as_a_backup_in_progress,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(backup_and_refresh_have_separate_leases, set_up, tear_down),
        cmocka_unit_test_setup_teardown(locked_database_is_not_reported_as_a_backup_in_progress, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(backup_that_is_stopped_while_the_database_is_locked_is_canceled,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(stopped_backup_leaves_no_file_and_releases_the_lease, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(backup_that_is_not_due_is_not_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lease_is_released_after_a_lock_although_no_backup_is_due, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(schedule_that_is_closed_while_it_reads_the_store_starts_no_backup,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
