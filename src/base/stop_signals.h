/* SIGTERM and SIGINT of process 1 in a container. */
#ifndef VT_BASE_STOP_SIGNALS_H
#define VT_BASE_STOP_SIGNALS_H

/* Makes SIGTERM and SIGINT end this process if it is process 1 of a container. Does nothing in any other
 * process, which their default action ends. Async-signal-safe. */
void stop_signals_end_process_1(void);

#endif
