/* Kills a process between any two of its system calls that change a file. */
#ifndef VT_TEST_CRASH_H
#define VT_TEST_CRASH_H

#include <stdbool.h>

enum crash_end { CRASH_REACHED, CRASH_ENDED, CRASH_NOT_POSSIBLE };

/* Runs fn(ctx) in a child process and kills it (SIGKILL) just before its `at`-th system call (from 1) that
 * changes a file or a directory. Several calls of pwrite(2) in a row count once. Returns CRASH_REACHED
 * if the child was killed. Returns CRASH_ENDED if fn returned 0 before the `at`-th call; another result of fn
 * fails the test. Returns CRASH_NOT_POSSIBLE if this machine does not allow tracing children. */
enum crash_end crash_before_change(int at, int (*fn)(void *ctx), void *ctx);

/* Like crash_before_change(), but does not kill the child. Stops the child before its `at`-th call, runs
 * while_stopped(ctx) in this process, and then lets the child continue to its end. Returns CRASH_REACHED if
 * the child was stopped. The result of fn is ignored. */
enum crash_end crash_suspend_before_change(int at, int (*fn)(void *ctx), void (*while_stopped)(void *ctx),
                                           void *ctx);

#endif
