/* Tests the notifications that are sent during a start that blocks its thread.
 * test/flow/test_service_manager.py tests the other notifications. */
#include "unit.h"

#include "app/notifier.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Opens the service manager's socket and names it in the environment. */
static int open_manager(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int len =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "viewtally-unit-%d", (int)getpid());
    char name[64];
    (void)snprintf(name, sizeof name, "@viewtally-unit-%d", (int)getpid());
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    return fd;
}

static void receive(int fd, char text[512])
{
    const ssize_t n = recv(fd, text, 511, 0);
    assert_true(n > 0);
    text[n] = '\0';
}

static void start_that_takes_long_extends_the_start_timeout(void **state)
{
    struct notifier n;
    char text[512];
    (void)state;
    const int fd = open_manager();
    notifier_open(&n);
    assert_null(getenv("NOTIFY_SOCKET"));
    notifier_begin_start(&n);
    for (int i = 0; i < 3; i++) {
        receive(fd, text);
        assert_string_equal(text, "EXTEND_TIMEOUT_USEC=60000000\nSTATUS=Opening the database");
    }
    notifier_end_start(&n);
    while (recv(fd, text, sizeof text, MSG_DONTWAIT) > 0)
        continue;
    notifier_send(&n, "READY=1");
    receive(fd, text);
    assert_string_equal(text, "READY=1"); /* the thread that prolongs the timeout has ended */
    notifier_close(&n);
    (void)close(fd);
}

static void nothing_is_sent_without_a_service_manager(void **state)
{
    struct notifier n;
    (void)state;
    assert_int_equal(setenv("NOTIFY_SOCKET", "", 1), 0);
    notifier_open(&n);
    assert_int_equal(n.fd, -1);
    notifier_begin_start(&n);
    notifier_send(&n, "READY=1");
    notifier_send_reloading(&n);
    notifier_end_start(&n);
    notifier_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_that_takes_long_extends_the_start_timeout),
        cmocka_unit_test(nothing_is_sent_without_a_service_manager),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
