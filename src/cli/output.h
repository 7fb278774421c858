/* Output of commands: messages go to standard error, results to standard output. */
#ifndef VT_CLI_OUTPUT_H
#define VT_CLI_OUTPUT_H

#include "base/buf.h"
#include "base/uuid.h"
#include "cli/cli.h"

/* Sets the prefix of later messages: "key create" results in `viewtally key create: …`. `command` is not
 * copied, so it must stay valid. */
void cli_set_message_prefix(const char *command);

/* Prints an error message to standard error. Returns `code`. */
enum cli_exit cli_fail(enum cli_exit code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints a message that is not an error to standard error. */
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Appends text for a terminal. Escapes control characters, so that a stored name cannot move the cursor. */
void cli_append_text(struct buf *out, struct str text);

/* Appends a UTC time to the second, such as "2026-07-10 12:55:03". */
void cli_append_time(struct buf *out, int64_t t_ms);

void cli_append_uuid(struct buf *out, const struct uuid *id);

/* Writes the buffer to standard output and frees it. Returns CLI_COULD_NOT after printing
 * an error if it cannot be written, or if the buffer has failed. */
enum cli_exit cli_print(struct buf *out);

/* Flushes standard output. Returns CLI_COULD_NOT if it cannot be written. */
enum cli_exit cli_flush(void);

#endif
