/* Tests the access log while its target cannot be written: its buffer is bounded, it logs each outage
 * once, and it writes every line whole or not at all. test/flow/test_access_log.py tests rotation, pipes and
 * the content of lines. */
#include "unit.h"

#include "admin/access_log.h"
#include "base/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POOL = 4, LINES_BYTES = 4 << 20, TEXT_MAX = 6 << 20 };

static uv_loop_t loop;
static uv_sem_t blocked, release;
static uv_work_t blockers[POOL];
static char folder[] = "/tmp/viewtally-access-XXXXXX", path[64], log_path[64];
static char text[TEXT_MAX];
static int stderr_fd; /* the original standard error while it is redirected to log_path */

static void block(uv_work_t *work)
{
    (void)work;
    uv_sem_post(&blocked);
    uv_sem_wait(&release);
}

static void on_unblocked(uv_work_t *work, int status)
{
    (void)work;
    assert_int_equal(status, 0);
}

static void block_pool(void)
{
    for (int i = 0; i < POOL; i++)
        assert_int_equal(uv_queue_work(&loop, &blockers[i], block, on_unblocked), 0);
    for (int i = 0; i < POOL; i++)
        uv_sem_wait(&blocked);
}

static void unblock_pool(void)
{
    for (int i = 0; i < POOL; i++)
        uv_sem_post(&release);
}

static size_t read_text(const char *from)
{
    int fd = open(from, O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    assert_true(fd >= 0 && n >= 0);
    close(fd);
    text[n] = '\0';
    return (size_t)n;
}

/* Returns the number of lines in the buffer `text` that contain `what`. Searches line by line, because
 * strstr() under AddressSanitizer measures the whole rest of the text. */
static int count_lines(const char *what)
{
    int n = 0;
    char *end;
    for (char *line = text; (end = strchr(line, '\n')) != NULL; line = end + 1)
        n += memmem(line, (size_t)(end + 1 - line), what, strlen(what)) != NULL;
    return n;
}

static void capture_stderr(void)
{
    int file = open(log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    stderr_fd = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
}

static void finish(struct access_log *l)
{
    access_log_close(l);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    access_log_free(l);
    dup2(stderr_fd, STDERR_FILENO);
    close(stderr_fd);
}

static const struct route account = {.path = "/account", .name = "/v1/account"};

static void drops_lines_above_the_limit_and_logs_once_while_the_thread_pool_is_blocked(void **state)
{
    struct request r = {.id = STR("an-id"), .client_address = STR("127.0.0.1"), .route = &account};
    struct access_log *l = access_log_new(&loop);
    struct error error;
    (void)state;
    assert_int_equal(access_log_set_target(l, path, &error), OK);
    block_pool();
    capture_stderr();
    while (access_log_get_counts(l).dropped < 1000)
        access_log_append(l, &r, true, 5);
    uint64_t lines = access_log_get_counts(l).lines;
    unblock_pool();
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    (void)read_text(path);
    assert_int_equal(count_lines("\n"), lines);
    access_log_append(l, &r, true, 5);
    finish(l);

    size_t bytes = read_text(path);
    assert_int_equal(count_lines("\n"), lines + 1);
    assert_int_equal(count_lines("{\"time\""), lines + 1);
    assert_int_equal(count_lines("\"complete\":true}\n"), lines + 1);
    assert_in_range(bytes, LINES_BYTES - 1000, LINES_BYTES + (128 << 10));
    (void)read_text(log_path);
    assert_int_equal(count_lines("cannot write the access log"), 1);
    assert_int_equal(count_lines("when 4096 KiB are waiting"), 1);
    assert_int_equal(count_lines("the access log can be written again"), 1);
}

static void full_disk_is_logged_once(void **state)
{
    struct request r = {.id = STR("an-id"), .client_address = STR("127.0.0.1"), .route = &account};
    struct access_log *l = access_log_new(&loop);
    struct error error;
    (void)state;
    capture_stderr();
    assert_int_equal(access_log_set_target(l, "/dev/full", &error), OK);
    access_log_append(l, &r, true, 5);
    for (int tries = 0; tries < 100 && read_text(log_path) == 0; tries++)
        (void)uv_run(&loop, UV_RUN_ONCE);
    while (access_log_get_counts(l).dropped < 1000)
        access_log_append(l, &r, true, 5);
    finish(l);
    (void)read_text(log_path);
    assert_int_equal(count_lines("\n"), 1);
    assert_int_equal(count_lines("No space left on device"), 1);
}

static int set_up(void **state)
{
    (void)state;
    log_set(LOG_INFO, LOG_TEXT);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/log", folder);
    (void)snprintf(log_path, sizeof log_path, "%s/stderr", folder);
    assert_int_equal(uv_sem_init(&blocked, 0), 0);
    assert_int_equal(uv_sem_init(&release, 0), 0);
    return uv_loop_init(&loop);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    unlink(log_path);
    rmdir(folder);
    uv_sem_destroy(&blocked);
    uv_sem_destroy(&release);
    return uv_loop_close(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drops_lines_above_the_limit_and_logs_once_while_the_thread_pool_is_blocked),
        cmocka_unit_test(full_disk_is_logged_once),
    };
    setenv("UV_THREADPOOL_SIZE", "4", 1);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
