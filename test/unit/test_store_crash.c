/* Tests durability: the process is killed at every file operation, and the power is cut at every file
 * operation, with each unsynced sector either written or not. */
#include "lib/shim_vfs.h"
#include "lib/temp_db.h"
#include "lib/whole_step.h"

#include "base/check.h"
#include "base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Kills the process and cuts the power at every file operation, or only at every 23rd with AddressSanitizer,
 * where a process takes several times as long. */
#ifdef __SANITIZE_ADDRESS__
enum { STRIDE = 23 };
#else
enum { STRIDE = 1 };
#endif

static struct temp_db t;

static int set_up_empty(void **state)
{
    (void)state;
    shim_install();
    log_set(LOG_WARN, LOG_TEXT);
    temp_dir_init(&t);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    shim_install();
    log_set(LOG_WARN, LOG_TEXT);
    temp_db_init(&t);
    add_video_with_first_step(&t);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    shim_hook(NULL, NULL);
    temp_db_fini(&t);
    return 0;
}

/* --- kill -9 --- */

static int kill_at(void *ctx, enum shim_op op, enum shim_file file, const char *path)
{
    int *left = ctx;
    (void)file;
    (void)path;
    if (op != SHIM_READ && op != SHIM_SHM_LOCK && --*left == 0)
        (void)kill(getpid(), SIGKILL);
    return 0;
}

/* Runs work(report) in a child process, which is killed at its n-th file operation. Returns true if `work`
 * finished before its n-th file operation. */
static bool run_killed(int n, void (*work)(int report), int report)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int left = n;
        shim_hook(kill_at, &left);
        work(report);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    return status == 0;
}

static void migrate_here(int report)
{
    int applied;
    struct error error = {0};
    (void)report;
    if (store_create(t.path, &applied, &error))
        _exit(1);
}

static void killed_migration_can_be_repeated(void **state)
{
    (void)state;
    int n;
    for (n = 1; n < 1000; n += STRIDE) {
        int applied;
        struct error error = {0};
        bool whole;
        (void)snprintf(t.path, sizeof t.path, "%s/%d.db", t.dir, n);
        whole = run_killed(n, migrate_here, -1);
        if (store_create(t.path, &applied, &error))
            fail_msg("killed at %d: %s", n, error.text);
        store_close(temp_db_open(&t, STORE_WRITE));
        if (whole)
            break;
    }
    assert_true(n > 20 && n < 1000);
}

/* Writes five steps, with checkpoints between some of them. After each commit has returned, writes its views
 * to the pipe `report`. */
static void step_and_report(int report)
{
    struct store *s = temp_db_open(&t, STORE_WRITE);
    for (int64_t views = views_of_last_step(t.path) + 1, last = views + 4; views <= last; views++) {
        if (write_step(s, views) || write(report, &views, sizeof views) != sizeof views)
            _exit(1);
        if (views % 3 == 0 && store_checkpoint(s, CHECKPOINT_PASSIVE))
            _exit(1);
    }
    store_close(s);
}

static void commit_that_was_reported_survives_kill_9(void **state)
{
    (void)state;
    int n;
    store_close(t.r);
    store_close(t.w);
    t.r = t.w = NULL;
    for (n = 1; n < 1000; n += STRIDE) {
        int pipe_fds[2];
        int64_t reported = views_of_last_step(t.path), views;
        assert_int_equal(pipe(pipe_fds), 0);
        bool whole = run_killed(n, step_and_report, pipe_fds[1]);
        close(pipe_fds[1]);
        while (read(pipe_fds[0], &views, sizeof views) == sizeof views)
            reported = views;
        close(pipe_fds[0]);
        views = views_of_last_step(t.path);
        assert_true(views == reported || views == reported + 1);
        if (whole)
            break;
    }
    assert_true(n > 40 && n < 1000);
}

/* --- the power cut --- */

enum { SECTOR = 512, IMAGE_MAX = 1 << 20 };

/* A file, whose current content is at `path`, and its content at the last sync. */
struct image {
    char path[128];
    unsigned char synced[IMAGE_MAX];
    size_t synced_len;
};

static struct disk {
    struct image db, wal;
    unsigned int seed;
    int64_t acknowledged; /* the views of the last commit that returned */
    int operations, cuts;
    bool cutting;
} disk;

static size_t load(const char *path, unsigned char *out)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    size_t n = fread(out, 1, IMAGE_MAX, f);
    CHECK(n < IMAGE_MAX);
    fclose(f);
    return n;
}

/* Writes the file as it may be after a power cut: each sector has either its synced content or the content
 * written since. In some cases, all sectors have the synced content, or all have the newer content. */
static void write_torn(const struct image *image, const char *to)
{
    static unsigned char now[IMAGE_MAX];
    size_t len = load(image->path, now);
    /* 0: all sectors are old; 1: all are new; otherwise random for each sector. */
    int mode = rand_r(&disk.seed) % 4;
    FILE *f = fopen(to, "wb");
    CHECK(f);
    if (mode == 0)
        len = image->synced_len;
    for (size_t at = 0; at < len; at += SECTOR) {
        size_t n = len - at < SECTOR ? len - at : SECTOR;
        bool old = mode == 0 || (mode > 1 && rand_r(&disk.seed) % 2);
        static const unsigned char zeros[SECTOR];
        const unsigned char *from = !old ? now + at : at < image->synced_len ? image->synced + at : zeros;
        CHECK(fwrite(from, 1, n, f) == n);
    }
    CHECK(fclose(f) == 0);
}

/* Cuts the power now. Asserts that the database is consistent and has every commit that had returned. */
static void cut_power(void)
{
    char db[128], wal[136], shm[136];
    (void)snprintf(db, sizeof db, "%s/cut.db", t.dir);
    (void)snprintf(wal, sizeof wal, "%s-wal", db);
    (void)snprintf(shm, sizeof shm, "%s-shm", db);
    disk.cutting = true;
    write_torn(&disk.db, db);
    write_torn(&disk.wal, wal);
    (void)unlink(shm);
    int64_t views = views_of_last_step(db);
    if (views != disk.acknowledged && views != disk.acknowledged + 1)
        fail_msg("power cut %d: %lld views, but the last commit that returned had %lld", disk.cuts,
                 (long long)views, (long long)disk.acknowledged);
    disk.cutting = false;
    disk.cuts++;
}

static int on_disk_op(void *ctx, enum shim_op op, enum shim_file file, const char *path)
{
    (void)ctx;
    (void)path;
    if (disk.cutting || (file != SHIM_DB && file != SHIM_WAL))
        return 0;
    struct image *image = file == SHIM_DB ? &disk.db : &disk.wal;
    if (op == SHIM_SYNCED)
        image->synced_len = load(image->path, image->synced);
    const bool matters = op == SHIM_WRITE || op == SHIM_SYNC || op == SHIM_SYNCED || op == SHIM_TRUNCATE ||
                         op == SHIM_SHM_BARRIER;
    if (matters && disk.operations++ % STRIDE == 0)
        cut_power();
    return 0;
}

static void commit_that_has_returned_survives_a_power_cut(void **state)
{
    (void)state;
    memset(&disk, 0, sizeof disk);
    disk.seed = 4711;
    (void)snprintf(disk.db.path, sizeof disk.db.path, "%s", t.path);
    (void)snprintf(disk.wal.path, sizeof disk.wal.path, "%s-wal", t.path);
    assert_int_equal(store_checkpoint(t.w, CHECKPOINT_PASSIVE), OK);
    disk.db.synced_len = load(disk.db.path, disk.db.synced);
    disk.wal.synced_len = load(disk.wal.path, disk.wal.synced);
    disk.acknowledged = 1;
    shim_hook(on_disk_op, NULL);
    for (int64_t views = 2; views < 40; views++) {
        assert_int_equal(write_step(t.w, views), OK);
        disk.acknowledged = views;
        cut_power();
        if (views % 7 == 0)
            assert_int_equal(store_checkpoint(t.w, CHECKPOINT_PASSIVE), OK);
    }
    shim_hook(NULL, NULL);
    assert_true(disk.operations > 500);
}

/* --- order: durable before visible --- */

static struct order {
    int64_t committing; /* views of the step being written */
    int written, synced, published_unsynced, looks;
    bool looking;
} order;

static bool see_video(void *ctx, const struct video *v, const struct book_ref *book)
{
    (void)book;
    *(int64_t *)ctx = v->views;
    return true;
}

static int64_t visible_views(void)
{
    struct store_read read = temp_db_read(&t);
    struct videos_query q = {.author_row = 1, .posted_from = INT64_MIN, .posted_to = INT64_MAX, .limit = 1};
    int64_t views = -1;
    order.looking = true;
    (void)store_list_videos(&read, &q, see_video, &views);
    order.looking = false;
    assert_int_equal(read.err, OK);
    return views;
}

/* Asserts that no connection sees the step before the log is synced. SQLite makes a commit visible at the
 * memory barrier of the WAL index. */
static int on_order_op(void *ctx, enum shim_op op, enum shim_file file, const char *path)
{
    (void)ctx;
    (void)path;
    if (order.looking)
        return 0;
    if (op == SHIM_WRITE && file == SHIM_WAL) {
        order.written++;
        order.synced = 0;
    } else if (op == SHIM_SYNC && file == SHIM_WAL) {
        order.looks++;
        assert_int_equal(visible_views(), order.committing - 1);
    } else if (op == SHIM_SYNCED && file == SHIM_WAL) {
        order.synced = 1;
        assert_int_equal(visible_views(), order.committing - 1);
    } else if (op == SHIM_SHM_BARRIER && order.written && !order.synced) {
        order.published_unsynced++;
    }
    return 0;
}

static void step_is_synced_before_it_is_visible(void **state)
{
    (void)state;
    memset(&order, 0, sizeof order);
    shim_hook(on_order_op, NULL);
    for (order.committing = 2; order.committing < 20; order.committing++) {
        order.written = order.synced = order.looks = 0;
        assert_int_equal(write_step(t.w, order.committing), OK);
        assert_true(order.written > 0);
        assert_true(order.looks > 0);
        assert_int_equal(order.synced, 1); /* nothing was written after the last sync */
        assert_int_equal(order.published_unsynced, 0);
        assert_int_equal(visible_views(), order.committing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed_migration_can_be_repeated, set_up_empty, tear_down),
        cmocka_unit_test_setup_teardown(commit_that_was_reported_survives_kill_9, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commit_that_has_returned_survives_a_power_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(step_is_synced_before_it_is_visible, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
