/* The kernel discards SIGTERM and SIGINT for process 1 of a container if their action is the default one.
 * Without a handler, only SIGKILL could end such a process. */
#include "base/stop_signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* The exit status is the one that a shell reports for the signal. */
enum { EXIT_BY_SIGNAL = 128 };

static void on_stop_signal(int number)
{
    _exit(EXIT_BY_SIGNAL + number);
}

void stop_signals_end_process_1(void)
{
    const struct sigaction action = {.sa_handler = on_stop_signal};
    if (getpid() != 1)
        return;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
}
