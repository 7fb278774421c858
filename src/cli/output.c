/* Prints messages and results, and escapes text for a terminal. */
#include "cli/output.h"

#include "base/clock.h"
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_MAX_BYTES = 1 << 20 };

/* Set once before a command runs, like program_invocation_name of the C library. */
static const char *message_prefix;

void cli_set_message_prefix(const char *command)
{
    message_prefix = command;
}

__attribute__((format(printf, 1, 0))) static void print_message(const char *fmt, va_list ap)
{
    (void)fprintf(stderr, "viewtally%s%s: ", message_prefix ? " " : "", message_prefix ? message_prefix : "");
    (void)vfprintf(stderr, fmt, ap);
    (void)fputc('\n', stderr);
}

enum cli_exit cli_fail(enum cli_exit code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_message(fmt, ap);
    va_end(ap);
    return code;
}

void cli_note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    print_message(fmt, ap);
    va_end(ap);
}

void cli_append_text(struct buf *out, struct str text)
{
    struct buf quoted;
    buf_init(&quoted, TEXT_MAX_BYTES);
    json_str(&quoted, text.p ? text : STR(""));
    if (quoted.len >= 2)
        buf_append(out, str_make(quoted.p + 1, quoted.len - 2));
    buf_fini(&quoted);
}

void cli_append_time(struct buf *out, int64_t t_ms)
{
    char text[TIME_TEXT_LEN];
    time_format(t_ms, text);
    buf_printf(out, "%.10s %.8s", text, text + 11);
}

void cli_append_uuid(struct buf *out, const struct uuid *id)
{
    char text[UUID_TEXT_LEN];
    uuid_format(id, text);
    buf_append(out, str_make(text, sizeof text));
}

enum cli_exit cli_flush(void)
{
    return fflush(stdout) == 0 && !ferror(stdout)
               ? CLI_DONE
               : cli_fail(CLI_COULD_NOT, "standard output cannot be written");
}

enum cli_exit cli_print(struct buf *out)
{
    const bool is_too_long = out->failed;
    const bool ok = is_too_long || !out->len || fwrite(out->p, 1, out->len, stdout) == out->len;
    buf_fini(out);
    if (is_too_long)
        return cli_fail(CLI_COULD_NOT, "the output is too long");
    if (!ok)
        return cli_fail(CLI_COULD_NOT, "standard output cannot be written");
    return cli_flush();
}
