/* What commands print: messages to standard error, results to standard output. */
#ifndef VT_CLI_OUTPUT_H
#define VT_CLI_OUTPUT_H

#include "base/buf.h"
#include "base/uuid.h"
#include "cli/cli.h"

/* The prefix of messages from now on: "key create" gives `viewtally key create: …`. Borrowed. */
void cli_set_message_prefix(const char *command);

/* Prints a message to standard error. Returns `code`. */
enum cli_exit cli_fail(enum cli_exit code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cli_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Appends text for a terminal: control characters are escaped, so that no stored name can move the cursor. */
void cli_append_text(struct buf *out, struct str text);

/* Appends a UTC time to the second, such as "2026-07-10 12:55:03". */
void cli_append_time(struct buf *out, int64_t t_ms);

void cli_append_uuid(struct buf *out, const struct uuid *id);

/* Writes the buffer to standard output and frees it. CLI_COULD_NOT if it cannot be written. */
enum cli_exit cli_print(struct buf *out);

/* Flushes what printf() wrote. CLI_COULD_NOT if it cannot be written. */
enum cli_exit cli_flush(void);

#endif
