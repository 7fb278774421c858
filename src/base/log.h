/* The log: one line for each call, on standard error. Control characters (CR, LF, ESC …) are escaped, so any
 * text may be passed. */
#ifndef VT_BASE_LOG_H
#define VT_BASE_LOG_H

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

/* Any thread. */
void log_set(enum log_level min, enum log_format format);

/* log_start() moves writing to a thread (log_writer.h), so that a server never blocks on a slow reader of
 * standard error. log_stop() writes the queued lines for at most one second, then ends the thread. Without
 * log_start(), as in commands, log_at() writes each line itself. */
void log_start(void);
void log_stop(void);

bool log_level_parse(struct str s, enum log_level *out);
bool log_format_parse(struct str s, enum log_format *out);

/* True if lines of the level are written. For callers whose line is expensive to build. */
bool log_is_enabled(enum log_level level);

/* Text longer than 2 KiB is truncated. Any thread. */
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)

#endif
