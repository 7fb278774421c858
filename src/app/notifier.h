/* Notifications to the service manager: the protocol of sd_notify(3), without libsystemd. Each notification
 * is a datagram of NAME=VALUE lines to the Unix socket that $NOTIFY_SOCKET names. */
#ifndef VT_APP_NOTIFIER_H
#define VT_APP_NOTIFIER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>
#include <uv.h>

struct notifier {
    int fd; /* -1 if there is no service manager to notify */
    struct sockaddr_un to;
    socklen_t to_len;
    int64_t watchdog_ms; /* interval at which the service manager expects WATCHDOG=1; 0: never */
    uv_timer_t watchdog;
    bool watching;
    struct { /* the thread of notifier_begin_start() */
        uv_thread_t thread;
        uv_mutex_t mutex;
        uv_cond_t cond;
        bool running, stop;
    } extension;
};

/* Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID and removes them from the environment. If the
 * address is invalid, logs a warning and sends nothing. */
void notifier_open(struct notifier *n);

/* Sends `text`, lines of NAME=VALUE, to the service manager, like sd_notify(3). Does nothing without a
 * service manager. Waits at most a second. */
void notifier_send(const struct notifier *n, const char *text);

/* Sends RELOADING=1 with the current time. Call when a reload begins; READY=1 ends it. */
void notifier_send_reloading(const struct notifier *n);

/* Extends the start timeout of the service manager every 10 seconds until notifier_end_start(). Uses a thread
 * of its own, because the start blocks the caller, which may take long, for example while another process
 * migrates the database or if an interrupted import must be completed. notifier_end_start() does nothing if
 * the start has ended already. */
void notifier_begin_start(struct notifier *n);
void notifier_end_start(struct notifier *n);

/* Sends WATCHDOG=1 from the loop twice per watchdog interval, until notifier_stop_watchdog(). */
void notifier_start_watchdog(struct notifier *n, uv_loop_t *loop);
void notifier_stop_watchdog(struct notifier *n);

/* Closes the socket. Call after the loop has ended. */
void notifier_close(struct notifier *n);

#endif
