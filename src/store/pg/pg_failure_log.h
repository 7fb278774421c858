/* Logs the failures of one connection, without repeating the same line for each statement. */
#ifndef VT_STORE_PG_PG_FAILURE_LOG_H
#define VT_STORE_PG_PG_FAILURE_LOG_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing was logged. */
struct pg_failure_log {
    char state[6];        /* SQLSTATE of the failure that was logged last; "": connection lost */
    int64_t logged_at_ms; /* 0: none */
    int unlogged;         /* failures since then that were not logged */
};

/* Logs that `what` has failed. The same SQLSTATE is logged once a second, a lost connection (`state` is "")
 * once a minute. */
void pg_failure_log_add(struct pg_failure_log *log, enum err err, const char *what, const char *state,
                        const char *text);

/* Call when the connection is open. Logs this if a lost connection was logged last. */
void pg_failure_log_connected(struct pg_failure_log *log);

#endif
