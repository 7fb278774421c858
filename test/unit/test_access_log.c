/* The access log while nothing is written: how much waits, what is said, that whole lines come. Rotation,
 * pipes and what is in a line: test/flow/test_access_log.py. */
#include "unit.h"

#include "admin/access_log.h"
#include "base/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POOL = 4, LINES_BYTES = 4 << 20, TEXT_MAX = 6 << 20 };

static uv_loop_t loop;
static uv_sem_t held, release;
static uv_work_t holds[POOL];
static char folder[] = "/tmp/viewtally-access-XXXXXX", path[64], said_path[64];
static char text[TEXT_MAX];
static int stderr_fd; /* while what is said goes to a file */

static void hold(uv_work_t *work)
{
    (void)work;
    uv_sem_post(&held);
    uv_sem_wait(&release);
}

static void let_go(uv_work_t *work, int status)
{
    (void)work;
    assert_int_equal(status, 0);
}

static void stop_pool(void)
{
    for (int i = 0; i < POOL; i++)
        assert_int_equal(uv_queue_work(&loop, &holds[i], hold, let_go), 0);
    for (int i = 0; i < POOL; i++)
        uv_sem_wait(&held);
}

static void start_pool(void)
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

/* Lines of `text` with it. Each on its own: AddressSanitizer's strstr() looks at all that follows. */
static int count(const char *what)
{
    int n = 0;
    char *end;
    for (char *line = text; (end = strchr(line, '\n')) != NULL; line = end + 1)
        n += memmem(line, (size_t)(end + 1 - line), what, strlen(what)) != NULL;
    return n;
}

static void begin_to_listen(void)
{
    int said = open(said_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    stderr_fd = dup(STDERR_FILENO);
    dup2(said, STDERR_FILENO);
    close(said);
}

static void end_of(struct access_log *l)
{
    access_log_close(l);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    access_log_free(l);
    dup2(stderr_fd, STDERR_FILENO);
    close(stderr_fd);
}

static const struct route account = {.path = "/account", .name = "/v1/account"};

static void a_pool_that_stands_still_loses_little_and_says_so(void **state)
{
    struct request r = {.id = STR("an-id"), .client_address = STR("127.0.0.1"), .route = &account};
    struct access_log *l = access_log_new(&loop);
    struct error error;
    (void)state;
    assert_int_equal(access_log_set_target(l, path, &error), OK);
    stop_pool();
    begin_to_listen();
    while (access_log_counts(l).dropped < 1000)
        access_log_append(l, &r, true, 5);
    uint64_t lines = access_log_counts(l).lines;
    start_pool();
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    (void)read_text(path);
    assert_int_equal(count("\n"), lines);
    access_log_append(l, &r, true, 5);
    end_of(l);

    size_t bytes = read_text(path);
    assert_int_equal(count("\n"), lines + 1);
    assert_int_equal(count("{\"time\""), lines + 1);
    assert_int_equal(count("\"complete\":true}\n"), lines + 1);
    assert_in_range(bytes, LINES_BYTES - 1000, LINES_BYTES + (128 << 10));
    (void)read_text(said_path);
    assert_int_equal(count("the access log cannot be written"), 1);
    assert_int_equal(count("when 4096 KiB wait"), 1);
    assert_int_equal(count("the access log is written again"), 1);
}

static void a_full_disk_is_told_of_once(void **state)
{
    struct request r = {.id = STR("an-id"), .client_address = STR("127.0.0.1"), .route = &account};
    struct access_log *l = access_log_new(&loop);
    struct error error;
    (void)state;
    begin_to_listen();
    assert_int_equal(access_log_set_target(l, "/dev/full", &error), OK);
    access_log_append(l, &r, true, 5);
    for (int tries = 0; tries < 100 && read_text(said_path) == 0; tries++)
        (void)uv_run(&loop, UV_RUN_ONCE);
    while (access_log_counts(l).dropped < 1000)
        access_log_append(l, &r, true, 5);
    end_of(l);
    (void)read_text(said_path);
    assert_int_equal(count("\n"), 1);
    assert_int_equal(count("No space left on device"), 1);
}

static int set_up(void **state)
{
    (void)state;
    log_set(LOG_INFO, LOG_TEXT);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/log", folder);
    (void)snprintf(said_path, sizeof said_path, "%s/said", folder);
    assert_int_equal(uv_sem_init(&held, 0), 0);
    assert_int_equal(uv_sem_init(&release, 0), 0);
    return uv_loop_init(&loop);
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    unlink(said_path);
    rmdir(folder);
    uv_sem_destroy(&held);
    uv_sem_destroy(&release);
    return uv_loop_close(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pool_that_stands_still_loses_little_and_says_so),
        cmocka_unit_test(a_full_disk_is_told_of_once),
    };
    setenv("UV_THREADPOOL_SIZE", "4", 1);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
