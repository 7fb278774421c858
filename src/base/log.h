/* The process's log: one line a call, to standard error. Text from outside is escaped (no CR, LF, ESC or
 * other control reaches the log), so a value can be passed as it is. Level and format are the only
 * process-wide state of base. */
#ifndef VT_BASE_LOG_H
#define VT_BASE_LOG_H

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

/* May be called from any thread, at any time. */
void log_set(enum log_level min, enum log_format format);

/* A server: from now on a thread writes the lines (log_writer.h), so that no caller waits for a slow reader.
 * log_stop() writes what is left, for at most a second. Commands do without and write each line themselves.
 */
void log_start(void);
void log_stop(void);

bool log_level_parse(struct str s, enum log_level *out);
bool log_format_parse(struct str s, enum log_format *out);

/* Whether lines of the level are written: for what is costly to put together. */
bool log_is_enabled(enum log_level level);

/* At most about 2 KiB a line; longer text is cut. May be called from any thread. */
void log_at(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_at(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_at(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)

#endif
