/* Processes that die at a chosen instant: between any two of their system calls that change something. */
#ifndef VT_TEST_CRASH_H
#define VT_TEST_CRASH_H

#include <stdbool.h>

enum crash_end { CRASH_KILLED, CRASH_ENDED, CRASH_NOT_POSSIBLE };

/* Runs fn(ctx) in a process of its own and kills it (SIGKILL) right before its `at`-th call (from 1) that
 * changes a file or a directory (of several writes of pages in a row only before the first). CRASH_ENDED: it
 * came to its end before, and fn returned 0; anything else that it returned fails the test.
 * CRASH_NOT_POSSIBLE: this machine lets no process trace its children. */
enum crash_end crash_before_change(int at, int (*fn)(void *ctx), void *ctx);

/* The same, but the process is only stopped there; meanwhile(ctx) runs here, and then it goes on to its end,
 * in which fn may return anything. CRASH_KILLED: it was stopped. */
enum crash_end crash_sleep_before_change(int at, int (*fn)(void *ctx), void (*meanwhile)(void *ctx),
                                         void *ctx);

#endif
