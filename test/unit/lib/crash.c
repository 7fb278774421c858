/* Kills or stops a child process at one of its system calls. ptrace(2) stops the child at each system call,
 * so the code under test needs no hooks. */
#include "lib/crash.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <linux/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const long changing[] = {
    SYS_write,     SYS_pwrite64, SYS_fsync,     SYS_fdatasync,
    SYS_ftruncate, SYS_unlinkat, SYS_renameat2, SYS_mkdirat,
#ifdef SYS_unlink
    SYS_unlink,    SYS_rename,   SYS_renameat,
#endif
};

/* Returns the number of the system call that the child is about to make, or -1 if the child is returning from
 * one. */
static long entered_system_call(pid_t child)
{
    struct ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof info, &info) < 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY)
        return -1;
    return (long)info.entry.nr;
}

static bool is_changing(long call)
{
    for (size_t i = 0; i < sizeof changing / sizeof changing[0]; i++)
        if (call == changing[i])
            return true;
    return false;
}

/* Returns true if the system call that the child is about to make counts. Of several calls of pwrite(2) in
 * a row, with which SQLite writes the pages of a transaction, only the first one counts. `*before` is the
 * number of the previous call that changes something, or -1; the function updates it. */
static bool counts_as_change(pid_t child, long *before)
{
    const long call = entered_system_call(child);
    if (!is_changing(call))
        return false;
    const bool repeats = call == SYS_pwrite64 && *before == SYS_pwrite64;
    *before = call;
    return !repeats;
}

/* Runs the child up to its `at`-th counted system call. If the child ends before this call, returns false
 * and sets `*status` to its wait status. */
static bool run_up_to_change(pid_t child, int at, int *status)
{
    int signal = 0;
    long before = -1;
    for (;;) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, (void *)(intptr_t)signal), 0);
        assert_int_equal(waitpid(child, status, 0), child);
        if (WIFEXITED(*status))
            return false;
        assert_true(WIFSTOPPED(*status));
        signal = WSTOPSIG(*status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(*status);
        if (signal == 0 && counts_as_change(child, &before) && --at == 0)
            return true;
    }
}

/* Starts the child process, stopped and traced. Returns its process ID, or 0 if this machine does not allow
 * tracing. */
static pid_t start(int (*fn)(void *ctx), void *ctx)
{
    enum { NO_TRACE = 77 };
    int status;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(NO_TRACE);
        (void)raise(SIGSTOP);
        _exit(fn(ctx));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_TRACE)
        return 0;
    assert_true(WIFSTOPPED(status));
    assert_int_equal(
        ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)), 0);
    return child;
}

enum crash_end crash_before_change(int at, int (*fn)(void *ctx), void *ctx)
{
    int status;
    const pid_t child = start(fn, ctx);
    if (!child)
        return CRASH_NOT_POSSIBLE;
    if (!run_up_to_change(child, at, &status)) {
        assert_int_equal(WEXITSTATUS(status), 0);
        return CRASH_ENDED;
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return CRASH_REACHED;
}

enum crash_end crash_suspend_before_change(int at, int (*fn)(void *ctx), void (*while_stopped)(void *ctx),
                                           void *ctx)
{
    int status;
    const pid_t child = start(fn, ctx);
    if (!child)
        return CRASH_NOT_POSSIBLE;
    if (!run_up_to_change(child, at, &status))
        return CRASH_ENDED;
    while_stopped(ctx);
    assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return CRASH_REACHED;
}
