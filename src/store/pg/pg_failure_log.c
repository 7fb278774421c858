/* Limits the rate of log lines, because a server can be unavailable for hours while some jobs try to use it
 * every second. */
#include "store/pg/pg_failure_log.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"

#include <stdio.h>
#include <string.h>

enum { LOG_AGAIN_MS = 1000, LOG_LOST_AGAIN_MS = 60000 };

void pg_failure_log_add(struct pg_failure_log *log, enum err err, const char *what, const char *state,
                        const char *text)
{
    const int64_t now = clock_connection_ms(), again_ms = *state ? LOG_AGAIN_MS : LOG_LOST_AGAIN_MS;
    if (log->logged_at_ms && strcmp(state, log->state) == 0 && now - log->logged_at_ms < again_ms) {
        log->unlogged++;
        return;
    }
    const enum log_level level = err == ERR_EXISTS ? LOG_DEBUG : err == ERR_BUSY ? LOG_WARN : LOG_ERROR;
    char more[40] = "";
    if (log->unlogged)
        (void)snprintf(more, sizeof more, "; %d more error%s not logged", log->unlogged,
                       plural(log->unlogged, "", "s"));
    log_at(level, "store: %s: %s (%s%s)", what, text, *state ? state : "connection", more);
    (void)snprintf(log->state, sizeof log->state, "%s", state);
    log->logged_at_ms = now;
    log->unlogged = 0;
}

void pg_failure_log_connected(struct pg_failure_log *log)
{
    if (!log->logged_at_ms || *log->state)
        return;
    log_info("store: connected to PostgreSQL again");
    log->logged_at_ms = 0;
}
