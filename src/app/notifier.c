/* Sends the notifications, extends the start timeout, and runs the watchdog timer. */
#include "app/notifier.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
#ifdef VT_TEST_SEAMS
    EXTEND_EVERY_MS = 20,
#else
    EXTEND_EVERY_MS = 10000,
#endif
    EXTEND_BY_S = 60,
    US_PER_MS = 1000,
};

/* Sets the address of the Unix socket: an absolute path, or '@' followed by the name of an abstract socket.
 * Returns false if `address` has neither form, or is too long. */
static bool parse_address(struct notifier *n, const char *address)
{
    const size_t len = strlen(address);
    if ((address[0] != '/' && address[0] != '@') || len < 2 || len >= sizeof n->to.sun_path)
        return false;
    n->to = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(n->to.sun_path, address, len);
    if (address[0] == '@')
        n->to.sun_path[0] = '\0';
    n->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    return true;
}

/* Returns the watchdog interval in ms, or 0 if there is no watchdog. Ignores variables that are meant for
 * another process, such as the shell that started this process. */
static int64_t read_watchdog(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *of = getenv("WATCHDOG_PID");
    unsigned long long value, pid;
    if (!usec || !str_to_u64(str_from_cstr(usec), INT64_MAX, &value))
        return 0;
    if (of && (!str_to_u64(str_from_cstr(of), INT_MAX, &pid) || (pid_t)pid != getpid()))
        return 0;
    return (int64_t)(value / US_PER_MS);
}

void notifier_open(struct notifier *n)
{
    const char *address = getenv("NOTIFY_SOCKET");
    const struct timeval wait = {.tv_sec = 1};
    *n = (struct notifier){.fd = -1, .watchdog_ms = read_watchdog()};
    if (address && *address && !parse_address(n, address))
        log_warn("NOTIFY_SOCKET=%s is not the address of a Unix socket; the service manager is not notified",
                 address);
    else if (address && *address)
        n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (n->fd >= 0)
        (void)setsockopt(n->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("WATCHDOG_USEC");
    (void)unsetenv("WATCHDOG_PID");
}

static bool send_text(const struct notifier *n, const char *text, int flags)
{
    if (n->fd < 0)
        return true;
    return sendto(n->fd, text, strlen(text), MSG_NOSIGNAL | flags, (const struct sockaddr *)&n->to,
                  n->to_len) >= 0;
}

void notifier_send(const struct notifier *n, const char *text)
{
    if (!send_text(n, text, 0))
        log_warn("cannot notify the service manager: %s", strerror(errno));
}

void notifier_send_reloading(const struct notifier *n)
{
    char text[64];
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%lld",
                   (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    notifier_send(n, text);
}

/* ---- extending the start timeout ---- */

static void extend(void *arg)
{
    struct notifier *n = arg;
    char text[96];
    (void)snprintf(text, sizeof text, "EXTEND_TIMEOUT_USEC=%lld\nSTATUS=Opening the database",
                   (long long)EXTEND_BY_S * 1000000);
    uv_mutex_lock(&n->extension.mutex);
    while (!n->extension.stop)
        if (uv_cond_timedwait(&n->extension.cond, &n->extension.mutex, EXTEND_EVERY_MS * UINT64_C(1000000)) ==
            UV_ETIMEDOUT)
            (void)send_text(n, text, 0);
    uv_mutex_unlock(&n->extension.mutex);
}

void notifier_begin_start(struct notifier *n)
{
    if (n->fd < 0)
        return;
    CHECK(uv_mutex_init(&n->extension.mutex) == 0 && uv_cond_init(&n->extension.cond) == 0);
    n->extension.running = uv_thread_create(&n->extension.thread, extend, n) == 0;
}

void notifier_end_start(struct notifier *n)
{
    if (!n->extension.running)
        return;
    uv_mutex_lock(&n->extension.mutex);
    n->extension.stop = true;
    uv_cond_signal(&n->extension.cond);
    uv_mutex_unlock(&n->extension.mutex);
    CHECK(uv_thread_join(&n->extension.thread) == 0);
    uv_cond_destroy(&n->extension.cond);
    uv_mutex_destroy(&n->extension.mutex);
    n->extension.running = false;
}

/* ---- notifying the watchdog ---- */

/* Does not wait if the service manager is busy: two notifications are sent per watchdog interval, so the next
 * one is still in time. */
static void on_watchdog(uv_timer_t *timer)
{
    (void)send_text(timer->data, "WATCHDOG=1", MSG_DONTWAIT);
}

void notifier_start_watchdog(struct notifier *n, uv_loop_t *loop)
{
    const uint64_t every_ms = (uint64_t)n->watchdog_ms / 2;
    if (n->fd < 0 || !every_ms)
        return;
    CHECK(uv_timer_init(loop, &n->watchdog) == 0);
    n->watchdog.data = n;
    n->watching = true;
    CHECK(uv_timer_start(&n->watchdog, on_watchdog, every_ms, every_ms) == 0);
}

void notifier_stop_watchdog(struct notifier *n)
{
    if (n->watching)
        uv_close((uv_handle_t *)&n->watchdog, NULL);
    n->watching = false;
}

void notifier_close(struct notifier *n)
{
    if (n->fd >= 0)
        (void)close(n->fd);
    n->fd = -1;
}
