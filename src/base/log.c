/* Formats log lines. Does not allocate, so that "out of memory" can be logged. A line is not divided between
 * two calls of write(2), so that the lines of several threads and processes do not mix; only the writer
 * thread divides a line that is longer than PIPE_BUF (log_writer.c). */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log_writer.h"
#include "base/plural.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum {
    TEXT_MAX_BYTES = 2048,
    LINE_MAX_BYTES =
        6 * TEXT_MAX_BYTES + 512, /* worst case: every byte escaped as \u00XX, plus time and level */
};

/* Atomic: a reload changes them while other threads log. */
static _Atomic enum log_level min_level = LOG_INFO;
static _Atomic enum log_format line_format = LOG_TEXT;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_set(enum log_level min, enum log_format format)
{
    min_level = min;
    line_format = format;
}

bool log_level_parse(struct str s, enum log_level *out)
{
    for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++)
        if (str_eq(s, str_from_cstr(level_names[i]))) {
            *out = (enum log_level)i;
            return true;
        }
    return false;
}

bool log_format_parse(struct str s, enum log_format *out)
{
    if (str_eq(s, STR("text")))
        *out = LOG_TEXT;
    else if (str_eq(s, STR("json")))
        *out = LOG_JSON;
    else
        return false;
    return true;
}

/* Appends the text with the escapes of JSON, but without quotes around it. */
static void append_escaped(struct buf *b, struct str s)
{
    char room[LINE_MAX_BYTES];
    struct buf quoted = buf_on(room, sizeof room);
    json_str(&quoted, s);
    if (quoted.len >= 2)
        buf_append(b, str_make(quoted.p + 1, quoted.len - 2));
}

static void build_line(struct buf *b, enum log_level level, struct str text)
{
    int64_t now = clock_wall_ms();
    if (line_format == LOG_JSON) {
        json_open(b, '{');
        JSON_TIME(b, "time", now);
        JSON_STR(b, "level", str_from_cstr(level_names[level]));
        JSON_STR(b, "message", text);
        json_close(b, '}');
    } else {
        char when[TIME_TEXT_LEN];
        time_format(now, when);
        buf_append(b, str_make(when, sizeof when));
        buf_append_char(b, ' ');
        buf_append(b, str_from_cstr(level_names[level]));
        buf_append_char(b, ' ');
        append_escaped(b, text);
    }
    buf_append_char(b, '\n');
}

static size_t report_dropped(char *room, size_t size, uint64_t dropped)
{
    char text[128];
    struct buf b = buf_on(room, size);
    int n = snprintf(text, sizeof text,
                     "log: %llu line%s dropped because standard error was not read fast enough",
                     (unsigned long long)dropped, plural((int64_t)dropped, " was", "s were"));
    build_line(&b, LOG_WARN, str_make(text, (size_t)n));
    return b.len;
}

void log_start(void)
{
    if (log_writer_start(report_dropped))
        log_warn("log: cannot start the writer thread; the server will block if its standard error is a pipe "
                 "that is not read");
}

void log_stop(void)
{
    enum { TIMEOUT_MS = 1000 };
    log_writer_stop(TIMEOUT_MS);
}

bool log_is_enabled(enum log_level level)
{
    return level >= min_level;
}

void log_at(enum log_level level, const char *fmt, ...)
{
    if (!log_is_enabled(level))
        return;
    char text[TEXT_MAX_BYTES], room[LINE_MAX_BYTES];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    struct buf b = buf_on(room, sizeof room);
    build_line(&b, level, str_make(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1));
    if (!log_writer_enqueue(buf_str(&b))) {
        ssize_t ignored = write(STDERR_FILENO, b.p, b.len);
        (void)ignored;
    }
}
