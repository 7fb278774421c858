/* Writes secrets to standard output and detects every failure. */
#include "cli/shown_secret.h"

#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX_BYTES = 1 << 20, OUTPUT_WAIT_MS = 5000, PART_BYTES = 4096 };

/* Returns NULL, or the reason of the failure. A pipe that is ready accepts one page without blocking. */
static const char *write_when_ready(const char *p, size_t len)
{
    struct pollfd ready = {.fd = STDOUT_FILENO, .events = POLLOUT};
    while (len) {
        if (poll(&ready, 1, OUTPUT_WAIT_MS) == 0)
            return "it accepts no output";
        const ssize_t n = write(STDOUT_FILENO, p, len < PART_BYTES ? len : PART_BYTES);
        if (n < 0 && errno != EINTR)
            return strerror(errno);
        p += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return NULL;
}

/* Wipes and frees the buffer. */
static const char *write_secret(struct buf *out)
{
    (void)signal(SIGPIPE, SIG_IGN); /* if the reader has gone, writing must fail, not end the process */
    const char *why = out->failed ? "the text is too long" : NULL;
    if (!why && fflush(stdout) != 0)
        why = strerror(errno);
    if (!why)
        why = write_when_ready(out->p, out->len);
    if (out->p)
        sodium_memzero(out->p, out->len);
    buf_fini(out);
    return why;
}

bool shown_secret_print(struct buf *out)
{
    const char *why = write_secret(out);
    if (why)
        (void)cli_fail(CLI_COULD_NOT, "standard output cannot be written (%s), so the change was rolled back",
                       why);
    return !why;
}

enum err shown_secret_create(struct cli *cli, const struct shown_secret *secret, void *ctx)
{
    struct buf out;
    enum err err = cli_transaction(cli, secret->create, ctx);
    if (err)
        return err;
    buf_init(&out, TEXT_MAX_BYTES);
    secret->append(&out, ctx);
    const char *why = write_secret(&out);
    if (!why)
        return OK;
    if (cli_transaction(cli, secret->undo, ctx) == OK)
        (void)cli_fail(CLI_COULD_NOT, "standard output cannot be written (%s), so %s", why, secret->undone);
    else
        (void)cli_fail(CLI_COULD_NOT, "standard output cannot be written (%s): %s", why, secret->by_hand);
    return ERR_CANCELED;
}
