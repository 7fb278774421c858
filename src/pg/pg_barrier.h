/* The barrier of a link: the statements with which the link identifies a server and proves that it is the
 * primary, and the time for which this proof is valid. See "Barrier" in pg_link.h. */
#ifndef VT_PG_PG_BARRIER_H
#define VT_PG_PG_BARRIER_H

#include "pg/pg_link.h"

/* The barrier needs this table:
 *   barriers (process text PRIMARY KEY, n bigint NOT NULL, at timestamptz NOT NULL) */
extern const struct pg_statement pg_identity_statement, pg_barrier_statement;

/* The reason for PG_FAILED_POOLER. */
extern const char pg_pooler_reason[];

/* Returns true if the SQLSTATE shows a pooler in transaction mode: it has run the barrier or the identity
 * statement on a backend that has not prepared it (26000), or has prepared a statement on a backend on which
 * another connection has prepared it (42P05). */
bool pg_barrier_is_pooler_error(const char *sqlstate);

struct pg_barrier {
    int64_t sent_ms;         /* when the latest barrier was sent; monotonic */
    int64_t acknowledged_ms; /* when the latest acknowledged barrier was sent; -1: none on this connection */
    bool in_flight;
    unsigned acknowledged_count; /* number of acknowledged barriers on this connection */
    int64_t backend_pid;         /* 0: unknown */
    struct pg_incarnation incarnation;
    bool is_synchronous;
};

/* Call for each new connection. Resets all members but `incarnation` and `is_synchronous`. */
void pg_barrier_reset(struct pg_barrier *b);

/* Initializes `params`, adds the parameters of pg_barrier_statement, and records that a barrier is in flight.
 * The caller sends the statement and calls pg_params_fini(). */
void pg_barrier_begin(struct pg_barrier *b, const char *process, struct pg_params *params);

/* Reads the row of pg_identity_statement. If the server cannot be used, returns false and sets the failure
 * and its reason, a static text. */
MUST_USE bool pg_barrier_read_identity(struct pg_barrier *b, const struct pg_result *result,
                                       enum pg_failure *failure, const char **reason);

/* Reads the row of pg_barrier_statement; the result is as for pg_barrier_read_identity(). Fails with
 * PG_FAILED_POOLER if the backend is not the one that replied to pg_identity_statement: the connection goes
 * through a pooler in transaction mode, which would hide a restart of the server. */
MUST_USE bool pg_barrier_read(struct pg_barrier *b, const struct pg_result *result, enum pg_failure *failure,
                              const char **reason);

/* Call when the barrier is committed. */
void pg_barrier_acknowledge(struct pg_barrier *b);

/* Returns true while the proof is valid. */
bool pg_barrier_is_valid(const struct pg_barrier *b);

/* Returns true if the next barrier should be sent now. */
bool pg_barrier_is_due(const struct pg_barrier *b);

#endif
