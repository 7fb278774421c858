/* Tests opening, creating and migrating databases, and the error texts for databases that are rejected. */
#include "lib/temp_db.h"

#include "store/sqlite/migrations.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

static struct temp_db t;

static int set_up(void **state)
{
    (void)state;
    temp_dir_init(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    temp_db_fini(&t);
    return 0;
}

/* --- helpers --- */

static enum err try_open(enum store_mode mode, struct error *error)
{
    struct store *s = NULL;
    enum err err =
        store_open(&s, &(struct store_options){.path = t.path, .mode = mode, .busy_timeout_ms = 50}, error);
    if (!err)
        store_close(s);
    return err;
}

static void migrate(void)
{
    int applied;
    struct error error = {0};
    if (store_create(t.path, &applied, &error))
        fail_msg("%s", error.text);
}

static int64_t run_sql(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *q;
    int64_t v = 0;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &q, NULL), SQLITE_OK);
    if (sqlite3_step(q) == SQLITE_ROW)
        v = sqlite3_column_int64(q, 0);
    assert_int_equal(sqlite3_finalize(q), SQLITE_OK);
    sqlite3_close(db);
    return v;
}

static void write_file(const char *text, size_t len)
{
    FILE *f = fopen(t.path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, len, f), len);
    fclose(f);
}

/* Asserts that migrating and opening fail with the error `expected`, whose text contains the path and
 * `words`. */
static void assert_rejected(enum err expected, const char *words)
{
    int applied;
    struct error error = {0};
    enum err err = store_migrate(t.path, &applied, &error);
    if (err != expected || !strstr(error.text, words) || !strstr(error.text, t.dir))
        fail_msg("migrate: %s: %s", err_name(err), error.text);
    error = (struct error){0};
    err = try_open(STORE_WRITE, &error);
    if (err != expected || !strstr(error.text, words) || !strstr(error.text, t.dir))
        fail_msg("open: %s: %s", err_name(err), error.text);
}

/* --- migrating --- */

static void creates_a_new_database_once(void **state)
{
    (void)state;
    int applied = -1;
    struct error error = {0};
    struct stat st;
    mode_t mask = umask(022);
    assert_int_equal(store_create(t.path, &applied, &error), OK);
    umask(mask);
    assert_int_equal(applied, schema_migration_count);
    assert_int_equal(stat(t.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(store_migrate(t.path, &applied, &error), OK);
    assert_int_equal(applied, 0);
    assert_int_equal(run_sql(t.path, "PRAGMA user_version"), schema_migration_count);
    assert_int_equal(run_sql(t.path, "PRAGMA application_id"), SCHEMA_APPLICATION_ID);
    assert_int_equal(try_open(STORE_READ, &error), OK);
    assert_int_equal(try_open(STORE_WRITE, &error), OK);
}

static void empty_file_becomes_a_database_only_through_store_create(void **state)
{
    (void)state;
    struct error error = {0};
    write_file("", 0);
    assert_rejected(ERR_VERSION, "is empty");
    migrate();
    assert_int_equal(try_open(STORE_WRITE, &error), OK);
}

static void each_migration_sets_its_version(void **state)
{
    (void)state;
    for (int i = 0; i < schema_migration_count; i++) {
        sqlite3 *db;
        assert_int_equal(schema_migrations[i].version, i + 1);
        assert_int_equal(sqlite3_open(t.path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, schema_migrations[i].sql, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_int_equal(run_sql(t.path, "PRAGMA user_version"), i + 1);
    }
}

/* Makes a database with the schema version `version` and these rows. */
static void apply_migrations(int version, const char *rows)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(t.path, &db), SQLITE_OK);
    for (int i = 0; i < version; i++)
        assert_int_equal(sqlite3_exec(db, schema_migrations[i].sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Schema 6 adds the revision of the feed. */
static void migrating_schema_5_keeps_rows(void **state)
{
    (void)state;
    static const char rows[] =
        "INSERT INTO authors (uuid, name, created_at, rev, last_event_id) VALUES"
        " (x'00000000000000000000000000000001', 'Ada', 5, 70, 9), (x'00000000000000000000000000000002', "
        "'Bob', 6, 80, 0);"
        "INSERT INTO books (uuid, author_id, title, created_at) VALUES (x'00000000000000000000000000000003', "
        "1, 'Novel', 7);"
        "INSERT INTO videos (uuid, author_id, book_id, posted_at, threshold, compared_videos, title) VALUES"
        " (x'00000000000000000000000000000004', 1, 1, 8, 1000, 0, 'one');"
        "INSERT INTO events (author_id, id, video_id, type, occurred_at, value) VALUES (1, 9, 1, 1, 9, "
        "1000);";
    struct error error = {0};
    int applied;
    apply_migrations(5, rows);
    assert_int_equal(store_migrate(t.path, &applied, &error), OK);
    assert_int_equal(applied, schema_migration_count - 5);
    assert_int_equal(run_sql(t.path, "SELECT sum(rev * 100 + last_event_id) FROM authors"), 15009);
    assert_int_equal(run_sql(t.path, "SELECT min(feed_rev) * 10 + max(feed_rev) FROM authors"), 11);
    assert_int_equal(run_sql(t.path, "SELECT count(*) FROM events JOIN videos v ON v.id = video_id "
                                     "JOIN books b ON b.id = v.book_id"),
                     1);
    run_sql(t.path, "UPDATE videos SET title = 'two'");
    run_sql(t.path, "UPDATE books SET title = 'Novella'");
    assert_int_equal(run_sql(t.path, "SELECT feed_rev FROM authors WHERE name = 'Ada'"), 3);
    assert_int_equal(run_sql(t.path, "SELECT feed_rev FROM authors WHERE name = 'Bob'"), 1);
    assert_int_equal(try_open(STORE_WRITE, &error), OK);
}

static void schema_12_renames_columns_and_keeps_rows(void **state)
{
    (void)state;
    static const char rows[] =
        "INSERT INTO refresh_runs (cause, holder, started_at, finished_at, outcome, why) VALUES"
        " (0, 'h', 5, 6, 0, NULL), (1, 'h', 7, 8, 2, 'no network'), (0, 'h', 9, NULL, NULL, NULL);"
        "INSERT INTO platform_posts (platform, post_id, asked_at) VALUES (1, 'p', 77);"
        "INSERT INTO platform_limits (api, name, value) VALUES (2, 'behind', 1), (2, 'answered', 5), (2, "
        "'units', 9);";
    struct error error = {0};
    int applied;
    apply_migrations(11, rows);
    assert_int_equal(store_migrate(t.path, &applied, &error), OK);
    assert_int_equal(applied, schema_migration_count - 11);
    assert_int_equal(run_sql(t.path, "SELECT id FROM refresh_runs WHERE error = 'no network'"), 2);
    assert_int_equal(
        run_sql(t.path, "SELECT id FROM refresh_runs INDEXED BY refresh_runs_complete WHERE is_complete = 1"),
        1);
    assert_int_equal(
        run_sql(t.path,
                "SELECT id FROM refresh_runs INDEXED BY refresh_runs_unfinished WHERE outcome IS NULL"),
        3);
    assert_int_equal(run_sql(t.path, "SELECT requested_at FROM platform_posts"), 77);
    assert_int_equal(run_sql(t.path, "SELECT value FROM platform_limits WHERE name = 'backlog'"), 1);
    assert_int_equal(run_sql(t.path, "SELECT value FROM platform_limits WHERE name = 'last_success'"), 5);
    assert_int_equal(run_sql(t.path, "SELECT count(*) FROM platform_limits"), 3);
    assert_int_equal(try_open(STORE_WRITE, &error), OK);
}

/* Eight concurrent processes: exactly one applies each migration. */
static void concurrent_processes_apply_each_migration_once(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        pid_t pids[8];
        int total = 0;
        (void)snprintf(t.path, sizeof t.path, "%s/%d.db", t.dir, round);
        for (int i = 0; i < 8; i++) {
            pids[i] = fork();
            if (pids[i] == 0) {
                int applied;
                struct error error = {0};
                _exit(store_create(t.path, &applied, &error) ? 100 : applied);
            }
        }
        for (int i = 0; i < 8; i++) {
            int status;
            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            assert_true(WIFEXITED(status));
            assert_int_not_equal(WEXITSTATUS(status), 100);
            total += WEXITSTATUS(status);
        }
        assert_int_equal(total, schema_migration_count);
    }
}

/* --- rejected databases --- */

static void rejects_a_newer_incompatible_database(void **state)
{
    (void)state;
    static const char *const values[] = {"999", "'12'", "x'01'", "0", "-1", "1.0"};
    migrate();
    run_sql(t.path, "PRAGMA user_version = 999");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char sql[96];
        (void)snprintf(sql, sizeof sql, "UPDATE meta SET value = %s WHERE key = 'compatible_since'",
                       values[i]);
        run_sql(t.path, sql);
        assert_rejected(ERR_VERSION, "has schema version 999, newer than");
    }
    run_sql(t.path, "DELETE FROM meta WHERE key = 'compatible_since'");
    assert_rejected(ERR_VERSION, "has schema version 999, newer than");
    run_sql(t.path, "DROP TABLE meta");
    assert_rejected(ERR_INTERNAL, "does not match its schema version");
    assert_int_equal(run_sql(t.path, "PRAGMA user_version"), 999);
}

/* A newer release has applied additive migrations. This binary uses the database and does not change its
 * schema. */
static void uses_a_newer_compatible_database(void **state)
{
    (void)state;
    int applied = -1;
    struct error error = {0};
    migrate();
    run_sql(t.path, "ALTER TABLE authors ADD COLUMN newer TEXT");
    run_sql(t.path, "PRAGMA user_version = 999");
    assert_int_equal(store_migrate(t.path, &applied, &error), OK);
    assert_int_equal(applied, 0);
    assert_int_equal(store_create(t.path, &applied, &error), OK);
    assert_int_equal(applied, 0);
    assert_int_equal(try_open(STORE_READ, &error), OK);
    assert_int_equal(try_open(STORE_WRITE, &error), OK);
    assert_int_equal(run_sql(t.path, "PRAGMA user_version"), 999);
}

/* The row "compatible_since" must contain the number of the last migration that is not additive. */
static void migrating_records_the_oldest_compatible_version(void **state)
{
    (void)state;
    int breaking = 0, applied;
    struct error error = {0};
    for (int i = 0; i < schema_migration_count; i++)
        if (!schema_migrations[i].is_additive)
            breaking = schema_migrations[i].version;
    assert_false(schema_migrations[0].is_additive);
    migrate();
    assert_int_equal(run_sql(t.path, "SELECT value FROM meta WHERE key = 'compatible_since'"), breaking);
    /* Version 0.1.0 did not write the row "compatible_since". */
    (void)unlink(t.path);
    apply_migrations(11, "");
    assert_int_equal(store_migrate(t.path, &applied, &error), OK);
    assert_int_equal(run_sql(t.path, "SELECT value FROM meta WHERE key = 'compatible_since'"), breaking);
}

static void open_rejects_an_older_database(void **state)
{
    (void)state;
    struct error error = {0};
    migrate();
    run_sql(t.path, "PRAGMA user_version = 0");
    assert_int_equal(try_open(STORE_WRITE, &error), ERR_VERSION);
    assert_non_null(strstr(error.text, "run `viewtally migrate`"));
}

static void rejects_and_preserves_a_foreign_database(void **state)
{
    (void)state;
    run_sql(t.path, "CREATE TABLE theirs (x)");
    run_sql(t.path, "PRAGMA user_version = 1");
    assert_rejected(ERR_CORRUPT, "of another program");
    assert_int_equal(run_sql(t.path, "SELECT count(*) FROM sqlite_schema"), 1);
    assert_int_equal(run_sql(t.path, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
}

static void rejects_a_file_that_is_not_a_database(void **state)
{
    (void)state;
    static char text[8192];
    memset(text, 'x', sizeof text);
    write_file(text, sizeof text);
    assert_rejected(ERR_CORRUPT, "is not a database");
    write_file("# config\n", 9);
    assert_rejected(ERR_CORRUPT, "is not a database");
}

static void rejects_a_path_that_is_not_a_file(void **state)
{
    (void)state;
    int applied;
    struct error error = {0};
    assert_rejected(ERR_NOT_FOUND, "does not exist: check the path and that its volume is mounted");
    assert_int_equal(access(t.path, F_OK), -1);
    (void)snprintf(t.path, sizeof t.path, "%s/no/such/t.db", t.dir);
    assert_rejected(ERR_NOT_FOUND, "No such file or directory");
    (void)snprintf(t.path, sizeof t.path, "%s", t.dir);
    assert_rejected(ERR_INVALID, "must be a regular file");
    assert_int_equal(store_create(":memory:", &applied, &error), ERR_INVALID);
    assert_int_equal(store_create("", &applied, &error), ERR_INVALID);
    /* A URI is treated as a file name. */
    (void)snprintf(t.path, sizeof t.path, "%s/file:x?mode=memory", t.dir);
    migrate();
    assert_int_equal(access(t.path, F_OK), 0);
}

static void reports_a_locked_database(void **state)
{
    (void)state;
    struct error error = {0};
    sqlite3 *db;
    migrate();
    assert_int_equal(sqlite3_open(t.path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA locking_mode = EXCLUSIVE;"
                                  "BEGIN IMMEDIATE; INSERT INTO meta VALUES ('x', 1); COMMIT",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(try_open(STORE_READ, &error), ERR_BUSY);
    assert_non_null(strstr(error.text, "is locked by another process"));
    assert_int_equal(try_open(STORE_WRITE, &error), ERR_BUSY);
    sqlite3_close(db);
    assert_int_equal(try_open(STORE_WRITE, &error), OK);
}

/* --- files that an unprivileged user must not write --- */

enum { FILE_REPORTED = 1, DIRECTORY_REPORTED = 2, NOT_REPORTED = 3 };

static int reported_path(enum err err, const struct error *error)
{
    if (err == ERR_READONLY && strstr(error->text, "is not writable: Permission denied"))
        return FILE_REPORTED;
    if (err && strstr(error->text, "the directory") && strstr(error->text, "Permission denied"))
        return DIRECTORY_REPORTED;
    (void)fprintf(stderr, "%s: %s\n", err_name(err), error->text);
    return NOT_REPORTED;
}

/* Opens or migrates the database as an unprivileged user in a child process. Returns which path the
 * error names (FILE_REPORTED …). */
static int as_nobody(bool migrating)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int applied;
        struct error error = {0};
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(99);
        enum err err = migrating ? store_create(t.path, &applied, &error) : try_open(STORE_WRITE, &error);
        _exit(reported_path(err, &error));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void reports_missing_write_permission(void **state)
{
    (void)state;
    migrate();
    assert_int_equal(chmod(t.dir, 0755), 0);
    assert_int_equal(chmod(t.path, 0444), 0);
    assert_int_equal(as_nobody(false), FILE_REPORTED);
    assert_int_equal(as_nobody(true), FILE_REPORTED);
    assert_int_equal(chmod(t.path, 0666), 0);
    assert_int_equal(chmod(t.dir, 0555), 0);
    assert_int_equal(as_nobody(false), DIRECTORY_REPORTED);
    assert_int_equal(as_nobody(true), DIRECTORY_REPORTED);
    assert_int_equal(chmod(t.dir, 0755), 0);
}

static void reports_that_a_database_cannot_be_created(void **state)
{
    (void)state;
    int status;
    assert_int_equal(chmod(t.dir, 0555), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int applied;
        struct error error = {0};
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(99);
        enum err err = store_create(t.path, &applied, &error);
        _exit(err != ERR_READONLY || !strstr(error.text, "cannot create the database") ||
              !strstr(error.text, "Permission denied"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(t.dir, 0755), 0);
}

/* --- modes --- */

static void failed_open_returns_no_store(void **state)
{
    (void)state;
    struct store *s = NULL;
    struct error error = {0};
    migrate();
    (void)run_sql(t.path, "INSERT INTO meta (key, value) VALUES ('moving', 1)");
    assert_int_equal(store_open(&s, &(struct store_options){.path = t.path, .mode = STORE_READ}, &error),
                     ERR_VERSION);
    assert_non_null(strstr(error.text, "is an incomplete copy"));
    assert_null(s);
}

static void read_connection_cannot_write(void **state)
{
    (void)state;
    migrate();
    t.r = temp_db_open(&t, STORE_READ);
    assert_int_equal(store_begin(t.r), ERR_READONLY);
    store_rollback(t.r);
}

static void second_writer_gets_busy_after_the_busy_timeout(void **state)
{
    (void)state;
    struct store *second = NULL;
    struct error error = {0};
    migrate();
    t.w = temp_db_open(&t, STORE_WRITE);
    assert_int_equal(
        store_open(&second,
                   &(struct store_options){.path = t.path, .mode = STORE_WRITE, .busy_timeout_ms = 20},
                   &error),
        OK);
    test_begin(&t);
    assert_int_equal(store_begin(second), ERR_BUSY);
    store_rollback(t.w);
    assert_int_equal(store_begin(second), OK);
    assert_int_equal(store_commit(second), OK);
    store_close(second);
}

/* --- copies --- */

static void copy_contains_only_committed_rows(void **state)
{
    (void)state;
    struct temp_db copy = {0};
    struct error error = {0};
    migrate();
    t.w = temp_db_open(&t, STORE_WRITE);
    test_begin(&t);
    struct author author = add_author(&t, 1), found;
    test_commit(&t);
    (void)snprintf(copy.path, sizeof copy.path, "%s/copy.db", t.dir);
    assert_int_not_equal(store_copy(t.path, copy.path, &error), OK); /* the target must exist */
    assert_non_null(strstr(error.text, "copy.db"));
    assert_int_equal(close(open(copy.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    test_begin(&t);
    struct author late = add_author(&t, 2); /* not committed, so it must not be in the copy */
    if (store_copy(t.path, copy.path, &error))
        fail_msg("%s", error.text);
    test_commit(&t);
    copy.r = temp_db_open(&copy, STORE_READ);
    assert_int_equal(store_find_author(copy.r, &t.arena, &author.id, &found), OK);
    assert_int_equal(store_find_author(copy.r, &t.arena, &late.id, &found), ERR_NOT_FOUND);
    assert_memory_equal(store_id(copy.r), store_id(t.w), 16);
    store_close(copy.r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(creates_a_new_database_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(empty_file_becomes_a_database_only_through_store_create, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_migration_sets_its_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(migrating_schema_5_keeps_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(schema_12_renames_columns_and_keeps_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(concurrent_processes_apply_each_migration_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejects_a_newer_incompatible_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(uses_a_newer_compatible_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(migrating_records_the_oldest_compatible_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(open_rejects_an_older_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejects_and_preserves_a_foreign_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejects_a_file_that_is_not_a_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejects_a_path_that_is_not_a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_a_locked_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_missing_write_permission, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_that_a_database_cannot_be_created, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_open_returns_no_store, set_up, tear_down),
        cmocka_unit_test_setup_teardown(read_connection_cannot_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(second_writer_gets_busy_after_the_busy_timeout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copy_contains_only_committed_rows, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
