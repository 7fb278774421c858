/* Ends the process after a failed CHECK, or after a failed allocation of xmalloc(), xcalloc()
 * or xrealloc(). */
#include "base/check.h"

#include "base/fault.h"
#include "base/log_writer.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LAST_LINES_MS = 1000 };

/* Writes the queued log lines and then `text` to standard error, and aborts the process. Waits at most
 * LAST_LINES_MS for each of the two writes, because standard error may be a pipe that is not read.
 * Allocates nothing. */
static _Noreturn void abort_with(const char *text)
{
    struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
    log_writer_flush(LAST_LINES_MS);
    if (poll(&room, 1, LAST_LINES_MS) > 0) {
        ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
        (void)ignored;
    }
    abort();
}

_Noreturn void check_failed(const char *cond, const char *file, int line)
{
    char text[512];
    (void)snprintf(text, sizeof text, "viewtally: check failed: %s (%s:%d)\n", cond, file, line);
    abort_with(text);
}

_Noreturn void out_of_memory(void)
{
    abort_with("viewtally: out of memory\n");
}

static void *or_abort(void *p)
{
    if (!p)
        out_of_memory();
    return p;
}

void *try_malloc(unsigned long size)
{
    return FAULT_OR(NULL, malloc(size ? size : 1));
}

void *try_calloc(unsigned long count, unsigned long size)
{
    return FAULT_OR(NULL, calloc(count ? count : 1, size ? size : 1));
}

void *try_realloc(void *p, unsigned long size)
{
    return FAULT_OR(NULL, realloc(p, size ? size : 1));
}

void *xmalloc(unsigned long size)
{
    return or_abort(try_malloc(size));
}

void *xcalloc(unsigned long count, unsigned long size)
{
    return or_abort(try_calloc(count, size));
}

void *xrealloc(void *p, unsigned long size)
{
    return or_abort(try_realloc(p, size));
}
