/* The log. Each call writes one line to standard error. Control characters (CR, LF, ESC …) are escaped, so a
 * line may contain any text. */
#ifndef VT_BASE_LOG_H
#define VT_BASE_LOG_H

#include "base/str.h"

/* LOG_NOTHING is for log_set() only: no line is written. */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_NOTHING };
enum log_format { LOG_TEXT, LOG_JSON };

/* Sets the lowest level at which lines are written, and the format of the lines. Thread-safe. */
void log_set(enum log_level min, enum log_format format);

/* log_start() starts a thread that writes the lines (log_writer.h), so that a slow reader of standard error
 * never blocks a server. log_stop() waits at most one second until the queued lines are written, then ends
 * the thread. Without log_start(), as in commands, log_at() writes each line itself. */
void log_start(void);
void log_stop(void);

/* Each of these parses a name from the configuration. Returns false if the name is unknown. */
bool log_level_parse(struct str s, enum log_level *out);
bool log_format_parse(struct str s, enum log_format *out);

/* Returns true if lines of this level are written. Call before building an expensive line. */
bool log_is_enabled(enum log_level level);

/* Logs a line. Text longer than 2 KiB is truncated. Thread-safe. */
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)

#endif
