/* A blocking connection to PostgreSQL: runs a private event loop with a pg_connection until the reply has
 * arrived. One thread uses a session at a time.
 *
 * A batch is a list of commands that are sent together and end with a synchronization point. If one command
 * fails, PostgreSQL skips the rest of the batch. If a reply does not arrive in time, the session closes the
 * connection. It never cancels a query, because canceling a commit that waits for a standby would make the
 * commit visible although it exists on only one machine.
 *
 * After a failover, the old primary may still accept connections, if it is not stopped but only cut off from
 * its standbys. It then replies to reads, but no commit ends. So after a late reply, or
 * pg_session_leave_host(), the session connects to the next host of the URL. If that host is a standby, which
 * cannot be used, the session returns to the first one. A host is also refused if another session of the
 * process has run on a newer timeline of the same cluster, because then this host is an old primary. */
#ifndef VT_STORE_PG_PG_SESSION_H
#define VT_STORE_PG_PG_SESSION_H

#include "pg/pg_connection.h"

/* The key of an advisory lock for this schema; the number only distinguishes the locks. PG_SQL_LOCK acquires
 * the lock that every write transaction holds until it ends. */
#define PG_SQL_LOCK_KEY(number) number ", hashtext(current_schema())"
#define PG_SQL_LOCK             "SELECT pg_advisory_xact_lock(" PG_SQL_LOCK_KEY("7239") ")"

enum { PG_SESSION_REASON_MAX = 600 };

struct pg_session {
    uv_loop_t loop;
    uv_timer_t timer;
    struct pg_options where;
    int host;                         /* index of the host of the connection, or of the first one to try */
    bool leaves_host;                 /* the next connection begins with the next host */
    struct pg_connection *connection; /* NULL: not connected */
    int64_t backend_pid;              /* process of the server that has opened the connection */
    bool is_ready, is_synced, is_lost, is_late, is_out_of_memory;
    uint64_t started_ms, late_at_ms; /* start and deadline of the current wait; uv_hrtime() in ms */

    const struct pg_result *result; /* result of the last command of the batch that returned one */
    int ended; /* number of completed commands of the batch; a preparation is a command, too */
    bool has_error;
    struct pg_error error;                  /* error of the first command that failed … */
    int failed_at;                          /* … and its index in the batch */
    enum pg_failure failure;                /* why the connection was lost or could not be opened … */
    char reason[PG_SESSION_REASON_MAX + 1]; /* … in words, without a password */
};

/* Initializes a session that is not connected. Returns ERR_INVALID if the URL or the content of the
 * password file is wrong, and ERR_IO if this file cannot be read or the system has no resources for an event
 * loop. Call pg_session_fini()
 * only after OK. For the parameters see pg_where.h. */
MUST_USE enum err pg_session_init(struct pg_session *s, const char *url, const char *password_file,
                                  struct error *error);
void pg_session_fini(struct pg_session *s);

/* Connects to one of the hosts, beginning with the most recently used host, or with the next one after a late
 * reply or pg_session_leave_host(). Each address of a host has its own deadline; the lookup of its name has
 * none. Checks that the server is the primary,
 * that its timeline is the newest known one, and that the connection does not lead through a connection
 * pooler in transaction mode. On failure, sets `failure`, to the most important failure of all hosts, and
 * `reason`; returns ERR_READONLY if this failure is PG_FAILED_NOT_PRIMARY, otherwise ERR_IO. Precondition:
 * not connected. */
MUST_USE enum err pg_session_open(struct pg_session *s);

/* Returns true if calls may wait only briefly for the server, see store_limit_waits(). */
bool pg_session_is_limited(void);

/* Sets whether calls of this thread that wait for the server, pg_session_open() and pg_session_run(), abort
 * the process. The links set this on the thread of their event loop, which must not block. Has no effect in
 * release builds, where such a defect only delays the event loop. */
#ifdef VT_TEST_SEAMS
void pg_session_forbid_waits(bool forbids);
#else
static inline void pg_session_forbid_waits(bool forbids)
{
    (void)forbids;
}
#endif

/* Closes the connection, if there is one. The session can be opened again. */
void pg_session_close(struct pg_session *s);

/* Closes the connection, and lets the next one begin with the next host. Returns false and does nothing if
 * there is only one host. */
MUST_USE bool pg_session_leave_host(struct pg_session *s);

/* Closes the connection, because the server cannot be used, and sets `failure` and `reason`. */
void pg_session_reject(struct pg_session *s, enum pg_failure failure, const char *reason);

static inline bool pg_session_is_open(const struct pg_session *s)
{
    return s->connection != NULL;
}

/* Append a command to the batch. If this fails, pg_session_run() returns the error. pg_session_add() first
 * appends a command that prepares `sql`, unless `sql` is NULL. A statement whose name is empty is replaced by
 * the next such statement. */
void pg_session_prepare(struct pg_session *s, const char *name, const char *sql);
void pg_session_add(struct pg_session *s, const char *name, const char *sql, const struct pg_params *params);

/* Sends the batch and waits at most `deadline_ms`; 0 waits without a limit. Frees the result of the previous
 * batch. Returns ERR_IO if the connection was lost or the reply is late, or ERR_NOMEM if out of memory; in
 * these cases, the connection is closed. If a command has failed, returns the error of the first failed
 * command, which `error` describes. */
MUST_USE enum err pg_session_run(struct pg_session *s, int64_t deadline_ms);

/* Returns true if the last batch has failed because of a deadlock (40P01) or a serialization failure (40001).
 * The same transaction may succeed if it is run again. */
bool pg_session_has_conflict(const struct pg_session *s);

/* Returns `result`. The caller owns it and frees it with pg_result_free(). */
const struct pg_result *pg_session_take_result(struct pg_session *s);

#endif
