/* Logs the failures of one connection, without repeating the same line for each statement. */
#ifndef VT_STORE_PG_PG_FAILURE_LOG_H
#define VT_STORE_PG_PG_FAILURE_LOG_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* A zeroed struct has logged nothing. */
struct pg_failure_log {
    char state[6];        /* SQLSTATE of the most recently logged failure; "": connection lost */
    int64_t logged_at_ms; /* 0: no failure was logged, or the connection is open again */
    int unlogged;         /* number of failures since logged_at_ms that were not logged */
};

/* Logs that `what` has failed with the message `text`. A repeated SQLSTATE is logged at most once a second,
 * and a lost connection (`state` is "") at most once a minute. */
void pg_failure_log_add(struct pg_failure_log *log, enum err err, const char *what, const char *state,
                        const char *text);

/* Call when the connection is open. Logs that the connection is open again, if the most recently logged
 * failure is a lost connection. */
void pg_failure_log_connected(struct pg_failure_log *log);

#endif
